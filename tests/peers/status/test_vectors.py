"""Go gives the known answers of payloads: the peer is what status-go was, and no second postroom."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.peers.answering import AnsweringProcess, RefusedError

VECTORS = Path(__file__).parents[2] / "vectors"
KNOWN = json.loads((VECTORS / "status.json").read_bytes())
MESSAGES = KNOWN["vectors"]
ROWS = json.loads((VECTORS / "status-go.json").read_bytes())["rows"]
NAMES = {
    1: "CHAT_MESSAGE",
    2: "CONTACT_UPDATE",
    3: "MEMBERSHIP_UPDATE_MESSAGE",
    4: "PAIR_INSTALLATION",
    12: "SYNC_INSTALLATION_CONTACT",
    14: "SYNC_INSTALLATION_PUBLIC_CHAT",
    22: "EMOJI_REACTION",
}
FORMS = {True: "application_metadata_message", False: "status_protocol_message"}
READING = ("signature: ", "payload: proto: ", "payload: string field")
"""How errors of Go's modules begin. The others are of status-go's validators, which are not in the program."""


def base64(digits: str) -> str:
    return b64encode(bytes.fromhex(digits)).decode()


@pytest.mark.parametrize("typed", FORMS)
@pytest.mark.parametrize("known", MESSAGES, ids=lambda known: known["name"])
def test_go_opens_a_known_wrapper_and_makes_the_same_bytes(
    go: AnsweringProcess, known: dict[str, Any], typed: bool
) -> None:
    number, wrapper = known["application_metadata_type"], base64(known[FORMS[typed]])
    opened = go.call("open", wrapper, typed, None if typed else NAMES[number])
    author, message_id = known["author_public_key"], known["application_metadata_message_id" if typed else "message_id"]
    expected = {
        "type": number if typed else 0, "signed": True, "author": author, "id": message_id, "strays": [], "error": "",
        "payload": base64(known["payload"]),
    }  # fmt: skip
    fields = opened.pop("fields")
    assert opened == expected
    made = go.call("wrap", NAMES[number], fields, known["author_private_key"], typed)
    assert made == {"wrapper": wrapper, "id": message_id, "author": author}


def test_go_opens_the_events_of_a_known_update_and_makes_the_same_bytes(go: AnsweringProcess) -> None:
    known = MESSAGES[-1]
    update = go.call("open", base64(known[FORMS[True]]), True, None)["fields"]
    assert len(update["events"]) == 2
    for event in update["events"]:
        opened = go.call("open_event", update["chat_id"], event)
        assert (opened["author"], opened["error"]) == (known["author_public_key"], "")
        assert go.call("event", update["chat_id"], opened["fields"], known["author_private_key"]) == event
        elsewhere = go.call("open_event", f"{update['chat_id']}.", event)
        assert elsewhere["author"] != opened["author"]


@pytest.mark.parametrize("known", KNOWN["status_go_membership"], ids=["created", "added"])
def test_go_opens_an_event_of_status_gos_own_tests(go: AnsweringProcess, known: dict[str, str]) -> None:
    opened = go.call("open_event", "chat-id", base64(known["signature"] + known["raw"]))
    assert (opened["author"], opened["error"]) == (KNOWN["status_go_key_pub"], "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_go_says_what_status_go_said(go: AnsweringProcess, row: dict[str, Any]) -> None:
    opened = go.call("open", base64(row["wrapper"]), True, None)
    error = row["error"] if row["error"].startswith(READING) else ""
    assert (opened["error"].startswith(error), bool(opened["error"])) == (True, bool(error)), opened["error"]
    assert {name: opened[name] for name in ("type", "author", "id")} == {
        name: row[name] for name in ("type", "author", "id")
    }


def test_the_rows_have_errors_of_modules_and_of_validators() -> None:
    errors = [row["error"] for row in ROWS if row["error"]]
    assert {beginning for beginning in READING if any(error.startswith(beginning) for error in errors)} == {*READING}
    assert any(not error.startswith(READING) for error in errors)


@pytest.mark.parametrize("length", [0, 1, 64, 65])
def test_an_event_without_bytes_behind_its_signature_is_an_error(go: AnsweringProcess, length: int) -> None:
    assert go.call("open_event", "a", b64encode(bytes(length)).decode())["error"] == "invalid payload length"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("shut", []),
        ("open", ["", True]),
        ("open", ["", "typed", None]),
        ("open", ["", False, "NO_SUCH_MESSAGE"]),
        ("wrap", ["CHAT_MESSAGE", {"colour": "red"}, None, True]),
        ("wrap", ["CHAT_MESSAGE", {"clock": 1}, None, True]),
        ("wrap", ["CHAT_MESSAGE", {"image": "a"}, None, True]),
        ("wrap", ["CHAT_MESSAGE", {}, "00" * 32, True]),
    ],
)
def test_a_wrong_call_is_refused(go: AnsweringProcess, call: str, arguments: list[Any]) -> None:
    with pytest.raises(RefusedError):
        go.call(call, *arguments)


@pytest.mark.parametrize("number", [0, -1])
def test_go_times_how_long_it_reads_a_text_and_an_update(go: AnsweringProcess, number: int) -> None:
    assert go.call("time", base64(MESSAGES[number][FORMS[True]]), 2) > 0


def test_go_times_nothing_that_it_cannot_read(go: AnsweringProcess) -> None:
    for row in ROWS:
        if row["error"].startswith(READING):
            with pytest.raises(RefusedError):
                go.call("time", base64(row["wrapper"]), 1)
