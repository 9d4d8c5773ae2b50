"""The strict parser for requests: RFC 7493, RFC 8259, and our own limits."""

import json
import math
import tracemalloc

import orjson
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import OurError, TheirError
from postroom.core.ijson import MAX_DEPTH, MAX_EXACT_INTEGER, MAX_VALUES, parse
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE


def refusal(data: bytes, max_bytes: int = 1 << 20, max_depth: int = MAX_DEPTH) -> TheirError:
    with pytest.raises(TheirError) as caught:
        parse(data, max_bytes=max_bytes, max_depth=max_depth)
    return caught.value


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"null", None),
        (b" [true, false]\r\n\t", [True, False]),
        (b'{"a": {"b": 1}, "c": {"b": 2}}', {"a": {"b": 1}, "c": {"b": 2}}),
        (b'{"a": 1, "A": 2}', {"a": 1, "A": 2}),
        (b'{"": 1}', {"": 1}),
        ('"é \\u00e9 \\ud83e\\udd1d 🤝"'.encode(), "é é 🤝 🤝"),
        (b'"\\ufffe\\uffff\\udbff\\udfff"', "\ufffe\uffff\U0010ffff"),
        (b'"\\u0000\\b\\f\\n\\r\\t\\"\\\\\\/\x7f"', '\0\b\f\n\r\t"\\/\x7f'),
        (b"9007199254740991", 2**53 - 1),
        (b"-9007199254740991", 1 - 2**53),
        (b"9007199254740993.0", 9007199254740992.0),
        (b"1E30", 1e30),
        (b"333333333.33333329", 333333333.3333333),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"5e-324", 5e-324),
        (b"1e-400", 0.0),
        (b"0." + b"9" * 100_000, 1.0),
    ],
)
def test_i_json_is_parsed(text: bytes, value: object) -> None:
    assert parse(text, max_bytes=1 << 20) == value


@pytest.mark.parametrize(("text", "kind"), [(b"1", int), (b"1.0", float), (b"1e2", float), (b"-0", int)])
def test_numbers_without_fraction_and_exponent_are_integers(text: bytes, kind: type) -> None:
    assert type(parse(text, max_bytes=10)) is kind


