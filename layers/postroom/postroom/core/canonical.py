"""The texts that are hashed and signed: RFC 8785, and what JavaScript writes.

RFC 8785 (JSON Canonicalization Scheme): `jcs`. dm3 hashes what npm's safe-stable-stringify writes, `stringify`, and
sends what JSON.stringify writes, `json_stringify`, which DCP signs. RFC 8785 §3.2.2 takes its numbers and strings from
ECMAScript, so the three differ in the order of members only, and in two kinds of values that RFC 8785 refuses:
`json_stringify` writes half of a surrogate pair as an escape, and an integer beyond 2^53-1 if it is a double exactly.
JavaScript also writes NaN and infinities as `null`, and other integers as a double nearby. All three refuse these here:
a number that is written as another one is a mistake. JavaScript drops a member that is `undefined`; Python has no such
value, and `None` is `null`: leave such members out.

The package `rfc8785` is the reference for `jcs`. Most values are written by `orjson`, which is faster, but only if both
provably write the same bytes:

- *Values.* The fast way is taken only for trees of exactly dict, list, str, int, float, bool and None: no type
  that only `orjson` writes (UUID, Enum, ...). `ijson.parse` gives no others.
- *Floats.* Both write the shortest digits that read back as the same double, the nearest of them. They differ in
  form: `1.0` is `1` in RFC 8785 §3.2.2.3, and exponents begin elsewhere. In a text of `orjson` the others are
  recognised by their ends: `.0`, an exponent from +16 to +20 (RFC 8785 begins with +21), or the exponent -6, which
  RFC 8785 does not use.
- *Integers* are plain decimal digits in both; OPT_STRICT_INTEGER refuses what is beyond ±(2^53-1), as the
  reference does.
- *Strings.* Both escape the quotation mark, the backslash and U+0000-U+001F, with the same short forms and
  otherwise lower-case hex, and write all else as UTF-8; both refuse lone surrogates.
- *Order of members.* RFC 8785 §3.2.3 sorts names by UTF-16 code units, `orjson` by UTF-8 bytes, which is by
  code point. The two differ only if a name has U+E000-U+FFFF and another one is beyond U+FFFF. A text without the bytes
  that begin such characters in UTF-8 proves that for all names at once.
- *White space*: neither writes any.

What `orjson` or the check of types refuses goes to the reference, which alone decides what cannot be canonicalised by
RFC 8785. `jcs_of_parsed` needs no check: it only searches the text.

Where the two differ, the text is mended. A stranger chooses what needs that, so it must not take many times as long,
also if the value is many small lists and objects:

- *Floats*: in the text of `orjson`, beside its strings. Nothing is done for each list or object.
- *Order of members*: a copy of the value has the members of each object in order, and `orjson` writes it as it stands.

`json_stringify` and `json_stringify_of_parsed` do the same, with the members as they stand. There, an array index that
follows another name needs that order, and halves of surrogate pairs need Python's own encoder, which writes what
`orjson` does except for floats: its exponents begin elsewhere again, and have two digits or more. `json_stringify`
copies what is refused to plain types first, and what needs another order, so that the caller's value stays as it is.
"""

import json
import re
from functools import cache
from itertools import chain
from math import inf
from operator import methodcaller
from types import NoneType
from typing import Any, Final

import orjson
import rfc8785

from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue, double_of

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_AS_SET: Final = orjson.OPT_STRICT_INTEGER

# Three expressions, because each begins with a plain character: such expressions are found many times as fast.
_WHOLE_FLOAT = re.compile(rb"\.0(?:[]},]|\Z)")
_SMALL_EXPONENT = re.compile(rb"-(?:6|0[5-9])(?:[]},]|\Z)")
_EARLY_EXPONENT = re.compile(rb"\+(?:1[6-9]|20)(?:[]},]|\Z)")
_OTHER_EXPONENT = re.compile(rb"([0-9](?:\.[0-9]++)?e(?:\+1[6-9]|\+20|-6|-0[5-9]))(?=[]},])")
"""A number that ECMAScript writes without an exponent, or with one of fewer digits: of `orjson`, or of Python."""

# Array indices, and the numbers up to 9999999999, of members behind others.
_LATER_INDEX = re.compile(rb',"(?:0|[1-9][0-9]{0,9})":')

_TWO_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_PYTHON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_NO_INDEX = 2**32 - 1
"""The first number that is not an array index."""
_MOST_DIGITS = 10
_SCALARS: Final = frozenset((str, int, float, bool, NoneType))


