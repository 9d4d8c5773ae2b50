"""Mentions are found, written, shown and completed (6/PAYLOADS: Mentions)."""

from collections.abc import Mapping

import coincurve
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.test_keys import OFF_THE_CURVE, keys
from tests.protocols.status.test_pseudonym import PUBLISHED

from postroom.protocols.status.keys import ChatKey, chat_key_of, multibase, read_chat_key, read_multibase
from postroom.protocols.status.mentions import (
    Mention,
    complete,
    find_mentions,
    show_mentions,
    write_mentions,
)
from postroom.protocols.status.pseudonym import pseudonym
from postroom.protocols.status.white_space import WHITE_SPACE

STATUSS_OWN = ChatKey(
    "0x0424a68f89ba5fcd5e0640c1e1f591d561fa4125ca4e2a43592bc4123eca10ce06"
    "4e522c254bb83079ba404327f6eafc01ec90a1444331fe769d3f3a7f90b0dde1"
)
"""The key in the tests of Status's own parser."""


def key_of(secret: int) -> ChatKey:
    return chat_key_of(coincurve.PrivateKey.from_int(secret).public_key.format())


ALICE, BOB, CAROL = key_of(1), key_of(2), key_of(3)
ENDS = [*WHITE_SPACE, *".,:;!?"]
NOT_ENDS = [*"-/)]}'\"@#_*`~0aAzé", "\u200b", "\ufeff", "\u001c", "\u001f", "\0", "…", "。"]


def mentioned(text: str) -> list[tuple[str, ChatKey | None]]:
    return [(text[each.start : each.end], each.key) for each in find_mentions(text)]


# --- finding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{} at the end", "at the beginning {}", "in the {} middle", "one\n{}\nline", "{}"])
def test_a_mention_stands_anywhere(text: str) -> None:
    assert mentioned(text.format(f"@{ALICE}")) == [(f"@{ALICE}", ALICE)]


def test_a_mention_has_its_place_in_code_points() -> None:
    assert find_mentions(f"👍é @{ALICE}!") == [Mention(3, 136, ALICE)]


@pytest.mark.parametrize("end", ENDS)
def test_white_space_and_six_signs_may_follow(end: str) -> None:
    for written, key in ((ALICE, ALICE), (multibase(ALICE), ALICE), ("0x00001", None)):
        assert mentioned(f"@{written}{end}x") == [(f"@{written}", key)]


@pytest.mark.parametrize("end", NOT_ENDS)
def test_anything_else_that_follows_makes_it_none(end: str) -> None:
    for written in (ALICE, multibase(ALICE), "0x00001"):
        assert mentioned(f"@{written}{end}") == []


@pytest.mark.parametrize("before", ["", " ", "(", "x", "é", "@", "\\", "0x", "bob@"])
def test_nothing_need_stand_before_it(before: str) -> None:
    assert mentioned(f"{before}@{ALICE}") == [(f"@{ALICE}", ALICE)]


def test_several_mentions_in_every_form() -> None:
    text = f"@{ALICE}, @{multibase(BOB)}: @0x00001! @{ALICE}"
    assert [key for _, key in mentioned(text)] == [ALICE, BOB, None, ALICE]


@pytest.mark.parametrize(
    "text",
    [
        ALICE,
        f"@ {ALICE}",
        f"@{ALICE[:-1]}",
        f"@{ALICE}0",
        f"@{ALICE.upper()}",
        f"@0x{ALICE[2:].upper()}",
        f"@{ALICE[2:]}",
        f"@0f{ALICE[2:]}",
        f"@0xn{ALICE[3:]}",
        f"@{ALICE[:-1]}\u0661",
        f"@{multibase(ALICE)[:-1]}",
        f"@{multibase(ALICE)}1",
        f"@{multibase(ALICE).lower()}",
        "@0x0000",
        "@0x000010",
        "@0x00002",
        "@everyone",
        "@",
        "",
    ],
)
def test_another_form_is_no_mention(text: str) -> None:
    assert mentioned(text) == []


