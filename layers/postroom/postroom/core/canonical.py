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
  form: `1.0` is `1` in RFC 8785 §3.2.2.3, and exponents begin elsewhere. If there is a fraction, and the magnitude
  is far from either one's exponents, the form is the same. In a text of `orjson` the others are recognised by their
  ends: `.0`, an exponent from +16 to +20 (RFC 8785 begins with +21), or the exponent -6, which RFC 8785 does not use.
- *Integers* are plain decimal digits in both; OPT_STRICT_INTEGER refuses what is beyond ±(2^53-1), as the
  reference does.
- *Strings.* Both escape the quotation mark, the backslash and U+0000-U+001F, with the same short forms and
  otherwise lower-case hex, and write all else as UTF-8; both refuse lone surrogates.
- *Order of members.* RFC 8785 §3.2.3 sorts names by UTF-16 code units, `orjson` by UTF-8 bytes, which is by
  code point. The two differ only if a name has U+E000-U+FFFF and another one is beyond U+FFFF; the fast way requires
  more, namely no name beyond U+FFFF. A text in ASCII proves that for all names at once, as does one without the
  bytes that begin such a character in UTF-8.
- *White space*: neither writes any.

`jcs_of_parsed` only searches the text, which is faster than checking its values; a string may look like such a float or
name, and then `jcs` decides, which checks each value.

Values that `orjson` refuses go to the reference, which alone decides what cannot be canonicalised by RFC 8785.

All others are written one by one: each object and list goes to `orjson` with its members in order, and in the place of
the values that `orjson` would write otherwise, their texts (`orjson.Fragment`). A stranger chooses what takes this way,
so it must not take many times as long.

`json_stringify` and `json_stringify_of_parsed` do the same, with the members as they stand. There, an array index as a
name needs the slow way, too.
"""

import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import islice
from math import inf
from typing import Any, TypeAlias

import orjson
import rfc8785

from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue, double_of, whole_digits

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

# Three expressions, because each begins with a plain character: such expressions are found many times as fast.
_WHOLE_FLOAT = re.compile(rb"\.0(?:[]},]|\Z)")
_MILLIONTHS = re.compile(rb"-6(?:[]},]|\Z)")
_EARLY_EXPONENT = re.compile(rb"\+(?:1[6-9]|20)(?:[]},]|\Z)")

# Array indices, and the numbers up to 9999999999; also in a string, behind an escaped quotation mark.
_INDEX_NAME = re.compile(rb'"(?:0|[1-9][0-9]{0,9})":')
_INDEX = re.compile("0|[1-9][0-9]{0,9}")

_HALF = re.compile("[\ud800-\udfff]")
_TWO_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_PYTHON = json.JSONEncoder(ensure_ascii=False)

_NO_INDEX = 2**32 - 1
"""The first number that is not an array index."""

_FIRST_EXPONENT = 1e21
"""From here on, JavaScript writes numbers with an exponent (ECMA-262 §6.1.6.1.20 Number::toString)."""
_64_BITS = 2.0**63
"""Integers below this, `orjson` writes."""
_LAST_EXPONENT = 1e-6
"""Below this, too."""

_Order: TypeAlias = Callable[[dict[str, JsonValue]], Iterable[str]]
"""The names of an object, in the order in which they are written."""


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
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _reference(value)
    return text if _is_plain(value, ascii_names=text.isascii()) else _text(value, _by_utf_16)


def jcs_of_parsed(value: JsonValue) -> bytes:
    """`jcs` of a result of `ijson.parse`, or of a list or object made of such: the types need no check.

    Raises NotCanonicalError, as `jcs` does.
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _reference(value)
    return _text(value, _by_utf_16) if _has_other_floats(text) or _has_beyond_ffff(text) else text


def _has_other_floats(text: bytes) -> bool:
    """Whether a text of `orjson` may contain a float in another form than that of ECMAScript."""
    return any(form.search(text) for form in (_WHOLE_FLOAT, _MILLIONTHS, _EARLY_EXPONENT))


def _has_beyond_ffff(text: bytes) -> bool:
    """Whether UTF-8 contains a character beyond U+FFFF: they begin with F0 to F4 (RFC 3629 §4)."""
    return not text.isascii() and any(map(text.__contains__, range(0xF0, 0xF5)))


