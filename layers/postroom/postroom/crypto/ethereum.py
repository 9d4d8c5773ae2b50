"""Keccak-256, addresses of Ethereum, and texts that its keys sign (ERC-55, ERC-191 version 0x45)."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NewType

from postroom.crypto.encodings import is_hex

if TYPE_CHECKING:
    from Crypto.Hash.keccak import Keccak_Hash

Address = NewType("Address", str)
"""An address of Ethereum: 40 hex digits, without 0x, in the upper and lower case of ERC-55."""

ADDRESSES_READ: Final = 1024


def keccak_256(data: bytes) -> bytes:
    """The Keccak-256 of some bytes, which is not SHA3-256: the padding differs."""
    digest: bytes = _keccak()(digest_bits=256, data=data).digest()
    return digest


@lru_cache(1)
def _keccak() -> "Callable[..., Keccak_Hash]":
    # Few processes need it, and it takes 60 ms to import.
    from Crypto.Hash import keccak

    return keccak.new


def signed_text_digest(text: bytes) -> bytes:
    """What is signed of a text: the Keccak-256 of ERC-191's prefix, of the text's length in bytes, and of the text."""
    return keccak_256(b"\x19Ethereum Signed Message:\n%d" % len(text) + text)


@lru_cache(ADDRESSES_READ)
def read_address(text: str) -> Address:
    """Read an address with or without 0x, in lower case, in upper case, or in the case of ERC-55. Raises ValueError."""
    digits = text.removeprefix("0x")
    lower = digits.lower()
    if not is_hex(f"0x{lower}", 20):
        raise ValueError("an Ethereum address has 40 hex digits, and 0x or nothing before them")
    address = address_of_digits(lower)
    if digits not in (lower, lower.upper(), address):
        raise ValueError("the upper and lower case of this address do not fit it (ERC-55): mistyped?")
    return address


@lru_cache(ADDRESSES_READ)
def address_of_digits(lower: str) -> Address:
    """The address of 40 hex digits in lower case.

    Letters are in upper case where the Keccak-256 of the digits has a digit of 8 or more.
    """
    digest = keccak_256(lower.encode()).hex()
    return Address("".join(d.upper() if int(h, 16) >= 8 else d for d, h in zip(lower, digest, strict=False)))


def checksum_address(text: str) -> str:
    """An address that begins with 0x, in the case of ERC-55. Raises ValueError."""
    if not text.startswith("0x"):
        raise ValueError("an Ethereum address is 0x and 40 hex digits")
    return f"0x{read_address(text)}"