def test_minus_zero_keeps_its_sign_where_it_has_a_fraction() -> None:
    zero = parse(b"-0.0", max_bytes=10)
    assert isinstance(zero, float)
    assert math.copysign(1, zero) == -1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "no content"),
        (b" \t\r\n", "no content"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xef\xbb\xbf", "byte order mark"),
        (b'{"a": "\xff"}', "not UTF-8, at byte 7"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\x80"', "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b"{} {}", "something follows the end"),
        (b"{}\x00", "something follows the end"),
        (b"[1,]", "not JSON, at line 1 column 4"),
        (b'{"a": 1,}', "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b"{a: 1}", "not JSON"),
        (b'{"a" 1}', "not JSON"),
        (b'["a\nb"]', "not JSON"),
        (b'"\\x41"', "not JSON"),
        (b'"\\u12"', "not JSON"),
        (b'"open', "not JSON"),
        (b"[1, 2", "not JSON"),
        (b"// comment\n1", "not JSON"),
        (b"01", "not JSON"),
        (b"+1", "not JSON"),
        (b".5", "not JSON"),
        (b"1.", "not JSON"),
        (b"0x10", "something follows the end"),
        (b"True", "not JSON"),
        (b"nul", "not JSON"),
        (b"\xc2\xa01", "not JSON"),
    ],
)
def test_text_that_is_not_json_is_refused(text: bytes, sentence: str) -> None:
    error = refusal(text)
    assert error.reason is NOT_JSON
    assert sentence in error.detail


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"a": 1, "a": 1}', "occurs twice"),
        (b'{"a": 1, "\\u0061": 2}', "occurs twice"),
        ('{"🤝": 1, "\\ud83e\\udd1d": 2}'.encode(), "occurs twice"),
        (b'[{"x": {"a": 1, "b": 2, "a": 3}}]', "occurs twice"),
        (b'"\\ud800"', "surrogate"),
        (b'"\\udc00"', "surrogate"),
        (b'"\\ud83dx"', "surrogate"),
        (b'"\\ud83d\\n"', "surrogate"),
        (b'"\\ud800\\ud800"', "surrogate"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b"NaN", "NaN or Infinity"),
        (b"[Infinity]", "NaN or Infinity"),
        (b'{"a": -Infinity}', "NaN or Infinity"),
        (b'["\xc3\xa9",\n\n NaN, {"a": 1, "a": 2}]', "NaN or Infinity is not a number; numbers must be finite"),
        (b'[-Infinity, "\\ud800"]', "at line 1 column 3"),
        (b"1e400", "range of IEEE doubles"),
        (b"[-1e400]", "range of IEEE doubles"),
        (b'{"a": {"b": [1.7976931348623159e308]}}', "range of IEEE doubles"),
        (b"1" + b"0" * 309 + b".0", "range of IEEE doubles"),
        (b"9" * 100_000, "range of IEEE doubles"),
        (b"9007199254740993", "the integer of the whole text is beyond ±(2^53-1) and not exact"),
        (b'{"a": [null, {"b c": [-9007199254740993]}]}', "the integer at a[1].b c[0] is beyond"),
        (b'{"%b": 9007199254740993}' % (b"x" * 200), f"the integer at {'x' * 100} is beyond"),
        (b"[9007199254740994,[9007199254740993],9007199254740995]", "the integer at [1][0] is beyond"),
        (b'{"a":9007199254740993,"b":[1e400]}', "range of IEEE doubles"),
        (b'{"a":9007199254740994,"a":1}', "occurs twice"),
        (b"9" * 300, "2^53-1"),
        (b"9" * 4300, "range of IEEE doubles"),
    ],
)
def test_json_that_is_not_i_json_is_refused(text: bytes, sentence: str) -> None:
    error = refusal(text)
    assert error.reason is NOT_I_JSON
    assert sentence in error.detail


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("text", [b"[%d]", b"[null, %d]"])  # beside a null numbers are looked at one by one
def test_an_integer_beyond_the_exact_range_is_read_if_nobody_reads_another_one(text: bytes, sign: int) -> None:
    def read(integer: int) -> object:
        parsed = parse(text % (sign * integer), max_bytes=400)
        assert isinstance(parsed, list)
        return parsed[-1]

    assert type(read(MAX_EXACT_INTEGER)) is int
    for exact in (2**53, 2**60, 10**20, 10**21, 2**1023):
        assert (type(read(exact)), read(exact)) == (float, sign * exact)
    assert read(1152921504606847000) == sign * 2**60  # as JavaScript and RFC 8785 write it
    for inexact in (2**53 + 1, 2**60 + 1, 10**23):
        error = refusal(text % (sign * inexact))
        assert error.reason is NOT_I_JSON
        assert "2^53-1" in error.detail


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("text", [b"[%d]", b"[null, %d]", b"[ %d ]", b'{"a":[%d,null]}'])
@pytest.mark.parametrize("integer", [2**53, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 10**21 + 1, 10**400])
def test_integers_of_any_size_are_read_as_they_are_if_all_are_wanted(integer: int, text: bytes, sign: int) -> None:
    written = text % (sign * integer)
    parsed = parse(written, max_bytes=len(written), all_integers=True)
    assert json.dumps(parsed) == json.dumps(json.loads(written))


@given(st.floats(min_value=2**53, max_value=1e21, allow_nan=False).map(float.__trunc__).map(float))
def test_the_digits_of_rfc_8785_are_read_as_their_double(double: float) -> None:
    assert parse(rfc8785.dumps(double), max_bytes=30) == double


