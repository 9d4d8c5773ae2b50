"""Mentions in a text that a user wrote."""

from postroom.cli.chat.mentions import with_mentions
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.pseudonym import pseudonym

BOB, CAROL, DAN = (AuthorKey.from_secret(bytes([number]) * 32).public for number in (1, 2, 3))
PEOPLE = [(BOB, "bob.eth"), (CAROL, "carol.eth"), (DAN, "Bobby (x1y2z3w4)")]


def test_names_and_pseudonyms_are_sent_as_keys() -> None:
    text = f"@bob.eth, @{pseudonym(CAROL)} and @Bobby (x1y2z3w4): @dave"
    assert with_mentions(text, PEOPLE) == f"@{BOB}, @{CAROL} and @{DAN}: @dave"


def test_a_name_that_two_have_names_nobody() -> None:
    assert with_mentions("@bob.eth", [(BOB, "bob.eth"), (CAROL, "Bob.eth")]) == "@bob.eth"


def test_one_key_may_have_several_names_in_any_case() -> None:
    people = [(BOB, "bob.eth"), (BOB, "Bob.eth"), (BOB, "robert.eth")]
    assert with_mentions("@BOB.eth, @robert.eth", people) == f"@{BOB}, @{BOB}"