@pytest.mark.parametrize(
    "text", [OFF_THE_CURVE, "0x06" + ALICE[4:], "0x" + "0" * 130, "zQ3sh" + "1" * 44, multibase(ALICE)[:-1] + "2"]
)
def test_what_is_no_key_mentions_nobody(text: str) -> None:
    assert find_mentions(f"@{text}") == []
    assert show_mentions(f"Hi @{text}!", {}.__getitem__) == f"Hi @{text}!"


def test_the_cases_of_statuss_own_parser() -> None:
    for text in (
        "Valid pk at the end @{}",
        "dot @{}.",
        "comma @{},",
        "colon @{}:",
        "semi-colon @{};",
        "@{} at",
        "a @{} b",
    ):
        assert mentioned(text.format(STATUSS_OWN)) == [(f"@{STATUSS_OWN}", STATUSS_OWN)]
    for other in (STATUSS_OWN[:-1], STATUSS_OWN + "ee", "0xn" + STATUSS_OWN[3:], "0f" + STATUSS_OWN[2:]):
        assert mentioned(f"no mention @{other}") == []


# --- writing -----------------------------------------------------------------------------------------------------

NAMES = {"alice.eth": ALICE, "alice": CAROL, "Jazzy Visionary Pudu": BOB, "Straße": CAROL, "İ": BOB}


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("@alice.eth", f"@{ALICE}"),
        ("Hi @alice.eth, hi @alice!", f"Hi @{ALICE}, hi @{CAROL}!"),
        ("@alice.eth.", f"@{ALICE}."),
        ("@alice.", f"@{CAROL}."),
        ("@alice... @alice.)", f"@{CAROL}... @{CAROL}.)"),
        ("@alice,bob", f"@{CAROL},bob"),
        ("@ALICE.Eth", f"@{ALICE}"),
        ("@jazzy visionary pudu?", f"@{BOB}?"),
        ("@Jazzy Visionary Pudu\n@alice", f"@{BOB}\n@{CAROL}"),
        ("@STRASSE @straße", f"@{CAROL} @{CAROL}"),
        ("@İ.", f"@{BOB}."),
        ("(@alice x)", f"(@{CAROL} x)"),
        ('"@alice x"', f'"@{CAROL} x"'),
    ],
)
def test_a_name_that_was_typed_is_sent_as_its_key(typed: str, sent: str) -> None:
    assert write_mentions(typed, NAMES) == sent


@pytest.mark.parametrize(
    "typed",
    [
        "alice.eth",
        "@ alice.eth",
        "@alice.et",
        "@alice.org",
        "@alice_",
        "@alice-x",
        "@alice.eth)",
        "@alice's",
        "@alices",
        "@jazzy visionary",
        "@jazzy  visionary pudu",
        "@straSs",
        "@bob.eth",
        "bob@alice.eth",
        "é@alice.eth",
        "b.@alice.eth",
        "b+@alice.eth",
        "b-@alice.eth",
        "b_@alice.eth",
        "@@alice.eth",
        "https://example.com/@alice.eth",
        "@",
        "",
    ],
)
def test_any_other_text_is_sent_as_it_was_typed(typed: str) -> None:
    assert write_mentions(typed, NAMES) == typed


def test_a_mention_that_is_there_already_stays() -> None:
    text = f"@{ALICE} @{multibase(BOB)} @0x00001"
    assert write_mentions(text, {str(ALICE): CAROL, multibase(BOB): CAROL, "0x00001": CAROL}) == text


def test_names_that_differ_in_case_alone_mention_nobody_unless_they_have_one_key() -> None:
    assert write_mentions("@bob @BOB", {"bob": BOB, "Bob": ALICE}) == "@bob @BOB"
    assert write_mentions("@bob @BOB", {"bob": BOB, "Bob": BOB}) == f"@{BOB} @{BOB}"
    # Nor does a shorter name, which is not what was typed.
    assert write_mentions("@bob.eth", {"bob.eth": BOB, "Bob.eth": ALICE, "bob": CAROL}) == "@bob.eth"


def test_an_empty_name_names_nobody() -> None:
    assert write_mentions("@ @, @", {"": ALICE}) == "@ @, @"


def test_what_was_replaced_is_not_searched_again() -> None:
    assert write_mentions("@a @b @b", {"a @b": ALICE, "b": BOB}) == f"@{ALICE} @{BOB}"


# --- showing -----------------------------------------------------------------------------------------------------


