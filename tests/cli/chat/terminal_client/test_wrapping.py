"""Lines broken to a width."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from postroom.cli.chat.terminal_client.wrapping import shorten, wrap

TEXTS = st.text(st.sampled_from("ab 日本👍e\u0301"), max_size=60)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("", [""]),
        ("hello", ["hello"]),
        ("hello world", ["hello", "world"]),
        ("a longerword b", ["a", "longerwo", "rd b"]),
        ("日本語日本", ["日本語日", "本"]),
        ("two  blanks", ["two ", "blanks"]),
    ],
)
def test_a_line_is_broken_at_blanks_where_there_are_some(line: str, lines: list[str]) -> None:
    assert wrap(line, 8) == lines


@given(TEXTS, st.integers(2, 20))
def test_lines_fit_and_nothing_but_blanks_is_lost(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(TEXTS, st.integers(0, 20))
@example("日本", 2)
def test_a_shortened_text_fits_and_says_that_it_is_shortened(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cell_len(short) <= width
    if cell_len(text) <= width:
        assert short == text
    elif width:
        assert short.endswith("…")
        assert text.startswith(short[:-1])
