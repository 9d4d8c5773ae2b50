"""Chat keys: the public keys that users of Status are known by, as texts and as points of secp256k1.

A chat key is "0x04" and 128 hex digits in lower case, of a point on the curve. Every user, chat and mention is named by
it, so one key has one text. The compressed form is what people copy: multibase's "z", and in base58btc the multicodec
of secp256k1 and the 33 bytes of the compressed point, which is "zQ3sh" and 44 more characters (2/ACCOUNT).
"""

import re
from binascii import unhexlify
from functools import lru_cache
from typing import Final, NewType

import coincurve

from postroom.crypto.encodings import BASE58, read_digits, write_digits

ChatKey = NewType("ChatKey", str)
"""A public key of a user: 0x04 and 128 hex digits in lower case, of a point on secp256k1."""

KEYS_READ: Final = 1024
"""Texts that are known to be keys, or not: a few users write most messages."""

KEY_PATTERN: Final = "0x04[0-9a-f]{128}"
"""How a chat key is written; not every such text is a point of the curve."""
_CHAT_KEY: Final = re.compile(KEY_PATTERN, re.ASCII)
_KEY_LENGTH: Final = 132
_COMPRESSED_BYTES: Final = 33
# The varint e7 01 as a number: multicodec's secp256k1-pub.
_MULTICODEC: Final = 0xE701
# However the key goes on, the number lies between 58^47 and 58^48: one key has one text.
_MULTIBASE_DIGITS: Final = 48


def read_chat_key(text: str) -> ChatKey | None:
    """The key of its one text; None: it is written in another way, or no point of the curve."""
    # The length first, so that no long text is kept.
    return _read_chat_key(text) if len(text) == _KEY_LENGTH else None


@lru_cache(KEYS_READ)
def _read_chat_key(text: str) -> ChatKey | None:
    if not _CHAT_KEY.fullmatch(text):
        return None
    try:
        coincurve.PublicKey(unhexlify(text[2:]))
    except ValueError:
        return None
    return ChatKey(text)


def chat_key_of(point: bytes) -> ChatKey:
    """The key of a point: 65 bytes, or 33 of the compressed form (SEC 1 §2.3.3).

    Raises ValueError: other bytes, the hybrid form (first byte 6 or 7), or no point of the curve.
    """
    # The length with the first byte, for the library accepts the hybrid form.
    if (len(point), point[:1]) not in ((65, b"\x04"), (33, b"\x02"), (33, b"\x03")):
        raise ValueError(f"a public key has 65 bytes from 04 on, or 33 from 02 or 03 on; this one has {len(point)}")
    try:
        key = coincurve.PublicKey(point)
    except ValueError:
        raise ValueError("the public key is not a point of secp256k1") from None
    return ChatKey(f"0x{key.format(compressed=False).hex()}")


def point_of(key: ChatKey) -> bytes:
    """The 65 bytes of a key's point, 04 the first."""
    # Three times as fast as bytes.fromhex, which skips white space.
    return unhexlify(key[2:])


def compressed(key: ChatKey) -> bytes:
    """The 33 bytes of a key's point in the compressed form: 02 or 03 by y's parity, and x."""
    point = point_of(key)
    return bytes([2 + point[-1] % 2]) + point[1:_COMPRESSED_BYTES]


def multibase(key: ChatKey) -> str:
    """The text that people copy, from "zQ3sh" on, of 49 characters."""
    number = (_MULTICODEC << 8 * _COMPRESSED_BYTES) + int.from_bytes(compressed(key))
    return "z" + write_digits(number, BASE58, _MULTIBASE_DIGITS)


def read_multibase(text: str) -> ChatKey:
    """The key of the text that `multibase` writes. Raises ValueError for any other, and off the curve."""
    if not text.startswith("z"):
        raise ValueError("a compressed key begins with z, which is multibase's base58btc")
    number = read_digits(text[1:], BASE58, _MULTIBASE_DIGITS)
    if number >> 8 * _COMPRESSED_BYTES != _MULTICODEC:
        raise ValueError("the compressed key is not one of secp256k1")
    return chat_key_of((number % (1 << 8 * _COMPRESSED_BYTES)).to_bytes(_COMPRESSED_BYTES))


def key_named(text: str) -> ChatKey:
    """A chat key as 0x04…, or as people copy it: zQ3sh…. Raises ValueError."""
    if not text.startswith("z"):
        key = read_chat_key(text)
        if key is None:
            raise ValueError("a chat key is 0x04 and 128 hex digits in lower case, or begins with zQ3sh")
        return key
    return read_multibase(text)
