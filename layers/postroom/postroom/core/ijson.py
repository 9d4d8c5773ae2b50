"""A strict JSON parser: I-JSON (RFC 7493), or a refusal.

`jiter` decides: of the fast parsers, it alone refuses duplicate member names (compared after escapes are decoded) and
lone surrogates. It accepts some values that a walk over the parsed value then refuses: numbers beyond IEEE doubles,
integers that are not read by others as they are written, and deep nesting.

Most texts need neither. If a text is, byte for byte, what `orjson` writes for its own value, it has no white space or
needless escapes, as most senders write it, and it is proven to be I-JSON:

- *Names* are unique: of a name that occurs twice the value keeps one, so one would be missing.
- *Numbers* are finite (orjson writes infinities as null), and OPT_STRICT_INTEGER refuses inexact integers.
- *Strings* are valid Unicode, because orjson writes no others.
- *Nesting* is no deeper than there are brackets; if there are many, the walk counts.

One thing of RFC 7493 §2.1 is *not* refused: noncharacters such as U+FFFE. RFC 8785 allows them, and nothing here
depends on their absence.

DCP reads what JavaScript's JSON.stringify can write: with `half_pairs`, a text with an escaped half of a surrogate pair
is read by Python's own parser. Fields of protobuf have integers of 64 bits: with `all_integers`,
each is read as it is written.
"""

import json
import re
from decimal import Decimal
from itertools import chain, islice
from math import inf
from typing import Any, TypeAlias, cast

import jiter
import orjson

from postroom.core.errors import OurError, TheirError
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_EXACT_INTEGER = 2**53 - 1
"""The largest magnitude at which every integer is exact as an IEEE double (RFC 7493 §2.2).

Larger ones are read as doubles if they are exact, or if they are written with the digits of RFC 8785, as JavaScript
does: nobody reads another number. Others are refused.
"""
_LONGEST_DIGITS = 1e21
"""From here on, RFC 8785 writes exponents (ECMA-262, Number::toString)."""
_LARGEST_DOUBLE = 1.7976931348623157e308
_LONGEST_PATH = 100
_MOST_SEARCHED = 10_000
"""Lists and objects in a text in which an integer is searched, to name it in a refusal."""

MAX_DEPTH = 64
"""Levels of nesting, unless the caller sets another limit: code that walks the value later may be recursive."""

MAX_VALUES = 100_000
"""Elements and members of one text, counted before it is parsed.

A text of nothing else takes a hundred times its length in memory. Commas and opening brackets outside of strings are
counted, and one more for each empty container.
"""

_PARSER_DEPTH = 200
"""jiter's own limit of nesting, which cannot be set."""

_GLANCE = 64
"""Bytes after which a text with white space is recognised."""

