"""`postroom chat pull`: mail comes into the archive, and what waits is sent, over TLS on loopback."""

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
        "deliveries": [{"to": ALICE, "fate": "taken"}] * 2,
    }  # fmt: skip
    assert chat.said(BOB, "pull")["deliveries"] == []


def test_a_watch_prints_each_change_with_who_has_not_got_the_message(chat: ChatCommands) -> None:
    chat.network[BOB].service.is_down = True
    chat(ALICE, "send", BOB, "hello")
    chat(BOB, "send", ALICE, "are you there?")
    chat.network[BOB].service.is_down = False
    chat.network[BOB].refuse(ALICE)
    done = chat(ALICE, "watch", "--seconds", "0")
    assert done.exit_code == 0
    titles, messages = done.stdout.splitlines()[::2], done.stdout.splitlines()[1::2]
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
