"""alice.eth and bob.eth chat by commands over real HTTPS and real queues, until both show the same."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from postroom.cli.app import app
from postroom.cli.up import describe_stack
from postroom.client.chat.plain_messages import PLAIN
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB
from postroom.demo.stack import DM3_HOST, DemoStack
from postroom.storage.directory.domains import Dm3Mailbox

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

Shown = list[tuple[Any, ...]]


@dataclass
class Talk:
    """Commands of Alice and Bob."""

    folder: Path

    def said(self, who: str, *words: str) -> Any:
        """What a command says to programs. On a busy machine a message may have to be sent again by a later one."""
        options = (
            "--key", f"{who}.json", "--home", f"{who}.home", "--as", who, "--pinned", "names.json",
            "--local", "local.json", "--json",
        )  # fmt: skip
        result = CliRunner().invoke(app, ["chat", *words, *options])
        assert result.exit_code in (0, 3), result.output
        return json.loads(result.stdout)

    def shown(self, who: str, to: str) -> Shown:
        """The messages of their chat, without the dm3 messages that Alice wrote to Bob in other tests."""
        return [
            (it["id"], it["text"], it["response_to"], it["edited"], it["deleted"], it["reactions"])
            for it in self.said(who, "show", to)["messages"]
            if PLAIN not in it["marks"]
        ]

    def until_both_show(self, what: str, *wanted: tuple[str, bool, int]) -> Shown:
        """Pull until both show the same, with these texts, deletions, and numbers of reactions."""

        def look() -> Shown | None:
            for who in (BOB, ALICE):
                self.said(who, "pull", "--at", f"https://{DM3_HOST}")
            here, there = self.shown(ALICE, BOB), self.shown(BOB, ALICE)
            found = sorted((text, deleted, len(reactions)) for _, text, _, _, deleted, reactions in here)
            return here if here == there and found == sorted(wanted) else None

        return until(what, look)


@pytest.fixture
def talk(demo_stack: DemoStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    describe_stack(demo_stack.stack).write(tmp_path / "local.json")
    for name in (ALICE, BOB):
        (tmp_path / f"{name}.json").write_bytes(demo_stack.names.key_file(name).read_bytes())
    (tmp_path / "names.json").write_bytes(demo_stack.names.registry_file.read_bytes())
    operators = demo_stack.receiver.operators
    operators.put_dm3_mailbox(Dm3Mailbox(ALICE))
    try:
        yield Talk(tmp_path)
    finally:
        operators.remove_dm3_mailbox(ALICE)


def test_two_people_see_the_same_whatever_each_does(talk: Talk) -> None:
    first = talk.said(ALICE, "send", BOB, "tea at fuor?")["id"]
    talk.until_both_show("the first message has come", ("tea at fuor?", False, 0))

    talk.said(BOB, "react", ALICE, first, "--kind", "THUMBS_UP")
    answer = talk.said(BOB, "send", ALICE, "I bring cake", "--reply-to", first)["id"]
    gone = talk.said(ALICE, "send", BOB, "not this one")["id"]
    talk.said(ALICE, "edit", BOB, first, "tea at four?")
    talk.said(ALICE, "delete", BOB, gone)
    shown = talk.until_both_show("all has come", ("tea at four?", False, 1), ("I bring cake", False, 0), ("", True, 0))
    found = {it[0]: it for it in shown}
    assert found[answer][2] == first
    assert found[first][3]
    assert found[gone][4]
