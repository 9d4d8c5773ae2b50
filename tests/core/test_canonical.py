"""RFC 8785 and JavaScript's texts: known answers, and the fast way held against the reference."""

import json
import random
import re
import struct
import uuid
from collections.abc import Callable
from enum import Enum
from math import inf
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from postroom.core import ijson
from postroom.core.canonical import (
    NotCanonicalError,
    jcs,
    jcs_of_parsed,
    json_stringify,
    json_stringify_of_parsed,
    stringify,
)
from postroom.core.errors import TheirError


def double(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_of_rfc_8785_appendix_b(bits: str, text: str) -> None:
    assert jcs(double(bits)) == text.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_nan_and_infinity_of_rfc_8785_appendix_b_are_errors(bits: str) -> None:
    with pytest.raises(NotCanonicalError):
        jcs(double(bits))


def test_the_sample_object_of_rfc_8785_section_3_2_2_to_3_2_4() -> None:
    sample = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert jcs(sample) == bytes.fromhex(
        "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b333333333333333333"
        "2e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c7530"
        "3030665c6e4127425c225c5c5c5c5c222f227d"
    )


def test_members_are_sorted_by_utf_16_code_units_rfc_8785_section_3_2_3() -> None:
    sample = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    text = jcs(sample).decode()
    order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"]
    assert [text.index(word) for word in order] == sorted(text.index(word) for word in order)


def test_every_code_point_is_written_as_the_reference_writes_it() -> None:
    for first in range(0, 0x110000, 0x1000):
        text = [chr(point) for point in range(first, first + 0x1000) if not 0xD800 <= point < 0xE000]
        assert jcs(text) == rfc8785.dumps(text)


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        pytest.param(10**5000, id="5001 digits"),
        [float("nan")],
        {"a": {"b": float("-inf")}},
        "\ud800",
        {"\ud800": 1},
        {"a": ["\udfff"]},
        {1: 2},
        {"a": {None: 2}},
        uuid.UUID(int=1),
        [uuid.UUID(int=1)],
        {"a": Enum("Colour", "RED").RED},
        b"bytes",
        {"a": {1, 2}},
    ],
)
def test_values_without_a_canonical_text_raise_one_kind_of_error(value: object) -> None:
    with pytest.raises(NotCanonicalError):
        jcs(value)  # type: ignore[arg-type]


def test_a_value_that_contains_itself_is_an_error() -> None:
    endless: list[object] = []
    endless.append({"a": endless})
    with pytest.raises(NotCanonicalError, match="contains itself"):
        jcs(endless)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [10, 254, 255, 300])
def test_nesting_beyond_orjson_is_still_written(depth: int) -> None:
    value: object = 1
    for _ in range(depth):
        value = [value]
    assert jcs(value) == b"[" * depth + b"1" + b"]" * depth  # type: ignore[arg-type]


class Text(str):
    __slots__ = ()


class Count(int):
    pass


@pytest.mark.parametrize("value", [(1, (2, "x")), {Text("b"): 1, "a": 2}, Text("x"), Count(7), {"a": (1.5,)}])
def test_subclasses_of_plain_types_are_written_as_the_reference_writes_them(value: object) -> None:
    assert jcs(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.floats(1e-8, 1e17), st.integers(0, 17), st.sampled_from([1, -1]))
def test_floats_are_written_as_the_reference_writes_them(number: float, digits: int, sign: int) -> None:
    for value in (sign * number, sign * round(number, digits), sign * float(round(number))):
        for holder in (value, [value], {"a": value}, [value, 0]):
            assert jcs(holder) == jcs_of_parsed(holder) == rfc8785.dumps(holder)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.5, b"12.5"),
        (12.0, b"12"),
        (0.001, b"0.001"),
        (0.000001, b"0.000001"),
        (0.0000001, b"1e-7"),
        (999999999999999.9, b"999999999999999.9"),
        (1e15, b"1000000000000000"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (-0.0, b"0"),
    ],
)
def test_a_fraction_is_written_in_the_form_of_rfc_8785_section_3_2_2_3(value: float, text: bytes) -> None:
    assert jcs({"Price": value}) == jcs_of_parsed({"Price": value}) == b'{"Price":' + text + b"}"


def test_parsed_numbers_with_any_exponent_are_written_as_the_reference_writes_them() -> None:
    rng = random.Random(2)
    for exponent in range(-330, 309):
        for digits in ("1", "9", "1.5", "9.999999999999999", str(rng.uniform(1, 10))):
            number = float(f"{digits}e{exponent}")
            if number < inf:
                assert jcs_of_parsed([number, -number]) == rfc8785.dumps([number, -number])