# Possessive (*+): a string of megabytes must not be remembered character by character. An unterminated one extends to
# the end of the text: otherwise each quotation mark in it would be tried as the beginning of a string.
_SEPARATORS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|([,\[{])', re.DOTALL)

# Pairs of surrogates, and any of their halves. What is behind a backslash may be no escape: it counts as a half, and
# then Python's parser reads what jiter would read as well.
_PAIR = re.compile(rb"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

_BOM = b"\xef\xbb\xbf"
_DUPLICATE = "a member name occurs twice in one object; names must be unique (RFC 7493 §2.3)"
_SURROGATE = "an escape is half of a surrogate pair; strings must be valid Unicode (RFC 7493 §2.1)"
_BIG_INTEGER = "the integer {} is beyond ±(2^53-1) and not exact as an IEEE double (RFC 7493 §2.2)"
_BIG_NUMBER = "a number is beyond the range of IEEE doubles (RFC 7493 §2.2)"
_NO_NUMBER = "NaN or Infinity is not a number; numbers must be finite (RFC 8259 §6)"

# Where no value begins, or a minus sign is not followed by a digit; jiter counts bytes.
_PLACE = re.compile(r"(?:expected value|invalid number) at line ([0-9]+) column ([0-9]+)")
_NO_NUMBERS = (b"NaN", b"Infinity")

# jiter's messages for JSON that is not I-JSON; all its other messages mean that it is not JSON.
_NOT_I_JSON = {
    "Detected duplicate key": _DUPLICATE,
    "lone leading surrogate": _SURROGATE,
    "unexpected end of hex escape": _SURROGATE,
    "number out of range": _BIG_NUMBER,
}


def parse(
    data: bytes,
    *,
    max_bytes: int,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
    half_pairs: bool = False,
    all_integers: bool = False,
) -> JsonValue:
    """Parse one I-JSON text in UTF-8, of at most `max_bytes` bytes and `max_depth` levels of nesting (≤ 200).

    It may contain `max_values` values. A bare scalar has depth 0, `[]` has depth 1. `half_pairs`: escaped halves of
    surrogate pairs are read, too. `all_integers`: integers of any size are read as they are written. The time is linear
    in `len(data)` for every content. Raises TheirError: TooLarge, NotJson or NotIJson, with a sentence that says where,
    but never what, the sender wrote, except for the names of the members that lead to an integer.
    """
    if max_depth > _PARSER_DEPTH:
        raise OurError(f"max_depth is {max_depth}; the parser itself ends at {_PARSER_DEPTH}")
    if len(data) > max_bytes:
        raise TheirError(TOO_LARGE, f"{len(data)} bytes; at most {max_bytes} are accepted")
    if _has_too_many_values(data, max_values):
        raise TheirError(NOT_I_JSON, f"more than {max_values} values in one text")
    if half_pairs and _HALF.search(data) and _HALF.search(_PAIR.sub(b"", data)):
        # The other parsers would read it up to the half, which may be at its end.
        value, proven = _parse_with_halves(data, max_depth), False
    else:
        value, proven = _parse_plain(data) or _parse_any(data, max_depth)
    # Finding that there is none is much faster than counting, and few messages contain a list.
    if not proven or data.count(b"{") + (data.count(b"[") if b"[" in data else 0) > max_depth:
        return _checked(value, max_depth, all_integers=all_integers)
    return value


def _parse_plain(data: bytes) -> tuple[JsonValue, bool] | None:
    """The value of a text that `orjson` writes for it, and whether it is proven to be I-JSON, except for its nesting:
    otherwise it has integers that may not be exact. None: it is another text."""
    if data.find(b'": ', 0, _GLANCE) >= 0:
        return None  # a sender that writes white space once writes it everywhere: not worth a try
    try:
        value: JsonValue = orjson.loads(data)
        try:
            text, proven = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER), True
        except orjson.JSONEncodeError:
            text, proven = orjson.dumps(value), False
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    # None and not the value: it would be in memory twice while the text is parsed again.
    return (value, proven) if text == data else None


def _has_too_many_values(data: bytes, most: int) -> bool:
    # Most texts are shorter, or have few commas even if those in strings count.
    if len(data) <= most or data.count(b",") + data.count(b"[") + data.count(b"{") <= most:
        return False
    separators = (found for found in _SEPARATORS.finditer(data) if found[1])
    return next(islice(separators, most, None), None) is not None


def _parse(data: bytes) -> JsonValue:
    return cast("JsonValue", jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys"))


def _parse_any(data: bytes, max_depth: int) -> tuple[JsonValue, bool]:
    """As `_parse_plain`, for any text. Raises TheirError."""
    try:
        value = _parse(data)
    except ValueError as error:
        raise _refusal(data, str(error), max_depth) from None
    return value, _has_plain_numbers(value)


def _parse_with_halves(data: bytes, max_depth: int) -> JsonValue:
    try:
        return cast("JsonValue", _WITH_HALVES.decode(data.decode()))
    except RecursionError:
        raise _too_deep(max_depth) from None
    except UnicodeDecodeError as error:
        raise _not_utf8(error) from None
    except json.JSONDecodeError as error:
        raise TheirError(NOT_JSON, f"not JSON, at line {error.lineno} column {error.colno}") from None
    except ValueError:  # an integer has more digits than Python reads
        raise TheirError(NOT_I_JSON, _BIG_NUMBER) from None


def _unique(members: list[tuple[str, JsonValue]]) -> JsonValue:
    found = dict(members)
    if len(found) < len(members):
        raise TheirError(NOT_I_JSON, _DUPLICATE)
    return found


def _no_number(_name: str) -> JsonValue:
    raise TheirError(NOT_I_JSON, _NO_NUMBER)


_WITH_HALVES = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


def _has_plain_numbers(value: JsonValue) -> bool:
    """Whether all numbers are proven to be finite, and exact if they are integers: orjson writes infinities as null."""
    try:
        return b"null" not in orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:
        return False


def _checked(value: JsonValue, max_depth: int, *, all_integers: bool) -> JsonValue:
    """Refuse what jiter accepts, level by level; `type` rather than `isinstance` because it is faster."""
    whole = [value]
    level: list[Any] = [whole]
    levels_left = max_depth
    large: list[tuple[Any, Any]] = []
    containers = 0
    while level:
        containers += len(level)
        members = list(chain.from_iterable([each if type(each) is list else each.values() for each in level if each]))
        kinds = set(map(type, members))
        if float in kinds and not all(-inf < member < inf for member in members if type(member) is float):
            raise TheirError(NOT_I_JSON, _BIG_NUMBER)
        if int in kinds and not all_integers:
            large += _large_integers(level, members)
        level = [member for member in members if type(member) is list or type(member) is dict]
        if level and not levels_left:
            raise _too_deep(max_depth)
        levels_left -= 1
    for container, place in large:
        container[place] = _double_of(container[place], value, names_it=containers <= _MOST_SEARCHED)
    return whole[0]


def _large_integers(containers: list[Any], members: list[Any]) -> list[tuple[Any, Any]]:
    """Those in lists and objects, each with its place. `members`: all that is in them."""
    if all(-MAX_EXACT_INTEGER <= member <= MAX_EXACT_INTEGER for member in members if type(member) is int):
        return []
    return [
        (container, place)
        for container in containers
        for place, member in (container.items() if type(container) is dict else enumerate(container))
        if type(member) is int and not -MAX_EXACT_INTEGER <= member <= MAX_EXACT_INTEGER
    ]


def _double_of(integer: int, root: JsonValue, *, names_it: bool) -> float:
    """The double of an integer that is somewhere in `root`. `names_it`: a refusal names the first one that has none."""
    double = double_of(integer)
    if double is None:
        raise (
            _refusal_of_integer(root) if names_it else TheirError(NOT_I_JSON, _BIG_INTEGER.format("among many values"))
        )
    return double


def _refusal_of_integer(root: JsonValue) -> TheirError:
    """The refusal of the first integer that has no double."""
    integer, places = (root, []) if isinstance(root, int) else _first_without_double(root) or (0, [])
    if abs(integer) > _LARGEST_DOUBLE:
        return TheirError(NOT_I_JSON, _BIG_NUMBER)
    path = ""
    for place in reversed(places):
        path += f"[{place}]" if isinstance(place, int) else f".{place[:_LONGEST_PATH]}" if path else place
    # A name may have halves of surrogate pairs, with which no answer could be written.
    shown = path[:_LONGEST_PATH].encode(errors="replace").decode()
    return TheirError(NOT_I_JSON, _BIG_INTEGER.format(f"at {shown}" if path else "of the whole text"))


def _first_without_double(container: Any) -> tuple[int, list[str | int]] | None:
    """The first integer that has no double, and the places that lead to it, the last one first."""
    for place, member in container.items() if type(container) is dict else enumerate(container):
        kind = type(member)
        if kind is int:
            if not -MAX_EXACT_INTEGER <= member <= MAX_EXACT_INTEGER and double_of(member) is None:
                return member, [place]
        elif kind is dict or kind is list:
            found = _first_without_double(member)
            if found:
                found[1].append(place)
                return found
    return None


def double_of(integer: int) -> float | None:
    """The double that an integer is read as everywhere: it is equal, or has the digits that JavaScript writes.

    None: different readers read different numbers, or it is beyond the range of doubles.
    """
    try:
        double = float(integer)
    except OverflowError:
        return None
    if int(double) == integer or (abs(double) < _LONGEST_DIGITS and whole_digits(double) == integer):
        return double
    return None


def whole_digits(double: float) -> int:
    """The integer that JavaScript writes for a whole double below 1e21: its shortest digits, and zeros."""
    return int(Decimal(orjson.dumps(double).decode()))  # as repr writes them, but faster


def _refusal(data: bytes, said: str, max_depth: int) -> TheirError:
    """Our sentence for jiter's refusal. Only the place is taken from its message, which may quote the sender."""
    if said.startswith("recursion limit exceeded"):
        return _too_deep(max_depth)
    place = said.rpartition(" at ")[2]
    for start, sentence in _NOT_I_JSON.items():
        if said.startswith(start):
            return TheirError(NOT_I_JSON, f"{sentence}, at {place}")
    if data.startswith(_BOM):
        return TheirError(NOT_JSON, "it begins with a byte order mark; a JSON text must not")
    if not data.strip(b" \t\r\n"):
        return TheirError(NOT_JSON, "it has no content; a JSON text was expected")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(error)
    if said.startswith("trailing characters"):
        return TheirError(NOT_JSON, f"something follows the end of the JSON text, at {place}")
    if _stopped_at_no_number(data, said):
        return TheirError(NOT_I_JSON, f"{_NO_NUMBER}, at {place}")
    return TheirError(NOT_JSON, f"not JSON, at {place}")


def _stopped_at_no_number(data: bytes, said: str) -> bool:
    """Whether jiter stopped at NaN or Infinity, which Python writes and reads."""
    place = _PLACE.fullmatch(said)
    if place is None:
        return False
    line, column = int(place[1]), int(place[2])
    return data.split(b"\n", line)[line - 1].startswith(_NO_NUMBERS, column - 1)


def _not_utf8(error: UnicodeDecodeError) -> TheirError:
    return TheirError(NOT_JSON, f"not UTF-8, at byte {error.start}")


def _too_deep(max_depth: int) -> TheirError:
    return TheirError(NOT_I_JSON, f"nested deeper than {max_depth} levels")
