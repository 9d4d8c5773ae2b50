"""Keccak-256 and addresses of Ethereum."""

from postroom.crypto.encodings import is_hex


def keccak_256(data: bytes) -> str:
    """The hex digits of a Keccak-256."""
    # Few processes need it, and it takes 60 ms to import.
    from Crypto.Hash import keccak

    return keccak.new(digest_bits=256, data=data).hexdigest()


def checksum_address(address: str) -> str:
    """The address with letters in upper case where the Keccak-256 of its text has a digit of 8 or more (ERC-55)."""
    lower = address.lower()
    if not is_hex(lower, 20):
        raise ValueError("an Ethereum address is 0x and 40 hex digits")
    digits = lower[2:]
    digest = keccak_256(digits.encode())
    written = "0x" + "".join(d.upper() if int(h, 16) >= 8 else d for d, h in zip(digits, digest, strict=False))
    if address[2:] not in (digits, digits.upper(), written[2:]):
        raise ValueError("the upper and lower case of this address do not fit it (ERC-55): mistyped?")
    return written
