"""The keys with which owners sign in: those of dm3 profiles, or any other kind that signs messages here."""

from typing import Protocol

import pybase64

from postroom.core.errors import OurError, TheirError
from postroom.crypto.rsa_ed25519 import public_key_from_spki
from postroom.protocols.dm3.keys import PublicSigningKey

_RAW_LENGTHS = (32, 33, 65)
"""The lengths of Ed25519 keys, and of secp256k1 keys in both forms. A SubjectPublicKeyInfo never has one of them."""


class OwnerKey(Protocol):
    """A key that verifies signatures."""

    @property
    def fingerprint(self) -> str:
        """ "SHA256:" and the base64 of SHA-256 of the SubjectPublicKeyInfo: the same for every form of a key."""
        ...

    def verify(self, signature: bytes, text: bytes) -> bool:
        """Whether `signature` is by this key, and of `text`."""
        ...


def read_owner_key(text: str) -> OwnerKey:
    """Read a key in base64: a dm3 `publicSigningKey` (decision "Signatures"), or the SubjectPublicKeyInfo of RSA or
    Ed25519.

    A SubjectPublicKeyInfo is in DER. Raises OurError, because the key was read before it was stored.
    """
    try:
        data = pybase64.b64decode(text, validate=True)
        return PublicSigningKey.from_bytes(data) if len(data) in _RAW_LENGTHS else public_key_from_spki(data)
    except ValueError:
        raise OurError(f"{text[:20]!r}… is not the base64 of a public key") from None
    except TheirError as error:
        raise OurError(f"{text[:20]!r}… is not a key for signing in: {error.detail}") from None