def test_each_mention_is_shown_by_its_name() -> None:
    text = f"Hi @{ALICE}, @{multibase(BOB)}: @0x00001!"
    assert (
        show_mentions(text, {ALICE: "alice.eth", BOB: "bob.eth"}.__getitem__) == "Hi @alice.eth, @bob.eth: @everyone!"
    )


def test_a_name_is_not_searched_for_mentions() -> None:
    names = {ALICE: f"@{BOB}", BOB: "bob.eth"}
    assert show_mentions(f"@{ALICE} @{BOB}", names.__getitem__) == f"@@{BOB} @bob.eth"
    # What stands beside a name makes no mention with it either.
    assert show_mentions(f"@@{ALICE}", {ALICE: str(BOB)}.__getitem__) == f"@@{BOB}"


# --- completing --------------------------------------------------------------------------------------------------

KNOWN = [("bob.eth", BOB), ("alice.eth", ALICE), ("Ann's Boat", CAROL)]


@pytest.mark.parametrize(
    ("prefix", "proposed"),
    [
        ("", [("alice.eth", ALICE), ("Ann's Boat", CAROL), ("bob.eth", BOB)]),
        ("a", [("alice.eth", ALICE), ("Ann's Boat", CAROL)]),
        ("ALICE", [("alice.eth", ALICE)]),
        ("alice.eth", [("alice.eth", ALICE)]),
        ("bo", [("bob.eth", BOB), ("Ann's Boat", CAROL)]),
        ("eth", []),
        ("jazz", [("Jazzy Visionary Pudu", BOB)]),
        ("pudu", [("Jazzy Visionary Pudu", BOB)]),
        ("visionary p", [("Jazzy Visionary Pudu", BOB)]),
        ("udu", []),
        ("@", []),
    ],
)
def test_names_and_pseudonyms_are_proposed_for_what_was_typed(prefix: str, proposed: list[tuple[str, ChatKey]]) -> None:
    assert pseudonym(BOB) == "Jazzy Visionary Pudu"
    assert complete(prefix, KNOWN) == proposed


def test_of_a_name_and_its_pseudonym_the_name_is_proposed() -> None:
    assert complete("j", [("jim.eth", BOB)]) == [("jim.eth", BOB)]
    assert complete("j", [("jim.eth", BOB), ("jim.eth", BOB)]) == [("jim.eth", BOB)]


def test_one_name_of_two_keys_is_proposed_twice() -> None:
    assert complete("bob", [("bob", BOB), ("bob", ALICE)]) == sorted([("bob", BOB), ("bob", ALICE)])


# --- laws --------------------------------------------------------------------------------------------------------

TELLING = st.text(st.sampled_from("@0xz aA.,-_é\u3000\u200b\n")) | st.text()
PIECES = st.lists(
    TELLING
    | keys().map("@{}".format)
    | keys().map(multibase).map("@{}".format)
    | st.sampled_from(["@0x00001", "@alice"])
)
TEXTS = PIECES.map("".join)
NAMES_OF_KEYS = st.dictionaries(st.sampled_from(["alice", "alice.eth", "ALICE", "b c", "é", "x@y"]) | st.text(), keys())


def plain_mentions(text: str) -> list[str]:
    """What is mentioned in a text, found in another way: cut at each "@"."""
    found = []
    # Behind the last character may stand what ends a mention.
    for part in f"{text},".split("@")[1:]:
        for length in (7, 49, 132):
            form, end = part[:length], part[length : length + 1]
            if end in ENDS and is_someone(form):
                found.append(form)
    return found


def is_someone(form: str) -> bool:
    try:
        return form == "0x00001" or bool(read_chat_key(form) or read_multibase(form))
    except ValueError:
        return False


@given(TEXTS)
def test_mentions_are_found_where_a_plain_search_finds_them(text: str) -> None:
    assert [written[1:] for written, _ in mentioned(text)] == plain_mentions(text)


@given(TEXTS)
def test_mentions_stand_in_order_and_each_has_a_form_of_its_key(text: str) -> None:
    end = 0
    for mention in find_mentions(text):
        assert end <= mention.start < mention.end <= len(text)
        end = mention.end
        key = mention.key
        forms = ["@0x00001"] if key is None else [f"@{key}", f"@{multibase(key)}"]
        assert text[mention.start : mention.end] in forms


