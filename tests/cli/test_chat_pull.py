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