@pytest.mark.parametrize("text", ["1+1", "1.0]", "-6,", "e-6}", "🤝", "\U00010000", "\U000e0001", "\U0010ffff"])
def test_strings_that_look_like_special_numbers_are_written_as_the_reference_writes_them(text: str) -> None:
    value: ijson.JsonValue = {"\ue000": text, text: [text, 1e20, 2.0]}
    assert jcs_of_parsed(value) == rfc8785.dumps(value)


LIKE_NUMBERS = st.text('"\\\\.0,]}:[e+-16é\ud800', max_size=12)
"""Texts that look like numbers, and like the ends of strings, around them."""
NUMBERS_OF_OTHER_FORMS = st.sampled_from(
    [1.0, -0.0, -10.0, 1e15, 1e16, -1.5e17, 9.87e20, 1e21, 1.5e300, 1e-5, -1e-6, 1.25e-6, 1e-7, 1.5e-8, 1e-10, 0.5, 7]
)
SMALL = st.recursive(
    LIKE_NUMBERS | NUMBERS_OF_OTHER_FORMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LIKE_NUMBERS, inner, max_size=1),
    max_leaves=12,
)


@given(SMALL)
def test_numbers_beside_strings_like_numbers_are_written_as_the_reference_writes_them(value: ijson.JsonValue) -> None:
    # The reference writes no half of a surrogate pair, but any other character that needs no escape.
    whole = json.loads(json.dumps(value).replace(r"\ud800", r"\uf8ff"))
    expected = rfc8785.dumps(whole)
    assert jcs(whole) == jcs_of_parsed(whole) == expected
    with_halves = expected.replace("\uf8ff".encode(), rb"\ud800")
    assert json_stringify(value) == json_stringify_of_parsed(value) == with_halves


# --- the property: whatever the value, the same bytes as the reference, or both refuse ---------------------

POINTS = (
    [chr(point) for point in range(0x80)]
    + 4 * list("éöÿĀ€\u2028\u2029\ud7ff\ue000\ufb33\ufeff\ufffe\uffff")
    + 9 * ["\U00010000", "\U0001f600", "🤝", "\U0010ffff"]
)
NUMBERS = [0, -0.0, 0.0, 1.0, -1, 0.1, 1e20, 1e21, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, 2**53 - 1]


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(POINTS, k=rng.randrange(4)))


def random_number(rng: random.Random) -> object:
    match rng.randrange(8):
        case 0:
            return struct.unpack("d", rng.randbytes(8))[0]  # any bit pattern, NaN and infinities too
        case 1:
            return rng.choice(NUMBERS)
        case 2:
            return rng.randrange(-(2**54), 2**54)  # half of them too big
        case 3:
            return round(rng.uniform(-1000, 1000), rng.randrange(4))
        case 4:
            return float(rng.randrange(10**6)) * 10.0 ** rng.randrange(-12, 24)
        case _:
            return rng.randrange(-1000, 1000)


def random_value(rng: random.Random, depth: int) -> object:
    match rng.randrange(10 if depth else 6):
        case 0:
            return rng.choice([None, True, False])
        case 1:
            return random_number(rng)
        case 2 | 3 | 4 | 5:
            return random_text(rng)
        case 6 | 7:
            return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
        case _:
            ascii_names = rng.random() < 0.7
            names = (random_text(rng) for _ in range(rng.randrange(5)))
            return {
                name.encode("ascii", "ignore").decode() if ascii_names else name: random_value(rng, depth - 1)
                for name in names
            }


def test_the_fast_implementation_and_the_reference_agree_on_100_000_random_values() -> None:
    rng = random.Random(8785)
    seen = {"written": 0, "refused": 0, "astral beside U+E000": 0}
    for _ in range(100_000):
        value = random_value(rng, 3)
        try:
            expected = rfc8785.dumps(value)  # type: ignore[arg-type]
        except ValueError:
            seen["refused"] += 1
            with pytest.raises(NotCanonicalError):
                jcs(value)  # type: ignore[arg-type]
        else:
            seen["written"] += 1
            assert jcs(value) == jcs_of_parsed(value) == expected  # type: ignore[arg-type]
            if isinstance(value, dict):
                seen["astral beside U+E000"] += any(name > "\uffff" for name in value) and any(
                    "\ue000" <= name[:1] <= "\uffff" for name in value
                )
    assert seen["written"] > 80_000
    assert seen["refused"] > 1000
    assert seen["astral beside U+E000"] > 100


