"""What strangers' text may show: nothing that is not seen, nothing that controls the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from postroom.cli.chat.terminal_client.safe_text import safe_lines, safe_text, writable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("pay\u200bpal", "pay\\u200bpal"),
        ("a\u200db", "a\\u200db"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("\u3164", "\\u3164"),
        ("\u034f\u115f\uffa0", "\\u034f\\u115f\\uffa0"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u2028b", "a\\u2028b"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.parametrize("text", ["שלום", "مرحبا", "日本語", "ñ", "e\u0301", "ก็ำ", "👍🏽", "🇨🇭", "©", "a b"])
def test_what_is_seen_stays(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("❤\ufe0f", "❤"), ("👨\u200d👩\u200d👧", "👨👩👧"), ("❤\ufe0f\u200d🔥", "❤🔥"), ("1\ufe0f\u20e3", "1\u20e3")],
)
def test_emoji_are_shown_as_their_symbols(text: str, shown: str) -> None:
    assert safe_text(text) == shown


def test_a_third_mark_on_a_letter_is_written_out() -> None:
    assert safe_text("z" + "\u0301" * 4) == "z\u0301\u0301\\u0301\\u0301"


@given(st.text())
def test_no_text_controls_the_terminal(text: str) -> None:
    shown = safe_text(text)
    assert shown.isprintable()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert safe_text(shown) == shown


@given(st.text(st.sampled_from("a\u0301\u200b\u202e\u200d\ufe0f\u3164❤👍\u034f")))
def test_the_cells_that_a_text_takes_are_those_of_its_characters(text: str) -> None:
    seen = [character for character in safe_text(text) if not unicodedata.combining(character)]
    assert cell_len(safe_text(text)) >= len(seen)


def test_lines_are_those_of_the_writer_and_no_others() -> None:
    assert safe_lines("one\ntwo\r\nthree\tfour\rfive\u2028six") == ("one", "two", "three    four\\rfive\\u2028six")


@given(st.text())
def test_what_is_written_here_has_no_controls(text: str) -> None:
    written = writable(text)
    assert all(character in "\n\u200c\u200d\ufe0e\ufe0f" or character.isprintable() for character in written)
    assert writable(written) == written
