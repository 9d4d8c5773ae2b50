"""Varints, and a strict reader of the protobuf wire format."""

from typing import Any, Final

_MAX_VARINT_BITS: Final = 63
"""As of multiformats' unsigned-varint. Protobuf allows one more, for numbers from 2^63 on; no size is one."""
_BYTES: Final = 2
"""The wire type of what has a length and a content. All other fields that are read here are varints."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint at a place, and the place after it. Raises ValueError for one that is cut, or longer than need be."""
    try:
        byte = data[at]
        value, shift = byte & 0x7F, 7
        while byte >= 0x80:
            if shift == _MAX_VARINT_BITS:
                raise ValueError("a number is too large")
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            shift += 7
    except IndexError:
        raise ValueError("a number is cut") from None
    if shift > 7 and not byte:
        raise ValueError("a number is written longer than it need be")
    return value, at + 1


def read_message(data: bytes, tags: bytes, repeated: int) -> tuple[dict[int, Any], list[Any]]:
    """A protobuf message: the values by tag, and those of the tag that may be repeated, in their order.

    A tag is the number of a field and its wire type; by that a value is a number, or bytes. `tags`: those that may
    occur besides `repeated`, once and in any order, each of one byte. Raises ValueError for any other field, for one
    that occurs twice, and for what is cut (protobuf.dev, "Encoding").
    """
    values: dict[int, Any] = {}
    many: list[Any] = []
    value: int | bytes
    at, end = 0, len(data)
    while at < end:
        tag = data[at]
        number, at = read_varint(data, at + 1)
        if tag & 7 == _BYTES:
            start, at = at, at + number
            if at > end:
                raise ValueError(f"field {tag >> 3} is cut")
            value = data[start:at]
        else:
            value = number
        if tag == repeated:
            many.append(value)
        elif tag not in tags or tag in values:
            raise ValueError(f"field {tag >> 3} of wire type {tag & 7} is unknown, or occurs twice")
        else:
            values[tag] = value
    return values, many
