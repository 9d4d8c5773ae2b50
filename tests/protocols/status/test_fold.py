"""Histories as JSON Lines: the known answers, in any order and with doubles; lines as they must be written."""

import json
from base64 import b64encode
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.protocols.status.histories import ALICE, BOB, NOW, changed, id_of, sent, text

from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.fold import MAX_LINE_BYTES, HistoryLine, fold, read_line
from postroom.protocols.status.keys import key_named, multibase
from postroom.protocols.status.messages import ChatMessageIdentity
from postroom.protocols.status.reasons import AUTHOR_UNKNOWN, PAYLOAD_TYPE_UNKNOWN, WRAPPER_INVALID
from postroom.protocols.status.view_json import view_as_json
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES

HISTORIES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "status-fold.json").read_bytes())[
    "histories"
]
OF_A_CHAT = ("id", "kind", "name", "members", "admins", "clock")
OF_A_MESSAGE = (
    *("id", "author", "clock", "timestamp", "content_type", "text", "response_to"),
    *("edited", "deleted", "pinned", "reactions", "late"),
)
HELLO = sent(ALICE, text())


def as_bytes(**members: object) -> bytes:
    return json.dumps(members).encode()


LINE: dict[str, object] = {"wrapper": b64encode(HELLO.wrapper).decode(), "at": NOW}


def shown(lines: list[dict[str, Any]], own: str, joined: list[str]) -> list[dict[str, Any]]:
    """What the known answers have of a history."""
    folded = fold((read_line(as_bytes(**line)) for line in lines), key_named(own))
    found: Any = view_as_json(ChatView(folded.log, joined))["chats"]
    return [
        {name: chat[name] for name in OF_A_CHAT}
        | {"messages": [{name: message[name] for name in OF_A_MESSAGE} for message in chat["messages"]]}
        for chat in found
    ]