def test_the_size_is_limited() -> None:
    assert parse(b"[1]", max_bytes=3) == [1]
    error = refusal(b"[1] ", max_bytes=3)
    assert error.reason is TOO_LARGE
    assert "4 bytes; at most 3" in error.detail


def test_the_size_is_checked_first() -> None:
    assert refusal(b"\xff\xff\xff\xff", max_bytes=3).reason is TOO_LARGE


@pytest.mark.parametrize(
    ("begin", "end"),
    [(b"[", b"]"), (b'{"a":', b"}"), (b"[ ", b" ]"), (b'{"a": ', b" }")],
    ids=["arrays", "objects", "arrays with white space", "objects with white space"],
)
@pytest.mark.parametrize("side_by_side", [1, 2])  # to count brackets is not enough
def test_the_depth_of_nesting_is_limited(begin: bytes, end: bytes, side_by_side: int) -> None:
    def text(depth: int) -> bytes:
        inner = begin * (depth - 1) + b"0" + end * (depth - 1)
        return b"[" + b",".join([inner] * side_by_side) + b"]"

    parse(text(MAX_DEPTH), max_bytes=2000)
    error = refusal(text(MAX_DEPTH + 1))
    assert (error.reason, error.detail) == (NOT_I_JSON, f"nested deeper than {MAX_DEPTH} levels")


@pytest.mark.parametrize("text", [nested(MAX_DEPTH), b"[" * (MAX_DEPTH - 1) + b"{}" + b"]" * (MAX_DEPTH - 1)])
def test_the_innermost_container_may_be_empty(text: bytes) -> None:
    parse(text, max_bytes=1000)


@pytest.mark.parametrize(
    "text",
    [
        nested(65),
        nested(200),
        nested(201),
        b"[" * 64 + b"1,{}" + b"]" * 64,
        b'[0,{"x":[]},' + nested(64) + b"]",
        b"[" * MAX_VALUES,
        b'{"a":' * MAX_VALUES,
    ],
)
def test_nesting_beyond_the_limit_is_refused(text: bytes) -> None:
    error = refusal(text)
    assert error.reason is NOT_I_JSON
    assert "deeper than 64" in error.detail


def test_many_containers_side_by_side_are_not_deep() -> None:
    assert len(parse(b"[" + b",".join([b"[[]]"] * 1000) + b"]", max_bytes=1 << 20, max_depth=3)) == 1000  # type: ignore[arg-type]


def test_depth_is_counted_from_the_outermost_container() -> None:
    assert parse(b"1", max_bytes=10, max_depth=0) == 1
    assert parse(b"[]", max_bytes=10, max_depth=1) == []
    assert refusal(b"[]", max_depth=0).reason is NOT_I_JSON


def many(values: int, value: bytes = b"0") -> bytes:
    return b"[" + b",".join([value] * values) + b"]"