def test_numbers_are_read_back_as_they_were_in_the_form_of_ecmascript() -> None:
    rng = random.Random(1)
    for _ in range(20_000):
        number = struct.unpack("d", rng.randbytes(8))[0]
        if number - number == 0:
            text = jcs(number).decode()
            assert float(text) == number
            assert ("e" in text) == (not 1e-6 <= abs(number) < 1e21)


# --- safe-stable-stringify and JSON.stringify --------------------------------------------------------------

DM3 = json.loads((Path(__file__).parents[1] / "vectors" / "dm3.json").read_bytes())["variants"]
# The vectors hold the answers; these are the questions, by their names there.
QUESTIONS: dict[str, ijson.JsonValue] = {
    "key order": {"b": 1, "a": 2},
    "undefined dropped, null kept": {"b": None},
    "code-unit order, not numeric": {"a": "z", "10": "x", "B": "w", "9": "y"},
    "nested, arrays keep order": {"z": [3, {"y": 1, "x": 2}]},
    "string": 'a"b\u2028é',
    "numbers": {"n": 1e21, "m": -0.0, "f": 0.1},
    "UTF-16 code unit order": {"\ufffd": 4, "😀": 3, "é": 1, "z": 2},
}


@pytest.mark.parametrize("build", DM3)
def test_stringify_writes_what_the_reference_library_of_dm3_wrote(build: str) -> None:
    answers = {case["name"]: case["output"] for case in DM3[build]["primitives"]["stringify"]}
    assert {name: stringify(value).decode() for name, value in QUESTIONS.items()} == answers


def test_json_stringify_keeps_the_order_but_puts_array_indices_first_ecma_262_section_10_1_11_1() -> None:
    names = ["b", "4294967295", "4294967294", "10", "9", "01", "-1", "1e1", "0", "4294967296", "٣", "a", "", "²"]
    assert list(json.loads(json_stringify(dict.fromkeys(names, 1)))) == [
        *("0", "9", "10", "4294967294"),
        *("b", "4294967295", "01", "-1", "1e1", "4294967296", "٣", "a", "", "²"),
    ]


def test_json_stringify_puts_indices_first_at_every_depth() -> None:
    value: ijson.JsonValue = [{"b": {"x": 1, "7": [{"y": 1, "1": 2}]}, "1": None}]
    assert json_stringify(value) == b'[{"1":null,"b":{"7":[{"1":2,"y":1}],"x":1}}]'


@pytest.mark.parametrize(
    "value",
    [float("nan"), {"a": [float("inf")]}, 2**53 + 1, [-(2**1024)], {1: 2}, {"a": b"x"}],
)
@pytest.mark.parametrize("write", [stringify, json_stringify])
def test_values_that_only_javascript_or_python_would_write_are_refused(write, value) -> None:
    with pytest.raises(NotCanonicalError):
        write(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**53, b"9007199254740992"),
        ([-(2**60)], b"[-1152921504606847000]"),
        (1152921504606847000, b"1152921504606847000"),
        (10**22, b"1e+22"),
        ("\ud800", rb'"\ud800"'),
        ({"\udfff\ud83d": 'a"\ud83e\udd1dé\udc00'}, rb'{"\udfff\ud83d":"a\"%s\udc00"}' % "🤝é".encode()),
    ],
)
def test_json_stringify_alone_writes_large_doubles_and_halves_of_surrogate_pairs(
    value: ijson.JsonValue, text: bytes
) -> None:
    assert json_stringify(value) == text
    with pytest.raises(NotCanonicalError):
        stringify(value)


DCP = json.loads((Path(__file__).parents[1] / "vectors" / "dcp.json").read_bytes())


@pytest.mark.parametrize("case", DCP["number_forms"], ids=lambda case: case["json"])
def test_json_stringify_writes_numbers_as_the_reference_of_dcp(case: dict[str, str]) -> None:
    [number] = struct.unpack(">d", bytes.fromhex(case["ieee754_be"]))
    assert json_stringify(number).decode() == case["json"]
    assert json_stringify(ijson.parse(case["json"].encode(), max_bytes=100)).decode() == case["json"]


@pytest.mark.parametrize("case", DCP["canonicalisation"], ids=lambda case: case["raw"][:40])
@pytest.mark.parametrize("write", [json_stringify, json_stringify_of_parsed])
def test_what_is_read_is_written_as_by_the_reference_of_dcp(
    write: Callable[[ijson.JsonValue], bytes], case: dict[str, str]
) -> None:
    text = bytes.fromhex(case["raw_utf8_hex"])
    if any(refused in case["raw"] for refused in ("1e400", '"dup":3')):
        with pytest.raises(TheirError, match="NotIJson"):
            ijson.parse(text, max_bytes=1000, half_pairs=True)
        return
    assert write(ijson.parse(text, max_bytes=1000, half_pairs=True)).hex() == case["canonical_utf8_hex"]


