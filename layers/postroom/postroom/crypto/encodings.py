"""Texts of bytes: base64 and hexadecimal digits, each in its one proper form."""

import pybase64


def decode_base64(text: str) -> bytes:
    """Read standard base64 on one line, padded, in its one proper form. Raises ValueError."""
    # Twenty times as fast as Python's own, and strict about padding.
    decoded = pybase64.b64decode(text, validate=True)
    # It lets stray bits in the last digit pass: one value would have many texts.
    if not text.endswith(pybase64.b64encode_as_string(decoded[len(decoded) // 3 * 3 :])):
        raise ValueError("stray bits in the last digit")
    return decoded


def is_hex(lower: str, length: int) -> bool:
    """Whether a text in lower case is 0x and the digits of `length` bytes."""
    digits = lower.removeprefix("0x")
    return len(lower) == 2 + 2 * length == len(digits) + 2 and not digits.strip("0123456789abcdef")
