"""`postroom chat pull`: mail comes into the archive, and what waits is sent, over TLS on loopback."""

import pytest
from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.chat_commands import clients as clients
from tests.cli.chat_commands import deployed as deployed
from tests.client.chat.network import ALICE, BOB


def test_programs_get_what_was_stored_and_each_delivery(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "hello")
    chat.network[ALICE].service.is_down = True
    assert chat(BOB, "send", ALICE, "hi").exit_code == 3
    chat.network[ALICE].service.is_down = False
    assert chat.said(BOB, "pull") == {
        "kept": 2, "set_aside": {}, "left": {}, "unopened": 0, "damaged": {},
        "deliveries": [{"to": ALICE, "fate": "taken", "reason": None, "detail": None}] * 2,
    }  # fmt: skip
    assert chat.said(BOB, "pull")["deliveries"] == []


@pytest.mark.parametrize("command", ["pull", "watch"])
def test_what_is_refused_is_printed_with_its_reason(chat: ChatCommands, command: str) -> None:
    """Also what is shown in no chat, such as a change of a group."""
    chat.network[BOB].service.is_down = True
    for name in ("Lunch", "Dinner"):
        assert chat(ALICE, "group", "create", name, BOB).exit_code == 3
    words = (command, *(("--seconds", "0") if command == "watch" else ()))
    assert "refused" not in chat(ALICE, *words).stdout
    chat.network[BOB].service.is_down = False
    chat.network[BOB].refuse(ALICE)
    done = chat(ALICE, *words)
    assert done.exit_code == 0
    lines = [f"refused: {BOB}: SenderNotWanted: the receiver blocks this sender"] * 2
    if command == "pull":
        assert done.stdout.splitlines()[-2:] == lines
    else:
        assert done.stdout.splitlines() == lines[:1], "each reason once"
    assert "refused" not in chat(ALICE, *words).stdout


def test_programs_get_the_reason_of_a_refusal(chat: ChatCommands) -> None:
    why = {"reason": "SenderNotWanted", "detail": "the receiver blocks this sender"}
    for words in (("pull",), ("watch", "--seconds", "0")):
        chat.network[BOB].service.is_down = True
        assert chat(ALICE, "group", "create", "Lunch", BOB).exit_code == 3
        chat.network[BOB].service.is_down = False
        chat.network[BOB].refuse(ALICE)
        said = chat.said(ALICE, *words)
        if words == ("pull",):
            assert said["deliveries"] == [{"to": BOB, "fate": "refused", **why}]
        else:
            assert said == {"change": "refused", "to": BOB, **why}


def test_a_watch_prints_each_change_with_who_has_not_got_the_message(chat: ChatCommands) -> None:
    chat.network[BOB].service.is_down = True
    chat(ALICE, "send", BOB, "hello")
    chat(BOB, "send", ALICE, "are you there?")
    chat.network[BOB].service.is_down = False
    chat.network[BOB].refuse(ALICE)
    done = chat(ALICE, "watch", "--seconds", "0")
    assert done.exit_code == 0
    refused, *lines = done.stdout.splitlines()
    assert refused == f"refused: {BOB}: SenderNotWanted: the receiver blocks this sender"
    titles, messages = lines[::2], lines[1::2]
    assert titles == [f"changed in with {BOB}", f"added in with {BOB}"]
    assert messages[0].endswith(f" hello [refused by {BOB}: SenderNotWanted]")
    assert messages[1].endswith(" are you there?")


def test_a_watch_says_to_programs_who_has_not_got_a_message(chat: ChatCommands) -> None:
    chat.network[BOB].service.is_down = True
    sent = chat.said(ALICE, "send", BOB, "hello", code=3)["id"]
    chat.network[BOB].service.is_down = False
    change = chat.said(ALICE, "watch", "--seconds", "0")
    assert (change["change"], change["message"]["id"]) == ("changed", sent)
    assert (change["message"]["unsent"], change["message"]["unreached"]) == ([], [])


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(("failures", "code", "came"), [(5, 0, True), (6, 3, False)])
def test_a_watch_goes_on_after_a_post_office_has_failed_for_a_while(
    chat: ChatCommands, failures: int, code: int, *, came: bool
) -> None:
    chat(BOB, "send", ALICE, "are you there?")
    answers = iter([503] * failures)
    chat.mailboxes.before = lambda _asked: next(answers, None)
    done = chat(ALICE, "watch", "--seconds", "0")
    assert (done.exit_code, "are you there?" in done.stdout) == (code, came)


@pytest.mark.usefixtures("no_pauses")
def test_without_an_end_a_watch_waits_for_a_post_office_that_does_not_answer(
    chat: ChatCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.client.chat.chats.PAUSE_SECONDS", 0)
    chat(BOB, "send", ALICE, "are you there?")
    failures = iter([503] * 6)

    def answer(_asked: str) -> int | None:
        is_pulled = any("acknowledgements" in asked for asked in chat.mailboxes.asked[:-1])
        return 403 if is_pulled else next(failures, None)

    chat.mailboxes.before = answer
    done = chat(ALICE, "watch")
    assert "are you there?" in done.stdout
    assert "Still waiting." in done.stderr


def test_a_second_device_with_the_same_home_shows_the_same(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "hello")
    chat(BOB, "pull")
    chat(BOB, "send", ALICE, "hi")
    shown = chat(BOB, "show", ALICE).stdout
    assert chat(BOB, "pull").exit_code == 0
    assert chat(BOB, "show", ALICE).stdout == shown


def test_another_key_than_that_of_the_home_changes_nothing(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "hello")
    result = chat(BOB, "list", home=f"{ALICE}.home")
    assert result.exit_code == 2
    assert "another key" in result.stderr


def test_a_home_without_an_archive_needs_a_name(chat: ChatCommands) -> None:
    words = ("--key", f"{ALICE}.json", "--home", "empty", *chat.options)
    result = chat.postroom("chat", "send", BOB, "hello", *words)
    assert result.exit_code == 5
    assert "there is no archive in this home yet" in result.stderr
    assert "`postroom chat` with --as NAME" in result.stderr
