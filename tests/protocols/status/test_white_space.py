"""White space is what Go trims, which is not what Python strips."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.protocols.status.white_space import WHITE_SPACE, is_blank

PYTHONS_OWN = "\u001c\u001d\u001e\u001f"
"""Separators of files, groups, records and units: `str.isspace` takes them, Unicode's White_Space does not."""


def test_the_characters_are_pythons_without_the_separators() -> None:
    pythons = {chr(point) for point in range(sys.maxunicode + 1) if chr(point).isspace()}
    assert set(WHITE_SPACE) == pythons - set(PYTHONS_OWN)
    assert len(WHITE_SPACE) == 25


@pytest.mark.parametrize("text", ["", *WHITE_SPACE, WHITE_SPACE, " \u3000\n"])
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize(
    "text", [*PYTHONS_OWN, "\u200b", "\ufeff", "\0", "\u2060", "\u180e", " \u200b ", ".", "\ud800"]
)
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


@given(st.text(WHITE_SPACE), st.characters(exclude_characters=WHITE_SPACE), st.text())
def test_one_other_character_is_enough(before: str, other: str, after: str) -> None:
    assert not is_blank(before + other + after)
