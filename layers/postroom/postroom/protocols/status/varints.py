"""Numbers of more than 64 bits in protobuf, which our parser reads and Status's node does not (decision "Payloads").

A varint of ten bytes has room for 70 bits. Google's parser for Python drops what is beyond the 64th; Go's refuses the
message.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from google.protobuf.message import Message

_VARINT: Final = 0
_FIXED: Final = {1: 8, 5: 4}
_LENGTH_DELIMITED: Final = 2
_GROUP_START: Final = 3

# A number of more than 64 bits is nine bytes that say "more", and a tenth with others than the 64th bit. That can be in
# a text as well, but it is found in a small part of the time that reading the fields takes.
_CLASSES: Final = bytes([0] * 2 + [1] * 126 + [2] * 128)
_LIKE_LONG: Final = bytes([2] * 9 + [1])
_MOST_SEARCHED: Final = 10_000
"""Bytes. In pictures and sounds it is found nearly always."""


class _Field(Protocol):
    @property
    def message_type(self) -> "_Kind | None": ...


class _Kind(Protocol):
    """The type of a message, in whichever implementation of protobuf."""

    @property
    def fields_by_number(self) -> Mapping[int, _Field]: ...


def fits_64_bits(data: bytes, message: Message) -> bool:
    """Whether every number in a message, and in those within it, has 64 bits at most.

    `data`: what the message was parsed from.
    """
    if len(data) <= _MOST_SEARCHED and _LIKE_LONG not in data.translate(_CLASSES):
        return True
    return _numbers_fit(data, message.DESCRIPTOR)


def _numbers_fit(data: bytes, kind: _Kind) -> bool:
    place = depth = 0
    while place < len(data):
        tag, place = _read(data, place)
        wire_type = tag & 7
        if wire_type == _VARINT:
            number, place = _read(data, place)
            if number >> 64:
                return False
        elif wire_type in _FIXED:
            place += _FIXED[wire_type]
        elif wire_type == _LENGTH_DELIMITED:
            length, place = _read(data, place)
            # Groups are unknown here, and so is what is in one.
            field = None if depth else kind.fields_by_number.get(tag >> 3)
            inner = None if field is None else field.message_type
            if inner is not None and not _numbers_fit(data[place : place + length], inner):
                return False
            place += length
        else:
            depth += 1 if wire_type == _GROUP_START else -1
    return True


def _read(data: bytes, place: int) -> tuple[int, int]:
    """The varint at a place, and where it ends."""
    number = shift = 0
    while data[place] > 127:
        number |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
    return number | data[place] << shift, place + 1