def _is_plain(root: JsonValue, *, ascii_names: bool) -> bool:
    """Whether this is a tree of plain types, with no name beyond U+FFFF.

    `ascii_names`: the names are known to be ASCII.
    """
    values: list[Any] = [root]
    for value in values:  # grows meanwhile
        kind = type(value)
        if kind is str or kind is int:
            continue  # most values
        if kind is dict:
            if not ascii_names:
                names = "".join(value)
                if not names.isascii() and max(names) > "\uffff":
                    return False
            values += value.values()
        elif kind is list:
            values += value
        elif kind is float:
            if not 0.001 <= abs(value) < 1e15 or value.is_integer():
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
        text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except TypeError:
        return _by_javascript(value)
    # No name is moved, so it does not matter how far its characters are.
    plain = not _INDEX_NAME.search(text) and _is_plain(value, ascii_names=True)
    return text if plain else _by_javascript(value)


def json_stringify_of_parsed(value: JsonValue) -> bytes:
    """`json_stringify` of a result of `ijson.parse`, or of a list or object made of such: the types need no check.

    Raises NotCanonicalError, as `json_stringify` does.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except TypeError:
        return _by_javascript(value)
    if _has_other_floats(text) or _INDEX_NAME.search(text):
        return _by_javascript(value)
    return text


def _by_javascript(value: JsonValue) -> bytes:
    try:
        return _text(value, _as_set)
    except RecursionError:
        raise NotCanonicalError("the value contains itself or nests too deeply") from None


def _text(value: Any, order: _Order) -> bytes:
    if isinstance(value, dict):
        members = {name: _part(value[name], order) for name in order(value)}
        try:
            return orjson.dumps(members)
        except TypeError:  # a name with half of a surrogate pair, or of a subclass of str
            return b"{%b}" % b",".join([_with_halves(name) + b":" + orjson.dumps(members[name]) for name in members])
    if isinstance(value, list | tuple):
        return orjson.dumps([_part(item, order) for item in value])
    return orjson.dumps(_part(value, order))


def _part(value: Any, order: _Order) -> Any:
    """What `orjson` writes as JavaScript writes the value: the value, or its text."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() or not _HALF.search(value) else orjson.Fragment(_with_halves(value))
    if kind is float:
        if value.is_integer():
            # An integer has no fraction to be left out.
            if -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
                return int(value)
            return whole_digits(value) if -_64_BITS < value < _64_BITS else orjson.Fragment(_float(value))
        return value if 0.001 <= abs(value) < 1e15 else orjson.Fragment(_float(value))
    if kind is int:
        return value if -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER else orjson.Fragment(_large(value))
    if kind is bool or value is None:
        return value
    return orjson.Fragment(_text(value, order) if isinstance(value, dict | list | tuple) else _reference(value))


def _float(value: float) -> bytes:
    """JavaScript writes the shortest digits that read back as the double, as `repr` does, but exponents elsewhere."""
    magnitude = abs(value)
    if value.is_integer() and magnitude < _FIRST_EXPONENT:
        return b"%d" % whole_digits(value)
    if _FIRST_EXPONENT <= magnitude < inf:
        return repr(value).encode()
    if _LAST_EXPONENT <= magnitude < 1:
        return f"{Decimal(repr(value)):f}".encode()
    return _reference(value)


def _large(integer: int) -> bytes:
    try:
        double = double_of(integer)
    except OverflowError:
        double = None
    if double is None:
        raise NotCanonicalError("JavaScript would write an integer beyond ±(2^53-1) as another number")
    return _float(double)


def _with_halves(text: str) -> bytes:
    """A string with halves of surrogate pairs, each as an escape (ECMA-262 §25.5.2.3 QuoteJSONString)."""
    # Two halves that stand together are a character, as in JavaScript. No parser leaves such, and joining them is slow.
    if _TWO_HALVES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    # Python escapes the same characters in the same way; what UTF-8 cannot encode are the halves.
    return _PYTHON.encode(text).encode(errors="backslashreplace")


def _by_utf_16(members: dict[str, JsonValue]) -> Iterable[str]:
    """The names of an object in the order of RFC 8785 §3.2.3."""
    return sorted(members, key=None if "".join(members).isascii() else _utf_16)


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be")


def _as_set(members: dict[str, JsonValue]) -> Iterable[str]:
    """The names of an object, with array indices (ECMA-262 §6.1.7) first, and in ascending order."""
    try:
        indices = {int(name): name for name in filter(_INDEX.fullmatch, members)}
    except TypeError:
        raise NotCanonicalError("names must be strings") from None
    first = [indices[index] for index in sorted(indices) if index < _NO_INDEX]
    return members if list(islice(members, len(first))) == first else dict.fromkeys([*first, *members])