@pytest.mark.parametrize("order", range(10))
@pytest.mark.parametrize("history", HISTORIES, ids=range(len(HISTORIES)))
def test_the_known_histories_show_the_same_in_any_order_with_doubles(history: dict[str, Any], order: int) -> None:
    random = Random(order)
    lines = [*history["lines"], *random.choices(history["lines"], k=len(history["lines"]) // 2)]
    if order:
        random.shuffle(lines)
    assert shown(lines, history["own"], history["joined"]) == history["shown"]["chats"]


def test_what_is_discarded_is_named_by_its_line_and_changes_nothing() -> None:
    lines = [HistoryLine(b"\xff", NOW), HELLO, HistoryLine(b"", NOW), sent(ALICE, text(), signed=False)]
    lines[3] = HistoryLine(lines[3].wrapper, NOW)
    folded = fold(lines, BOB.public)
    assert [(line.number, line.error.reason) for line in folded.discarded] == [
        (1, WRAPPER_INVALID),
        (3, WRAPPER_INVALID),
        (4, AUTHOR_UNKNOWN),
    ]
    assert [fact.id for fact in folded.log] == [id_of(HELLO)]


def test_an_untyped_wrapper_needs_its_type_beside_it() -> None:
    named = sent(ALICE, ChatMessageIdentity(NOW, "alice.eth"))
    folded = fold([HistoryLine(named.wrapper, NOW), named], BOB.public)
    assert [(line.number, line.error.reason) for line in folded.discarded] == [(1, PAYLOAD_TYPE_UNKNOWN)]
    assert len(folded.log) == 1


def test_an_untyped_wrapper_may_be_of_a_later_type_or_have_no_type() -> None:
    wrapper = b64encode(sent(ALICE, ChatMessageIdentity(NOW, "alice.eth")).wrapper).decode()
    later, none = (read_line(as_bytes(wrapper=wrapper, at=NOW, type=number)) for number in (4000, 0))
    folded = fold([later, none], BOB.public)
    assert [(fact.message, fact.marks) for fact in folded.log] == [(None, ("not-understood",))]
    assert [(line.number, line.error.reason) for line in folded.discarded] == [(2, PAYLOAD_TYPE_UNKNOWN)]


def test_the_carriers_sender_is_the_author_of_what_is_not_signed() -> None:
    line = sent(ALICE, text(), signed=False)
    [fact] = fold([line], BOB.public).log
    assert (fact.author, fact.marks) == (ALICE.public, ("unsigned",))


# Lines


def test_a_line_has_a_wrapper_and_a_time() -> None:
    assert read_line(as_bytes(**LINE)) == HELLO


def test_a_line_may_have_the_type_and_the_carriers_key() -> None:
    whole = HistoryLine(HELLO.wrapper, NOW, PayloadType.CHAT_MESSAGE, ALICE.public)
    for type_ in ("CHAT_MESSAGE", "chat_message", 1):
        for carrier in (ALICE.public, multibase(ALICE.public)):
            assert read_line(as_bytes(**LINE, type=type_, carrier=carrier)) == whole


@pytest.mark.parametrize("at", [0, (1 << 53) - 1])
def test_times_are_exact_in_any_json(at: int) -> None:
    assert read_line(as_bytes(**{**LINE, "at": at})).at_ms == at


WRONG: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "JSON"),
    "no JSON": (b"wrapper", "JSON"),
    "a member twice": (b'{"wrapper":"","wrapper":"","at":1}', "twice|duplicate|more than once"),
    "a list": (b"[]", "a line must be a JSON object"),
    "no wrapper": (as_bytes(at=1), "no member wrapper"),
    "no time": (as_bytes(wrapper=""), "no member at"),
    "a further member": (as_bytes(**LINE, sender="x"), "no member 'sender'"),
    "a wrapper that is no text": (as_bytes(wrapper=1, at=1), "wrapper of a line must be a string"),
    "no base64": (as_bytes(wrapper="*", at=1), "must be base64"),
    "base64 for addresses": (as_bytes(wrapper="_-8=", at=1), "must be base64"),
    "base64 without its end": (as_bytes(wrapper="AA", at=1), "must be base64"),
    "base64 with a line break": (as_bytes(wrapper="AA\n==", at=1), "must be base64"),
    "letters beyond ASCII": (as_bytes(wrapper="ÄÄÄÄ", at=1), "must be base64"),
    "a time below 0": (as_bytes(**{**LINE, "at": -1}), "below 2\\^53"),
    "a time of 2^53": (as_bytes(**{**LINE, "at": 1 << 53}), "at of a line must be an integer"),
    "a time that is no number": (as_bytes(**{**LINE, "at": "1"}), "at of a line must be an integer"),
    "a time with a fraction": (as_bytes(**{**LINE, "at": 1.5}), "at of a line must be an integer"),
    "a time that is true": (as_bytes(**{**LINE, "at": True}), "at of a line must be an integer"),
    "an unknown type": (as_bytes(**LINE, type="LETTER"), "the type must be one of CHAT_MESSAGE"),
    "a number that no wrapper has": (as_bytes(**LINE, type=1 << 31), "the type must be one of"),
    "a number below 0": (as_bytes(**LINE, type=-1), "the type must be one of"),
    "a type that is true": (as_bytes(**LINE, type=True), "the type must be one of"),
    "no type": (as_bytes(**LINE, type=None), "the type must be one of"),
    "a type that is a list": (as_bytes(**LINE, type=[1]), "the type must be one of"),
    "a carrier that is no key": (as_bytes(**LINE, carrier="alice.eth"), "a chat key is"),
    "a carrier off the curve": (as_bytes(**LINE, carrier="0x04" + "00" * 64), "a chat key is"),
    "a carrier of another curve": (as_bytes(**LINE, carrier="z6Mk"), "48 digits"),
    "no carrier": (as_bytes(**LINE, carrier=None), "carrier of a line must be a string"),
    "too long": (as_bytes(wrapper="A" * MAX_LINE_BYTES, at=1), str(MAX_LINE_BYTES)),
}


@pytest.mark.parametrize(("line", "what"), WRONG.values(), ids=WRONG)
def test_other_lines_are_refused_with_what_is_wrong(line: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        read_line(line)


def test_the_longest_wrapper_fits_into_a_line() -> None:
    line = HistoryLine(bytes(MAX_WRAPPER_BYTES), NOW)
    assert read_line(as_bytes(wrapper=b64encode(line.wrapper).decode(), at=NOW)) == line


def test_a_double_with_an_earlier_time_counts_from_that_time() -> None:
    [fact] = fold([HELLO, changed(HELLO, at=NOW - 5, note=b"1")], BOB.public).log
    assert fact.at_ms == NOW - 5
