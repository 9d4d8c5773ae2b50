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
    members = _parsed(value) if isinstance(value, str) else value
    if not isinstance(members, dict):
        return None
    r, s, v = _scalar(members.get("r")), _scalar(members.get("s")), members.get("v")
    if r is None or s is None or type(v) is not int or v - _FIRST_V not in (0, 1):
        return None
    return r + s + bytes([v - _FIRST_V])


def write_signature(signature: bytes) -> JsonValue:
    """The object of a signature of 65 bytes, r ‖ s ‖ recovery id."""
    r, s = signature[:_SCALAR_BYTES], signature[_SCALAR_BYTES:-1]
    return {"r": _buffer(r), "s": _buffer(s), "v": _FIRST_V + signature[-1]}


def _buffer(data: bytes) -> JsonValue:
    return {"type": "Buffer", "data": list(data)}


def _scalar(value: JsonValue) -> bytes | None:
    """The 32 bytes of a Buffer; None: the value is none, or has another length."""
    if not isinstance(value, dict) or value.get("type") != "Buffer":
        return None
    data = value.get("data")
    if not isinstance(data, list) or len(data) != _SCALAR_BYTES or set(map(type, data)) != {int}:  # True is an int
        return None
    try:
        return bytes(data)  # type: ignore[arg-type]  # mypy does not see that all are integers
    except ValueError:
        return None


def _parsed(text: str) -> JsonValue:
    try:
        return parse(text.encode(errors="replace"), max_bytes=_MAX_TEXT_BYTES)
    except TheirError:
        return None
