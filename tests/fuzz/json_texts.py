"""Fuzzing of JSON from others, and of the canonical texts that are hashed and signed."""

import json
from typing import Any

import rfc8785
from tests.fuzz.entry import Entry, fuzzed, json_of, outcome_of

from postroom.core.canonical import NotCanonicalError, jcs, json_stringify, stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_EXACT_INTEGER, MAX_VALUES, JsonValue, parse
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE

MAX_DEPTH = 64
MAX_BYTES = 3 * MAX_VALUES  # values are counted in texts longer than so many bytes
REFUSALS = (TOO_LARGE, NOT_JSON, NOT_I_JSON)

SEEDS = (
    b'{"Header":{"From":"sender.example","N":-0.5e-3},"Body":[1,2.5,true,false,null,"\\u00e9\\n"]}',
    '{"🤝": "nlweb.org/MSG:1.0", "ß": ["\\ud83d\\ude00", "\U0001f600", 9007199254740991]}'.encode(),
    b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'"\\ud800"', b"9007199254740992", b"1e400", b"-0", b"1E+2", b"[NaN]",
    b"9007199254740993", b"[1152921504606847000]", b"100000000000000000000", b'{"a": -18446744073709551616}',
    b"[" * 65 + b"]" * 65, b"[" * 300, b"\xef\xbb\xbf{}", b"\xff", b" \t\r\n", b"{} x", b"1.0", b"1e21", b"5e-324",
    b'{"\xef\xbf\xbf":1,"\xf0\x90\x80\x80":2,"":3}', b'{"10":1,"9":2,"01":3,"4294967295":4}',
)  # fmt: skip


class _NotIJsonError(Exception):
    """The text is JSON as far as it was read, and not I-JSON."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _NotIJsonError("duplicate")
    return dict(pairs)


def _integer(digits: str) -> float:
    if len(digits) <= 17 and abs(int(digits)) <= MAX_EXACT_INTEGER:
        return int(digits)
    double = _number(digits)
    if len(digits) <= 400 and (int(double) == int(digits) or rfc8785.dumps(double) == digits.encode()):
        return double
    raise _NotIJsonError("integer")


def _number(digits: str) -> float:
    number = float(digits)
    if abs(number) == float("inf"):
        raise _NotIJsonError("number")
    return number


def _no_number(_word: str) -> None:
    raise _NotIJsonError("no number")


def _depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _values(value: Any) -> int:
    """Elements and members, where an empty container counts as if it held one."""
    if not isinstance(value, list | dict):
        return 0
    return max(1, len(value)) + sum(map(_values, value.values() if isinstance(value, dict) else value))


def _by_python(data: bytes) -> Any:
    """The value as Python's own parser reads it. Raises ValueError (no JSON), _NotIJsonError or RecursionError."""
    value = json.loads(
        data.decode(),
        object_pairs_hook=_members, parse_int=_integer, parse_float=_number, parse_constant=_no_number,
    )  # fmt: skip
    if _depth(value) > MAX_DEPTH:
        raise _NotIJsonError("depth")
    if _values(value) > MAX_VALUES:
        raise _NotIJsonError("values")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _NotIJsonError("surrogate") from None
    return value


def _exactly(value: Any) -> str:
    """A text that tells 1 from 1.0 and True, and -0.0 from 0.0, and keeps the order of members."""
    return json.dumps(value)


LONG = (
    b'"' + b'\\"' * (MAX_VALUES // 2) + b"," * (MAX_VALUES + 1),
    b"[" + b"0," * MAX_VALUES + b"0]", b'["' + b'\\",{' * (MAX_VALUES // 2) + b'"]',
)  # fmt: skip
"""Whose values are counted: too many after a string that does not end, one too many, and few, but for a string."""


@fuzzed("core.ijson", seeds=SEEDS + LONG, is_json=True, max_bytes=MAX_BYTES + 10)
def ijson(data: bytes) -> None:
    """What is accepted, Python's own parser accepts with the same meaning; what is not JSON, it refuses, too."""
    found = outcome_of(lambda: (parse(data, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH),), *REFUSALS)
    if isinstance(found, TheirError) and found.reason is TOO_LARGE:
        assert len(data) > MAX_BYTES
        return
    if isinstance(found, TheirError) and found.reason is NOT_JSON:
        assert not _is_json(data), f"{found}, but it is JSON"
    try:
        value = _by_python(data)
    except (ValueError, _NotIJsonError, RecursionError):
        assert isinstance(found, TheirError), "taken, and Python's parser refuses it"
        return
    assert isinstance(found, tuple), f"refused, and Python's parser takes it: {found}"
    assert _exactly(found[0]) == _exactly(value), "read as another value"


def _is_json(data: bytes) -> bool:
    """Whether it is JSON of any kind."""
    try:
        json.loads(data.decode())
    except (ValueError, RecursionError):
        return False
    return True


@fuzzed("core.canonical", seeds=SEEDS, is_json=True)
def canonical(data: bytes) -> None:
    """The canonical text is that of the package rfc8785, and canonical(parse(canonical(x))) is the same text."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    text = jcs(value)
    assert text == rfc8785.dumps(value)
    assert stringify(value) == text
    in_order = json_stringify(value)
    assert json.loads(in_order) == json.loads(text), "JSON.stringify writes another value"
    assert jcs(parse(text, max_bytes=len(text))) == text
    assert json_stringify(parse(in_order, max_bytes=len(in_order))) == in_order


@fuzzed("core.canonical", seeds=SEEDS, is_json=True)
def canonical_of_any_value(data: bytes) -> None:
    """For what Python's lenient parser gives (NaN, big integers, half surrogates) all writers write or refuse alike.

    What JSON.stringify alone writes is read again as the same value.
    """
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        return
    written, in_order = [_written(write, value) for write in (jcs, stringify)], _written(json_stringify, value)
    try:
        expected = rfc8785.dumps(value)
    except (ValueError, RecursionError):  # its own errors are ValueErrors
        assert written == [None] * 2, "written, and the reference refuses it"
        if in_order is not None:
            again = json.loads(in_order, parse_int=float)
            assert again == json.loads(data, parse_int=float), "JSON.stringify writes another value"
        return
    assert written == [expected, expected]
    # It is written in Python, and ends where Python's own depth ends: at some hundreds of levels.
    assert in_order is not None or data.count(b"[") + data.count(b"{") > 2 * MAX_DEPTH


def _written(write: Any, value: JsonValue) -> bytes | None:
    try:
        text: bytes = write(value)
    except NotCanonicalError:
        return None
    return text


ENTRIES: tuple[Entry, ...] = (ijson, canonical, canonical_of_any_value)
