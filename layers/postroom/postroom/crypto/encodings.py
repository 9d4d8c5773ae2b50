"""Encodings of bytes: base64 in its one canonical form, hexadecimal digits, and digits of any base."""

from binascii import unhexlify
from typing import Final

from pybase64 import b64decode, b64encode_as_string

BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""The digits of base 58 as Bitcoin and multibase have them ("base58btc")."""


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


def read_digits(text: str, alphabet: str, count: int) -> int:
    """The number of exactly so many digits, the highest first; `alphabet`: the digits, by value. Raises ValueError."""
    if len(text) != count:
        raise ValueError(f"a text has {count} digits in this base; this one has {len(text)}")
    number = 0
    for digit in text:
        value = alphabet.find(digit)
        if value < 0:
            raise ValueError(f"{digit!r} is no digit of its base")
        number = number * len(alphabet) + value
    return number


def write_digits(number: int, alphabet: str, count: int) -> str:
    """The lowest `count` digits of a number from 0 on, the highest first; `alphabet`: the digits, by value."""
    text = ""
    for _ in range(count):
        number, value = divmod(number, len(alphabet))
        text = alphabet[value] + text
    return text
