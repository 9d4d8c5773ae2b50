"""docs/reference/status.md: each rule of 6/PAYLOADS with what we do, and a test; the members of the JSON."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.protocols.status.known import ALICE, BOB, NOW, image, text, wrapper_of

from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.explain import explain
from postroom.protocols.status.fold import HistoryLine, fold
from postroom.protocols.status.view_json import view_as_json

TESTS = Path(__file__).parents[2]
PAGE = (TESTS.parent / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
SECTIONS = [
    "Payload wrapper", "Encoding", "Message", "Content types", "Mentions", "Sticker content type", "Image content type",
    "Audio content type", "Message types", "Clock vs Timestamp", "Chats", "Chat Message Identity", "Profile Image",
    "ChatMessage ens_name", "Identity Update", "Security", "Contact Update", "EmojiReaction",
    "SyncInstallationContact", "SyncInstallationPublicChat", "PairInstallation", "MembershipUpdateMessage",
    "Upgradability",
]  # fmt: skip
"""Of the text, in its order."""


def table(title: str) -> list[list[str]]:
    """The cells of the first table below a heading or a line, without its head."""
    lines = PAGE.partition(f"{title}\n")[2].partition("\n|")[2].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


RULES = table("## The rules")


@cache
def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", RULES, ids=lambda row: f"{row[0]}: {row[1]}"[:60])
def test_every_rule_has_a_test_that_exists(row: list[str]) -> None:
    section, rule, done, test = row
    assert rule
    assert done
    assert section in SECTIONS
    file, _, function = test.strip("`").partition("::")
    assert function in functions(TESTS / file), test


def test_every_section_of_the_text_has_a_rule_and_they_stand_in_its_order() -> None:
    assert list(dict.fromkeys(row[0] for row in RULES)) == SECTIONS


def test_all_types_are_named() -> None:
    listed = re.findall(r"\b[A-Z_]{8,}\b", PAGE.partition("## Types\n")[2].partition("\n\n##")[0])
    assert set(listed) == set(PayloadType.__members__)


def members(title: str) -> list[str]:
    return [name for row in table(title) for name in re.findall(r"`(\w+)`", row[0])]


def test_the_members_of_an_explanation() -> None:
    shown = explain(wrapper_of(image()), at_ms=NOW, own=BOB.public).as_json()
    assert members("## `postroom chat explain --json`") == list(shown)
    json.dumps(shown)


def test_the_members_of_a_fold() -> None:
    shown = view_as_json(ChatView(fold([HistoryLine(wrapper_of(text()), NOW)], BOB.public).log))
    assert members("## `postroom chat fold --json`") == [*shown, "discarded"]
    [chat] = shown["chats"]  # type: ignore[misc]
    said = PAGE.partition("## `postroom chat fold --json`")[2]
    assert "{" + ", ".join(chat) + "}" in said  # type: ignore[arg-type]
    assert "{" + ", ".join(shown["people"][ALICE.public]) + "}" in said  # type: ignore[index,call-overload]
    assert set(members("A message has these members:")) == set(chat["messages"][0])  # type: ignore[call-overload,index]
