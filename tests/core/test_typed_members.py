"""Members of a JSON object are read as the type that they must have, or told by name."""

from collections.abc import Callable
from typing import Any

import pytest

from postroom.core.typed_members import Members

GIVEN = Members(
    {"text": "a", "whole": 1, "flag": True, "texts": ["a", "b"], "inner": {"x": 1}, "null": None}, "a thing"
)


def test_each_member_is_read_as_its_type() -> None:
    assert (GIVEN.text("text"), GIVEN.whole("whole"), GIVEN.flag("flag"), GIVEN.any("null")) == ("a", 1, True, None)
    assert GIVEN.texts("texts", 2) == ["a", "b"]
    assert GIVEN.inner("inner").whole("x") == 1
    assert "text" in GIVEN
    assert "other" not in GIVEN


def test_a_missing_flag_is_false() -> None:
    assert GIVEN.flag("other") is False


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: GIVEN.text("whole"), "whole of a thing must be a string"),
        (lambda: GIVEN.whole("flag"), "flag of a thing must be an integer"),
        (lambda: GIVEN.whole("text"), "text of a thing must be an integer"),
        (lambda: GIVEN.flag("null"), "null of a thing must be true or false"),
        (lambda: GIVEN.texts("texts", 3), "texts of a thing must be a list of 3 strings"),
        (lambda: GIVEN.inner("texts"), "texts of a thing must be a JSON object"),
        (lambda: GIVEN.any("other"), "a thing has no member other"),
        (lambda: Members([], "a thing"), "a thing must be a JSON object"),
        (lambda: Members({"form": 2}, "a thing").check_form(1), "a thing has form 2; this release reads form 1"),
    ],
)
def test_an_invalid_member_is_named(read: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read()