@pytest.mark.parametrize(
    ("most", "text"),
    [
        (many(MAX_VALUES), many(MAX_VALUES + 1)),
        (many(MAX_VALUES // 2, b"{}"), many(MAX_VALUES // 2 + 1, b"{}")),
        (many(MAX_VALUES // 2, b'{"a":"\\""}'), many(MAX_VALUES // 2 + 1, b'{"a":"\\""}')),
        (many(1, many(MAX_VALUES - 1)), many(1, many(MAX_VALUES))),
        (many(MAX_VALUES, b'"\\","'), many(MAX_VALUES + 1, b'"\\","')),
    ],
    ids=["numbers", "objects", "members", "in two arrays", "strings"],
)
def test_the_number_of_values_is_limited_before_memory_is_allocated(most: bytes, text: bytes) -> None:
    parse(most, max_bytes=len(most))
    tracemalloc.start()
    error = refusal(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.reason is NOT_I_JSON
    assert error.detail == f"more than {MAX_VALUES} values in one text"
    assert most < 100_000


def test_the_caller_may_raise_the_number_of_values() -> None:
    text = many(MAX_VALUES + 1)
    assert parse(text, max_bytes=len(text), max_values=MAX_VALUES + 1) == [0] * (MAX_VALUES + 1)


@pytest.mark.parametrize("text", [b'"' + b"[," * MAX_VALUES + b'"', many(10, b'"' + b'\\",{' * MAX_VALUES + b'"')])
def test_commas_and_brackets_in_strings_are_no_values(text: bytes) -> None:
    parse(text, max_bytes=len(text))


def test_a_limit_of_nesting_that_the_parser_cannot_keep_is_our_own_error() -> None:
    with pytest.raises(OurError, match="200"):
        parse(b"1", max_bytes=10, max_depth=201)


@pytest.mark.parametrize("text", [b'{"secret": 1, "secret": 2}', b'{"secret": secret}', b'"secret\\ud800"'])
def test_a_refusal_never_repeats_what_the_sender_wrote(text: bytes) -> None:
    assert "secret" not in str(refusal(text))


def test_many_members_take_no_quadratic_time() -> None:
    text = b"{" + b",".join(b'"%d":%d' % (i, i) for i in range(70_000)) + b"}"
    assert len(parse(text, max_bytes=1 << 20)) == 70_000  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [b",", b"[", b"\\"])
def test_a_string_that_does_not_end_takes_no_quadratic_time(end: bytes) -> None:
    text = b'"' + b'\\"' * (1 << 19) + b"," * MAX_VALUES + end
    assert refusal(text, max_bytes=len(text)).reason is NOT_JSON


@pytest.mark.parametrize(("lists", "where"), [(9_998, "at [9998]"), (9_999, "among many values")])
def test_an_integer_that_is_refused_is_not_searched_among_more_than_10_000_lists(lists: int, where: str) -> None:
    text = b"[%b9007199254740993]" % (b"[]," * lists)
    assert refusal(text, max_bytes=len(text)).detail.startswith(f"the integer {where} is beyond")


def test_an_integer_that_is_refused_below_a_long_name_takes_no_quadratic_time() -> None:
    text = b'{"%b":[%b9007199254740993]}' % (b"x" * (4 << 20), b"0," * 90_000)
    assert refusal(text, max_bytes=len(text)).detail.startswith(f"the integer at {'x' * 100} is beyond")


names = st.text(max_size=5)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
)


@given(values, st.booleans())
def test_every_i_json_value_is_parsed_to_itself(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    parsed = parse(text, max_bytes=1 << 20)
    assert json.dumps(parsed) == json.dumps(value)


@given(values)
def test_a_text_without_white_space_is_parsed_to_the_same_value(value: object) -> None:
    compact = orjson.dumps(value)
    parsed, strictly = parse(compact, max_bytes=1 << 20), parse(b" " + compact, max_bytes=1 << 20)
    assert json.dumps(parsed) == json.dumps(strictly) == json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'[{"x":{"a":1,"b":2,"a":3}}]',
        b'{"a":1,"\\u0061":1}',
        b"[9007199254740993]",
        b"[-9007199254740993]",
        b"[18446744073709551617]",
        b"[1e309]",
        b"[1e309,null]",
        b'{"a": [null, 9007199254740993]}',
        b"[" + nested(64) + b"]",
        b"[" * 64 + b"1,{}" + b"]" * 64,
        b"[" + b"{}," * 64 + nested(64) + b"]",
        nested(255),
        b'"\\ud800"',
        b'["\xed\xa0\x80"]',
        b"[NaN]",
    ],
)
def test_a_refused_text_is_refused_with_and_without_white_space(text: bytes) -> None:
    assert refusal(text).reason is refusal(b" " + text).reason


TEXT = '{ } [ ] , : " \\ \\ud800 \\udc00 \\u0061 a "a" 1 - . e 400 9999999999999999 null NaN é'
pieces = st.sampled_from([*TEXT.encode().split(), b" ", b"\xff", b"\xef\xbb\xbf", b"\x00"])


@given(st.lists(pieces, max_size=30).map(b"".join) | st.binary(max_size=40))
def test_any_text_is_parsed_as_by_the_standard_library_or_refused(data: bytes) -> None:
    try:
        value = parse(data, max_bytes=1 << 20)
    except TheirError as error:
        # White space in front keeps any text from being what its value is written as.
        assert refusal(b" " + data).reason is error.reason  # noqa: PT017
        return
    assert json.dumps(parse(b" " + data, max_bytes=1 << 20)) == json.dumps(value)
    assert json.loads(data) == value


# --- what JSON.stringify can write -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud800"', "\ud800"),
        (rb'{"\udfff":["\uDC00\uD800"]}', {"\udfff": ["\udc00\ud800"]}),
        (rb'"\ud83dA \ud83e\udd1d"', "\ud83dA 🤝"),
        (rb'[9007199254740992, 1.0, -0.0, "\ud800"]', [9007199254740992.0, 1.0, -0.0, "\ud800"]),
    ],
)
def test_halves_of_surrogate_pairs_are_read_on_request_alone(text: bytes, value: object) -> None:
    read = parse(text, max_bytes=100, half_pairs=True)
    assert read == value
    assert all(type(number) is float for number in (read[:3] if isinstance(read, list) and read[1:] else []))
    assert refusal(text).reason is NOT_I_JSON


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        (b"NaN", NOT_I_JSON, "NaN or Infinity"),
        (b"-Infinity", NOT_I_JSON, "NaN or Infinity"),
        (b"1e400", NOT_I_JSON, "beyond the range"),
        (b"9" * 5000, NOT_I_JSON, "beyond the range"),
        (b"9007199254740993", NOT_I_JSON, "not exact"),
        (b'{"a": 1, "\\u0061": 2}', NOT_I_JSON, "occurs twice"),
        (nested(MAX_DEPTH), NOT_I_JSON, "deeper than"),
        (nested(100_000), NOT_I_JSON, "more than"),
        (nested(5000), NOT_I_JSON, "deeper than"),
        (b"1] [", NOT_JSON, "not JSON, at line 1 column"),
        (b"", NOT_JSON, "not JSON, at line 1 column"),
        (b'"\xff"', NOT_JSON, "not UTF-8, at byte"),
        (b'"\n"', NOT_JSON, "not JSON, at line 1 column"),
    ],
)
def test_all_else_is_refused_behind_half_of_a_pair_too(text: bytes, reason: object, sentence: str) -> None:
    with pytest.raises(TheirError, match=sentence) as caught:
        parse(rb'["\ud800", ' + text + b"]", max_bytes=1 << 20, half_pairs=True)
    assert caught.value.reason is reason


def test_a_refusal_names_a_member_without_halves_of_surrogate_pairs() -> None:
    with pytest.raises(TheirError) as refused:
        parse(rb'[{"a\ud800": 9007199254740993}]', max_bytes=100, half_pairs=True)
    assert "the integer at [0].a? is beyond" in refused.value.detail


@given(values | st.lists(st.text(st.characters(), max_size=9)))
def test_what_python_writes_is_read_with_halves_of_pairs(value: object) -> None:
    text = json.dumps(value)
    assert parse(text.encode(), max_bytes=1 << 20, half_pairs=True) == json.loads(text)


ESCAPES = st.sampled_from([rb"\ud83e", rb"\uDD1D", rb"\\", rb"\u0041", rb"\"", b"ud800", b"x"])


@given(st.lists(ESCAPES, max_size=6).map(b"".join), st.booleans())
def test_halves_are_found_behind_backslashes_and_among_pairs(escapes: bytes, is_name: bool) -> None:
    data = b'{"%b": 1, "y": [1e16]}' % escapes if is_name else b'["%b", 1e16]' % escapes
    assert parse(data, max_bytes=100, half_pairs=True) == json.loads(data)