class NotCanonicalError(ValueError):
    """The value has no canonical text: NaN, an infinity, a big integer, a lone surrogate, ..."""


def jcs(value: JsonValue) -> bytes:
    """Write the canonical text of a value (RFC 8785), in UTF-8.

    Raises NotCanonicalError for values that have none: NaN and infinities, integers beyond ±(2^53-1), lone surrogates,
    names that are not strings, types that JSON does not have, values that contain themselves or are nested too deeply
    (some hundreds of levels; `ijson.parse` stops long before).
    """
    try:
        # First, because it also finds out that the value is finite: the walk below would follow a cycle for ever.
        text = orjson.dumps(value, option=_SORTED)
    except TypeError:
        return _reference(value)
    return _as_rfc_8785(value, text) if _is_plain(value) else _reference(value)


def jcs_of_parsed(value: JsonValue) -> bytes:
    """`jcs` of a result of `ijson.parse`, or of a list or object made of such: the types need no check.

    Raises NotCanonicalError, as `jcs` does.
    """
    try:
        text = orjson.dumps(value, option=_SORTED)
    except TypeError:
        return _reference(value)
    return _as_rfc_8785(value, text)


def _as_rfc_8785(value: JsonValue, text: bytes) -> bytes:
    """The canonical text. `text`: that of `orjson`, with sorted names."""
    if _may_have_another_order(text):
        text = orjson.dumps(_in_utf_16_order(value), option=_AS_SET)
    return _with_other_numbers(text)


def _may_have_another_order(text: bytes) -> bool:
    """Whether UTF-8 has characters of which UTF-16 changes the order: some beyond U+FFFF, and some before it.

    Those from U+E000 to U+FFFF begin with EE or EF, those beyond with F0 to F4 (RFC 3629 §4).
    """
    if text.isascii() or not (b"\xee" in text or b"\xef" in text):
        return False
    return any(map(text.__contains__, range(0xF0, 0xF5)))


def _is_plain(root: JsonValue) -> bool:
    """Whether this is a tree of plain types, and its floats are finite."""
    values: list[Any] = [root]
    for value in values:  # grows meanwhile
        kind = type(value)
        if kind is str or kind is int:
            continue  # most values
        if kind is dict:
            values += value.values()
        elif kind is list:
            values += value
        elif kind is float:
            if not -inf < value < inf:
                return False
        elif kind is not bool and value is not None:
            return False
    return True


def _reference(value: JsonValue) -> bytes:
    try:
        return rfc8785.dumps(value)
    except RecursionError:
        raise NotCanonicalError("the value contains itself or nests too deeply") from None
    except ValueError as error:
        raise NotCanonicalError(str(error)) from error


def stringify(value: JsonValue) -> bytes:
    """Write a value as npm's safe-stable-stringify 2 does (decision "Canonical text"), in UTF-8.

    It sorts names by `<` of JavaScript, which compares UTF-16 code units, and writes no white space: for every value
    that RFC 8785 can write, the result is RFC 8785. Raises NotCanonicalError for all others, as `jcs` does.
    """
    return jcs(value)


def json_stringify(value: JsonValue) -> bytes:
    """Write a value as JavaScript's JSON.stringify(JSON.parse(...)) does, in UTF-8.

    Members are in the order in which they were set, except array indices, which JavaScript puts first, in ascending
    order (ECMA-262 §10.1.11.1 OrdinaryOwnPropertyKeys). Raises NotCanonicalError, as `jcs` does, but not for halves of
    surrogate pairs, nor for large integers that are doubles exactly, or have the digits that JavaScript writes.
    """
    try:
        text = orjson.dumps(value, option=_AS_SET)
    except TypeError:
        text = None
    if text is not None and _is_plain(value):
        return json_stringify_of_parsed(orjson.loads(text)) if _LATER_INDEX.search(text) else _with_other_numbers(text)
    try:
        return json_stringify_of_parsed(_plain(value))
    except RecursionError:
        raise NotCanonicalError("the value contains itself or nests too deeply") from None


def json_stringify_of_parsed(value: JsonValue) -> bytes:
    """`json_stringify` of a result of `ijson.parse`, or of a list or object made of such: the types need no check.

    Puts the members of its objects in their order in JavaScript. Raises NotCanonicalError, as `json_stringify` does.
    """
    try:
        text = orjson.dumps(value, option=_AS_SET)
    except TypeError:
        _put_indices_first(value)
        return _with_other_numbers(_written_by_python(value))
    if _LATER_INDEX.search(text):
        _put_indices_first(value)
        text = orjson.dumps(value, option=_AS_SET)
    return _with_other_numbers(text)


