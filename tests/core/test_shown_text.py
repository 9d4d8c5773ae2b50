"""What strangers wrote, as people see it: it controls no terminal, begins no line, and is not too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.shown_text import safe, shown

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\nWARNING: forged\u2028\u202eevil\u2066\x00\x7f"


def test_what_controls_a_terminal_or_begins_a_line_is_an_escape() -> None:
    assert safe("a\x1b[2J\nb") == r"a\x1b[2J\nb"
    assert safe("Grüße, 世界 🙂") == "Grüße, 世界 🙂"
    assert safe("\ud800") == r"\ud800"


@given(st.text(alphabet=st.characters()))
def test_no_text_is_shown_with_anything_that_is_not_seen(text: str) -> None:
    assert safe(text).isprintable()
    assert safe(safe(text)) == safe(text)


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 100_000])
@pytest.mark.parametrize("most", [1, 120, 300])
def test_what_is_too_long_is_cut_and_its_length_is_told(text: str, most: int) -> None:
    found = shown(text, most)
    assert found.isprintable()
    # An escape has ten characters at most.
    assert len(found) <= 10 * most + 30
    assert found == safe(text) or found.endswith(f"… ({len(text)} characters)")


@given(st.text(max_size=10))
def test_what_is_short_is_whole(text: str) -> None:
    assert shown(text) == safe(text)
