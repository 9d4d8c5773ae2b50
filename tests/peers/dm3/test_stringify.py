"""Our texts are JavaScript's: JSON.stringify of Node itself, and safe-stable-stringify of npm."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.node import Reference

from postroom.core import ijson
from postroom.core.canonical import json_stringify, stringify

WRITERS = {"stable.stringify": stringify, "json.stringify": json_stringify}

TEXTS = st.text(st.characters(codec="utf-8"))
NAMES = TEXTS | st.integers(-1, 2**33).map(str) | st.sampled_from(["01", "1e1", "\ue000", "\U0001f600", "__proto__"])
NUMBERS = st.integers(-ijson.MAX_EXACT_INTEGER, ijson.MAX_EXACT_INTEGER) | st.floats(
    allow_nan=False, allow_infinity=False
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    max_leaves=20,
)
# Far and near the bounds where ECMAScript's form of a number changes.
BOUNDS = [
    sign * scale * (1 + step * 2**-52)
    for sign in (1, -1)
    for scale in (5e-324, 1e-7, 1e-6, 1e15, 1e16, 2.0**53, 1e20, 1e21, 1e22, 1e23, 1.7e308)
    for step in range(-3, 4)
]
# Each code point by itself: which are escaped, and how.
POINTS = [chr(point) for point in range(0x3000) if not 0xD800 <= point < 0xE000] + list("\ue000\ufeff\uffff\U0010ffff")
INDICES = ["b", "4294967295", "4294967294", "10", "9", "01", "-1", "1e1", "0", "4294967296", "٣", "a", "²", "1.0"]
CORNERS: dict[str, ijson.JsonValue] = {
    "numbers": list(BOUNDS),
    "strings": list(POINTS),
    "names": dict.fromkeys(POINTS, 0),
    "array indices": dict.fromkeys(INDICES, 0),
    "minus zero": -0.0,
    "nothing": [None, {}, [], ""],
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("corner", CORNERS)
def test_edge_cases_are_written_as_javascript_writes_them(reference: Reference, writer: str, corner: str) -> None:
    value = CORNERS[corner]
    assert WRITERS[writer](value).decode() == reference.call(writer, json.dumps(value))


@pytest.mark.parametrize("writer", WRITERS)
@settings(deadline=None)
@given(value=VALUES)
def test_any_value_is_written_as_javascript_writes_it(
    reference: Reference, writer: str, value: ijson.JsonValue
) -> None:
    assert WRITERS[writer](value).decode() == reference.call(writer, json.dumps(value))


@settings(deadline=None)
@given(value=VALUES)
def test_the_reference_hashes_and_signs_the_text_of_our_stringify(reference: Reference, value: ijson.JsonValue) -> None:
    assert stringify(value).decode() == reference.call("shared.stringify", value)