@given(st.text(), keys(), st.sampled_from(["", *ENDS]), st.sampled_from(["al", "Alice B. C", "alice.eth", "ß"]))
def test_what_was_written_is_found(before: str, key: ChatKey, end: str, name: str) -> None:
    text = write_mentions(f"{before} @{name}{end}", {name: key})
    assert text == f"{before} @{key}{end}"
    assert find_mentions(text)[-1] == Mention(len(before) + 1, len(before) + 134, key)


def replaced(text: str, sent: str, names: Mapping[str, ChatKey]) -> bool:
    """Whether `sent` is `text` with nothing but names of these keys replaced."""
    known: dict[str, set[str]] = {}
    for name, key in names.items():
        known.setdefault(key, set()).add(name.casefold())
    places = {0}
    rest = find_mentions(sent)
    done = 0
    for mention in rest:
        places = {
            place + mention.start - done
            for place in places
            if text[place : place + mention.start - done] == sent[done : mention.start]
        }
        written = sent[mention.start : mention.end]
        further = {place + len(written) for place in places if text.startswith(written, place)}
        for place in places:
            for end in range(place + 2, len(text) + 1):
                if text[place] == "@" and text[place + 1 : end].casefold() in known.get(mention.key or "", ()):
                    further.add(end)
        places, done = further, mention.end
    return any(text[place:] == sent[done:] for place in places)


@given(TEXTS, NAMES_OF_KEYS)
def test_writing_replaces_names_and_nothing_else(text: str, names: dict[str, ChatKey]) -> None:
    sent = write_mentions(text, names)
    assert replaced(text, sent, names)
    assert write_mentions(sent, names) == sent
    if not any("@" in name for name in names):
        after = iter(find_mentions(sent))
        assert all(any(mention.key == each.key for each in after) for mention in find_mentions(text))


@given(TEXTS)
def test_without_names_nothing_is_written(text: str) -> None:
    assert write_mentions(text, {}) == text


@given(TEXTS, st.text())
def test_showing_changes_nothing_outside_mentions(text: str, name: str) -> None:
    shown, place = show_mentions(text, lambda _: name), 0
    done = 0
    for mention in find_mentions(text):
        expected = text[done : mention.start] + "@" + ("everyone" if mention.key is None else name)
        assert shown.startswith(expected, place)
        place += len(expected)
        done = mention.end
    assert shown[place:] == text[done:]


@given(st.text(max_size=3) | st.sampled_from(["al", "B", "ß"]), st.lists(st.tuples(st.text(), keys())))
def test_what_is_proposed_is_a_name_or_a_pseudonym_with_a_word_that_begins_so(
    prefix: str, known: list[tuple[str, ChatKey]]
) -> None:
    proposed = complete(prefix, known)
    assert len(set(proposed)) == len(proposed) <= len(known)
    for text, key in proposed:
        assert (text, key) in known or (text == pseudonym(key) and key in [of for _, of in known])
        assert f" {prefix.casefold()}" in f" {text.casefold()}"
    for name, key in known:
        if name.casefold().startswith(prefix.casefold()):
            assert (name, key) in proposed


@pytest.mark.parametrize("length", [4096, 100_000])
@pytest.mark.parametrize(
    "part", ["@", "@0x", "@ ", f"@{ALICE} ", f"@{ALICE}", f"@{multibase(BOB)}!", "@zQ3sh", "@b c "]
)
def test_long_texts_are_read_written_and_shown(part: str, length: int) -> None:
    text = part * (length // len(part))
    count = length // len(part)
    found = find_mentions(text)
    assert len(found) == (count if part.endswith((f"{ALICE} ", "!")) else found[-1:] != [] and 1)
    assert write_mentions(text, {"b c": BOB, "@" * 300: ALICE}) == text.replace("@b c ", f"@{BOB} ")
    assert len(show_mentions(text, lambda _: "")) == len(text) - sum(each.end - each.start - 1 for each in found)


def test_the_published_key_is_a_mention() -> None:
    assert mentioned(f"@{PUBLISHED}") == [(f"@{PUBLISHED}", PUBLISHED)]
