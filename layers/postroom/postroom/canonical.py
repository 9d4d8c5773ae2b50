"""The texts that get hashed and signed.

RFC 8785 (JSON Canonicalization Scheme): `jcs`. The package `rfc8785` is the reference; most values take a
faster way through `orjson`, and only where both provably write the same bytes:

- *Values.* The fast way is taken only for trees of exactly dict, list, str, int, float, bool and None: no type
  that only `orjson` writes (UUID, Enum, ...).
- *Floats.* Both write the shortest digits that read back as the same double, the nearest of them. They differ in
  form: `1.0` is `1` in RFC 8785 §3.2.2.3, and exponents begin elsewhere. Where there is a fraction, and the
  magnitude is far from either one's exponents, the form is the same.
- *Integers* are plain decimal digits in both; OPT_STRICT_INTEGER refuses what is beyond ±(2^53-1), as the
  reference does.
- *Strings.* Both escape the quotation mark, the backslash and U+0000-U+001F, with the same short forms and
  otherwise lower-case hex, and write all else as UTF-8; both refuse lone surrogates.
- *Order of members.* RFC 8785 §3.2.3 sorts names by UTF-16 code units, `orjson` by UTF-8 bytes, which is by
  code point. The two differ only where U+E000-U+FFFF meets a name beyond U+FFFF; the fast way asks for more,
  namely no name beyond U+FFFF. Text that is ASCII throughout proves that for every name at once.
- *White space*: neither writes any.

Whatever `orjson` refuses goes to the reference, which alone decides what cannot be canonicalised.
"""

from typing import Any

import orjson
import rfc8785

from postroom.ijson import JsonValue

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonicalError(ValueError):
    """The value has no canonical text: NaN, an infinity, a big integer, a lone surrogate, ..."""


def jcs(value: JsonValue) -> bytes:
    """Write the canonical text of a value (RFC 8785), in UTF-8.

    Raises NotCanonicalError for what has none: NaN and infinities, integers beyond ±(2^53-1), lone
    surrogates, names that are no strings, types that JSON does not have, values that contain themselves or
    nest too deeply (some hundreds of levels; `ijson.parse` stops long before).
    """
    try:
        # First, because it also finds out that the value ends: the walk below would follow a cycle forever.
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _reference(value)
    return text if _is_plain(value, ascii_names=text.isascii()) else _reference(value)


def _is_plain(root: JsonValue, *, ascii_names: bool) -> bool:
    """Is this a tree of plain types, with no name beyond U+FFFF? (`ascii_names`: that much is known already.)"""
    values: list[Any] = [root]
    for value in values:  # grows as it goes
        kind = type(value)
        if kind is str or kind is int:
            continue  # most of what there is
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
