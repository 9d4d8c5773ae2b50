"""What the user writes: names behind "@", and commands."""

import pytest

from postroom.cli.chat.terminal_client.composing import (
    FORMS,
    NoCommandError,
    SlashCommand,
    find_completion,
    read_command,
    text_to_send,
)
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.pseudonym import pseudonym

BOB, CAROL, DAN = (AuthorKey.from_secret(bytes([number]) * 32).public for number in (1, 2, 3))
PEOPLE = {BOB: "bob.eth", CAROL: "carol.eth", DAN: "Bobby (x1y2z3w4)"}


@pytest.mark.parametrize(
    ("before", "start", "names"),
    [
        ("hi @b", 4, ("bob.eth", "Bobby (x1y2z3w4)")),
        ("@CAR", 1, ("carol.eth",)),
        ("one\n@carol", 5, ("carol.eth",)),
        ("(@carol", 2, ("carol.eth",)),
    ],
)
def test_names_are_completed_behind_an_at(before: str, start: int, names: tuple[str, ...]) -> None:
    found = find_completion(before, PEOPLE)
    assert found is not None
    assert (found.start, found.names, found.name) == (start, names, names[0])


@pytest.mark.parametrize("before", ["", "bob", "@nobody", "mail@bob", "@b and more\n", "@ bob"])
def test_elsewhere_nothing_is_completed(before: str) -> None:
    assert find_completion(before, PEOPLE) is None


def test_a_pseudonym_is_completed_for_whom_the_name_does_not_fit() -> None:
    name = pseudonym(CAROL)
    found = find_completion(f"@{name[:9]}", {CAROL: "carol.eth"})
    assert found is not None
    assert found.names == (name,)


def test_after_the_last_name_comes_the_first() -> None:
    found = find_completion("@b", PEOPLE)
    assert found is not None
    assert found.next.name == "Bobby (x1y2z3w4)"
    assert found.next.next == found


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/chat bob.eth", SlashCommand("chat", ("bob.eth",))),
        ('/group "my friends" bob.eth carol.eth', SlashCommand("group", ("my friends", "bob.eth", "carol.eth"))),
        ("/leave", SlashCommand("leave", ())),
        ("/rename the new one", SlashCommand("rename", ("the", "new", "one"))),
        ("hello", None),
        ("//etc/passwd", None),
        (" /chat", None),
    ],
)
def test_a_line_that_begins_with_a_slash_is_a_command(line: str, command: SlashCommand | None) -> None:
    assert read_command(line) == command


@pytest.mark.parametrize("line", ["/", "/chats bob.eth", "/chat", "/chat a b", "/leave now", "/group x", '/rename "x'])
def test_a_line_that_is_no_command_is_not_sent_either(line: str) -> None:
    with pytest.raises(NoCommandError):
        read_command(line)


def test_two_slashes_begin_a_text_with_one() -> None:
    assert text_to_send("//etc") == "/etc"
    assert text_to_send("a//b") == "a//b"


@pytest.mark.parametrize("name", FORMS)
def test_a_command_s_usage_begins_with_its_name(name: str) -> None:
    assert FORMS[name].usage.split()[0] == f"/{name}"