@pytest.mark.parametrize("write", [stringify, json_stringify])
def test_a_value_that_contains_itself_has_no_text(write) -> None:
    endless: list[object] = []
    endless.append({"a": endless})
    with pytest.raises(NotCanonicalError, match="contains itself"):
        write(endless)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-ijson.MAX_EXACT_INTEGER, ijson.MAX_EXACT_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
NAMES = st.text(st.characters(codec="utf-8"), max_size=5) | st.integers(-1, 2**33).map(str) | st.sampled_from(POINTS)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=20)


def names_of(text: bytes) -> list[list[str]]:
    """The names of each object in a text, in the order in which they stand there."""
    found: list[list[str]] = []
    json.loads(text, object_pairs_hook=lambda pairs: found.append([name for name, _ in pairs]))
    return found


@given(VALUES)
def test_both_texts_parse_to_the_value_and_have_no_white_space(value: ijson.JsonValue) -> None:
    for text in (stringify(value).decode(), json_stringify(value).decode()):
        assert json.loads(text, parse_int=float) == value
        assert not re.search(r"\s", re.sub(r'"(\\.|[^"\\])*"', "", text))


@given(VALUES)
def test_stringify_sorts_names_by_utf_16_code_units(value: ijson.JsonValue) -> None:
    for names in names_of(stringify(value)):
        assert names == sorted(names, key=lambda name: name.encode("utf-16-be"))


@given(VALUES)
def test_json_stringify_keeps_the_order_of_members_behind_the_array_indices(value: ijson.JsonValue) -> None:
    def is_index(name: str) -> bool:
        return re.fullmatch("0|[1-9][0-9]*", name) is not None and int(name) < 2**32 - 1

    def expected(value: ijson.JsonValue) -> ijson.JsonValue:
        if isinstance(value, list):
            return [expected(item) for item in value]
        if not isinstance(value, dict):
            return value
        numbers = sorted(int(name) for name in value if is_index(name))
        order = [*map(str, numbers), *(name for name in value if not is_index(name))]
        return {name: expected(value[name]) for name in order}

    assert names_of(json_stringify(value)) == names_of(json.dumps(expected(value)).encode())


@given(VALUES)
def test_what_is_parsed_is_written_without_checks_of_types_alike(value: ijson.JsonValue) -> None:
    assert jcs_of_parsed(value) == jcs(value)
    assert json_stringify_of_parsed(value) == json_stringify(value)


@pytest.mark.parametrize("name", ["🤝", "\uffff", "a"])
def test_many_small_objects_are_sorted_each(name: str) -> None:
    objects: ijson.JsonValue = [{"\ue000": [1e16], name: {"1": 1.0, "🤝": []}}, {"\uffff": 1, "\U00010000": {}}]
    assert jcs_of_parsed(objects) == jcs(objects) == rfc8785.dumps(objects)


@given(VALUES)
def test_both_differ_in_the_order_of_members_only(value: ijson.JsonValue) -> None:
    assert stringify(json.loads(json_stringify(value), parse_int=float)) == stringify(value)


@given(number=st.integers(-(10**22), 10**22).map(float))
def test_whole_doubles_are_written_as_the_reference_writes_them(number: float) -> None:
    assert json_stringify([number]) == b"[" + rfc8785.dumps(number) + b"]"


@given(number=st.floats(1e-8, 1e-2) | st.floats(1e14, 1e22))
def test_doubles_near_the_exponents_are_written_as_the_reference_writes_them(number: float) -> None:
    for each in (number, -number):
        assert json_stringify_of_parsed([each, "x"]) == json_stringify([each, "x"]) == rfc8785.dumps([each, "x"])


@pytest.mark.parametrize("depth", [10, 254, 255, 300])
def test_json_stringify_writes_nesting_beyond_orjson(depth: int) -> None:
    value: object = {"7": 1.0}
    for _ in range(depth):
        value = [value]
    assert json_stringify(value) == b"[" * depth + b'{"7":1}' + b"]" * depth  # type: ignore[arg-type]


def test_what_is_written_in_another_order_stays_as_it_is() -> None:
    value: ijson.JsonValue = {"b": [{"a": 1, "0": 2}], "1": 1.0}
    assert json_stringify(value) == b'{"1":1,"b":[{"0":2,"a":1}]}'
    assert json.dumps(value) == '{"b": [{"a": 1, "0": 2}], "1": 1.0}'
