"""Signatures as DCP writes them: an object with the bytes of r and s, as JavaScript writes a Buffer, and v.

The reference also writes this object as a string of JSON, and reads both.
"""

from typing import Final

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse

_SCALAR_BYTES: Final = 32
_FIRST_V: Final = 27
"""v is this plus the recovery id, which is 0 or 1."""
_MAX_TEXT_BYTES: Final = 4096


def read_signature(value: JsonValue) -> bytes | None:
    """The bytes of a signature, r ‖ s ‖ recovery id; None: the value has another form."""
    match _parsed(value) if isinstance(value, str) else value:
        case {"r": {"type": "Buffer", "data": list(r)}, "s": {"type": "Buffer", "data": list(s)}, "v": int(v)}:
            pass
        case _:
            return None
    if len(r) != _SCALAR_BYTES or len(s) != _SCALAR_BYTES or v - _FIRST_V not in (0, 1):
        return None
    if set(map(type, r + s)) != {int}:  # True is an int
        return None
    try:
        return bytes([*r, *s, v - _FIRST_V])
    except ValueError:
        return None


def write_signature(signature: bytes) -> JsonValue:
    """The object of a signature of 65 bytes, r ‖ s ‖ recovery id."""
    r, s = signature[:_SCALAR_BYTES], signature[_SCALAR_BYTES:-1]
    return {"r": _buffer(r), "s": _buffer(s), "v": _FIRST_V + signature[-1]}


def _buffer(data: bytes) -> JsonValue:
    return {"type": "Buffer", "data": list(data)}


def _parsed(text: str) -> JsonValue:
    try:
        return parse(text.encode(errors="replace"), max_bytes=_MAX_TEXT_BYTES)
    except TheirError:
        return None