def _plain(value: Any) -> JsonValue:
    """A copy of the types that `ijson.parse` returns. Raises NotCanonicalError if there is none."""
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise NotCanonicalError("names must be strings")
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if type(value) is int and not -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        return _double(value)
    # The reference refuses what JSON does not have, and writes subclasses.
    plain: JsonValue = value if type(value) in _SCALARS and _is_plain(value) else orjson.loads(_reference(value))
    return plain


def _double(integer: int) -> float:
    double = double_of(integer)
    if double is None:
        raise NotCanonicalError("JavaScript would write an integer beyond ±(2^53-1) as another number")
    return double


def _written_by_python(value: JsonValue) -> bytes:
    """The text of a plain value with halves of surrogate pairs, or more levels than `orjson` writes, except for the
    form of its numbers."""
    text = _PYTHON.encode(value)
    # Two halves that stand together are a character, as in JavaScript. No parser leaves such, and joining them is slow.
    if _TWO_HALVES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    # What UTF-8 cannot encode are halves: each becomes an escape (ECMA-262 §25.5.2.3 QuoteJSONString).
    return text.encode(errors="backslashreplace")


def _with_other_numbers(text: bytes) -> bytes:
    """A text of `orjson` or Python, its numbers in the form of ECMAScript (ECMA-262 §6.1.6.1.20 Number::toString)."""
    if not any(form.search(text) for form in (_WHOLE_FLOAT, _SMALL_EXPONENT, _EARLY_EXPONENT)):
        return text
    # Bytes that are not in UTF-8 replace the escapes with a quotation mark or a backslash, so that each quotation mark
    # begins or ends a string: every second part is beside the strings.
    parts = text.replace(rb"\\", b"\xfe").replace(rb"\"", b"\xff").split(b'"')
    beside = b'"'.join(parts[::2]) + b","
    for end in (b",", b"]", b"}"):
        beside = beside.replace(b"-0.0" + end, b"0" + end).replace(b".0" + end, end)
    pieces = _OTHER_EXPONENT.split(beside)
    # A stranger has room for many numbers only if they are short, and then most of them are the same.
    pieces[1::2] = map(cache(_with_other_exponent), pieces[1::2])
    parts[::2] = b"".join(pieces)[:-1].split(b'"')
    return b'"'.join(parts).replace(b"\xff", rb"\"").replace(b"\xfe", rb"\\")


def _with_other_exponent(number: bytes) -> bytes:
    digits, _, exponent = number.replace(b".", b"").partition(b"e")
    power = int(exponent)
    if power > 0:
        return digits.ljust(power + 1, b"0")
    return b"0.00000"[: 1 - power] + digits if power >= -6 else number.replace(b"e-0", b"e-")


def _in_utf_16_order(value: Any) -> Any:
    """A copy of a plain value, with the members of each object sorted as RFC 8785 §3.2.3 does."""
    if type(value) is dict:
        names = sorted(value, key=_utf_16) if len(value) > 1 else value
        return {name: each if type(each := value[name]) in _SCALARS else _in_utf_16_order(each) for name in names}
    if type(value) is list:
        return [each if type(each) in _SCALARS else _in_utf_16_order(each) for each in value]
    return value


def _put_indices_first(root: JsonValue) -> None:
    """Put the members of each object in the order of JavaScript, level by level: faster than a copy of many lists."""
    index = cache(_index)
    level: list[Any] = [[root]]
    while level:
        for each in level:
            if type(each) is dict and len(each) > 1:
                names = sorted(each, key=index)
                if names != list(each):
                    for name in names:
                        each[name] = each.pop(name)
        members = chain.from_iterable([each.values() if type(each) is dict else each for each in level])
        level = [member for member in members if member and (type(member) is list or type(member) is dict)]


_utf_16 = methodcaller("encode", "utf-16-be")
"""Sorts names as RFC 8785 §3.2.3 does."""


def _index(name: str) -> int:
    """Sorts array indices (ECMA-262 §6.1.7) in ascending order, and leaves other names as they stand, behind them."""
    if name.isdecimal() and name.isascii() and (name[0] != "0" or name == "0") and len(name) <= _MOST_DIGITS:
        return min(int(name), _NO_INDEX)
    return _NO_INDEX
