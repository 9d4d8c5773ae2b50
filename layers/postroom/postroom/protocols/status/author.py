"""Authors of payloads: who signed one, and signing (6/PAYLOADS: Payload wrapper).

The signature is of the Keccak-256 of the payload, which the text calls SHA3-256, without a prefix: r ‖ s ‖ recovery id.
A wrapper has no public key in it. Every signature that can be recovered has some author.
"""

from dataclasses import dataclass, field
from typing import Final

import coincurve
from coincurve.utils import GROUP_ORDER_INT

from postroom.core.errors import TheirError
from postroom.crypto.ethereum import keccak_256
from postroom.crypto.ethereum_keys import SIGNATURE_BYTES
from postroom.protocols.status.keys import ChatKey, chat_key_of
from postroom.protocols.status.reasons import AUTHOR_SIGNATURE_INVALID

_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class AuthorKey:
    """A user's private key. Neither its repr nor any error shows it."""

    public: ChatKey
    _key: coincurve.PrivateKey = field(repr=False, compare=False)

    @classmethod
    def from_secret(cls, secret: bytes) -> "AuthorKey":
        """The key of 32 bytes. Raises ValueError, which does not show them."""
        # The library takes fewer bytes, too.
        if len(secret) != _SECRET_BYTES or not 0 < int.from_bytes(secret) < GROUP_ORDER_INT:
            raise ValueError("a private key is 32 bytes, a number from 1 to n - 1 of secp256k1")
        key = coincurve.PrivateKey(secret)
        return cls(chat_key_of(key.public_key.format(compressed=False)), key)

    def sign(self, data: bytes) -> bytes:
        """Sign a payload, or a group's ID and an event: 65 bytes, the last 0 or 1, with the lower s (RFC 6979)."""
        return self._key.sign_recoverable(keccak_256(data), hasher=None)


def author_of(signature: bytes, data: bytes) -> ChatKey:
    """The key that made a signature of a payload. Raises TheirError(AUTHOR_SIGNATURE_INVALID).

    The higher s is accepted, as Status's clients do (`has_higher_s` in `postroom.crypto.ethereum_keys`).
    """
    if len(signature) != SIGNATURE_BYTES:
        raise TheirError(AUTHOR_SIGNATURE_INVALID, f"it has {len(signature)} bytes, not {SIGNATURE_BYTES}")
    if signature[64] > 1:
        raise TheirError(AUTHOR_SIGNATURE_INVALID, f"its recovery id is {signature[64]}, not 0 or 1")
    try:
        key = coincurve.PublicKey.from_signature_and_message(signature, keccak_256(data), hasher=None)
    except ValueError:
        raise TheirError(AUTHOR_SIGNATURE_INVALID, "no key can have made it") from None
    # The library's own point: no need to check that it is on the curve.
    return ChatKey(f"0x{key.format(compressed=False).hex()}")
