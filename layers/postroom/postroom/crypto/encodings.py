"""Encodings of bytes: base64 in its one canonical form, and hexadecimal digits."""

from binascii import unhexlify

from pybase64 import b64decode, b64encode_as_string


def decode_base64(text: str) -> bytes:
    """Read standard base64 on one line, padded, in its canonical form. Raises ValueError."""
    # Twenty times as fast as Python's own, and strict about padding.
    decoded = b64decode(text, None, True)
    # It accepts stray bits in the last digit, so that one value would have many texts.
    rest = len(decoded) % 3
    if rest and not text.endswith(b64encode_as_string(decoded[-rest:])):
        raise ValueError("stray bits in the last digit")
    return decoded


def is_hex(lower: str, length: int) -> bool:
    """Whether a text in lower case is 0x and the digits of `length` bytes."""
    digits = lower.removeprefix("0x")
    return len(lower) == 2 + 2 * length == len(digits) + 2 and not digits.strip("0123456789abcdef")


def read_hex(text: object) -> bytes | None:
    """The bytes in a text of 0x and their digits, in upper or lower case; None: it is none."""
    if not isinstance(text, str) or not text.startswith("0x"):
        return None
    try:
        # Not bytes.fromhex, which takes white space, too.
        return unhexlify(text[2:])
    except ValueError:
        return None


def write_hex(data: bytes) -> str:
    """0x and the digits of bytes, in lower case."""
    return f"0x{data.hex()}"
