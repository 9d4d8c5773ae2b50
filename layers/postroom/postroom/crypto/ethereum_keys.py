"""Keys of Ethereum accounts: secp256k1 keys whose signatures tell the address that made them."""

from dataclasses import dataclass, field
from typing import Final

import coincurve
from coincurve.utils import GROUP_ORDER_INT

from postroom.crypto.ethereum import Address, address_of_digits, keccak_256, signed_text_digest
from postroom.crypto.spki import SECP256K1_SPKI

SIGNATURE_BYTES: Final = 65
"""r ‖ s ‖ recovery id."""
_SCALAR_BYTES: Final = 32
_HIGHEST_S: Final = (GROUP_ORDER_INT // 2).to_bytes(_SCALAR_BYTES)


@dataclass(frozen=True, slots=True)
class EthereumKey:
    """A key that signs texts for its address. Neither its repr nor any error shows it."""

    address: Address
    _key: coincurve.PrivateKey = field(repr=False, compare=False)

    @classmethod
    def generate(cls) -> "EthereumKey":
        """Make a new key from the system's randomness."""
        return cls._of(coincurve.PrivateKey())

    @classmethod
    def from_secret(cls, secret: bytes) -> "EthereumKey":
        """The key of 32 bytes, a number from 1 to n - 1. Raises ValueError, which does not show them."""
        if len(secret) != _SCALAR_BYTES or not 0 < int.from_bytes(secret) < GROUP_ORDER_INT:
            raise ValueError("a private key of Ethereum is 32 bytes, a number from 1 to n - 1 of secp256k1")
        return cls._of(coincurve.PrivateKey(secret))

    @classmethod
    def _of(cls, key: coincurve.PrivateKey) -> "EthereumKey":
        return cls(address_of_key(key.public_key), key)

    @property
    def secret(self) -> bytes:
        """The 32 bytes of the private key."""
        return self._key.secret

    def spki(self) -> bytes:
        """The SubjectPublicKeyInfo of the public key in DER (RFC 5480 §2)."""
        return SECP256K1_SPKI + self._key.public_key.format(compressed=False)

    def sign(self, text: bytes) -> bytes:
        """Sign a text: r ‖ s ‖ recovery id (0 or 1), 65 bytes, with the lower s. The same text has the same signature.

        ERC-191 version 0x45, RFC 6979.
        """
        return self._key.sign_recoverable(signed_text_digest(text), hasher=None)


def signer_of(signature: bytes, text: bytes) -> Address | None:
    """The address whose key signed a text; None: these bytes are nobody's signature.

    `signature`: as `EthereumKey.sign` makes it. The higher s is refused: otherwise anybody could make a second
    signature from a given one.
    """
    return signer_of_digest(signature, signed_text_digest(text))


def signer_of_digest(signature: bytes, digest: bytes) -> Address | None:
    """`signer_of` for the `signed_text_digest` of a text, which is made once for all its signatures."""
    if len(signature) != SIGNATURE_BYTES or signature[64] > 1 or has_higher_s(signature):
        return None
    try:
        key = coincurve.PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except ValueError:
        return None
    return address_of_key(key)


def has_higher_s(signature: bytes) -> bool:
    """Whether a signature of 65 bytes has the higher s, and is refused for that alone."""
    return signature[_SCALAR_BYTES:64] > _HIGHEST_S


def address_of_key(key: coincurve.PublicKey) -> Address:
    """The address of a key: the last 20 bytes of the Keccak-256 of the point's coordinates."""
    return address_of_digits(keccak_256(key.format(compressed=False)[1:])[-20:].hex())
