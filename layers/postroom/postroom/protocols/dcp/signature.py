"""Signatures as DCP writes them: an object with the bytes of r and s, as JavaScript writes a Buffer, and v.

The reference also writes this object as a string of JSON, and reads both.
"""

from typing import Final, TypeGuard

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse

_SCALAR_BYTES: Final = 32
_FIRST_V: Final = 27
"""v is this plus the recovery id, which is 0 or 1."""
_MAX_TEXT_BYTES: Final = 4096


def read_signature(value: JsonValue) -> bytes | None:
    """The bytes of a signature, r ‖ s ‖ recovery id; None: the value has another form."""
    match _parsed(value) if isinstance(value, str) else value:
        case {"r": {"type": "Buffer", "data": r}, "s": {"type": "Buffer", "data": s}, "v": int(v)} if (
            _are_scalar(r) and _are_scalar(s) and v - _FIRST_V in (0, 1)
        ):
            return bytes(r) + bytes(s) + bytes([v - _FIRST_V])
        case _:
            return None


def write_signature(signature: bytes) -> JsonValue:
    """The object of a signature of 65 bytes, r ‖ s ‖ recovery id."""
    r, s = signature[:_SCALAR_BYTES], signature[_SCALAR_BYTES:-1]
    return {"r": _buffer(r), "s": _buffer(s), "v": _FIRST_V + signature[-1]}


def _buffer(data: bytes) -> JsonValue:
    return {"type": "Buffer", "data": list(data)}


def _are_scalar(data: object) -> TypeGuard[list[int]]:
    """Whether these are 32 bytes; `type`, because True is an int."""
    return (
        isinstance(data, list)
        and len(data) == _SCALAR_BYTES
        and all(type(byte) is int and 0 <= byte <= 255 for byte in data)
    )


def _parsed(text: str) -> JsonValue:
    try:
        return parse(text.encode(errors="replace"), max_bytes=_MAX_TEXT_BYTES)
    except TheirError:
        return None
