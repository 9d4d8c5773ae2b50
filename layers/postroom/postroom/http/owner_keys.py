"""The keys with which owners sign in: those of dm3 profiles, or any other kind that signs messages here."""

from typing import Protocol

import pybase64

from postroom.core.errors import OurError, TheirError
from postroom.crypto.ethereum import Address
from postroom.crypto.rsa_ed25519 import public_key_from_spki
from postroom.crypto.spki import SECP256K1_COMPRESSED_SPKI, SECP256K1_SPKI
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
    """Read a key in base64: a dm3 `publicSigningKey` (decision "Signatures"), or a SubjectPublicKeyInfo in DER.

    Raises OurError, because the key was read before it was stored.
    """
    try:
        data = pybase64.b64decode(text, validate=True)
        return PublicSigningKey.from_bytes(data) if len(data) in _RAW_LENGTHS else owner_key_from_spki(data)
    except ValueError:
        raise OurError(f"{text[:20]!r}… is not the base64 of a public key") from None
    except TheirError as error:
        raise OurError(f"{text[:20]!r}… is not a key for signing in: {error.detail}") from None


def owner_key_from_spki(der: bytes) -> OwnerKey:
    """Read the SubjectPublicKeyInfo of an RSA, Ed25519 or secp256k1 key.

    Raises TheirError: KEY_UNUSABLE, KEY_RECORD_INVALID, or PROFILE_INVALID for a point that is not on secp256k1.
    """
    for prefix in (SECP256K1_SPKI, SECP256K1_COMPRESSED_SPKI):
        if der.startswith(prefix):
            return PublicSigningKey.from_bytes(der.removeprefix(prefix))
    return public_key_from_spki(der)


def address_of(key: OwnerKey) -> Address | None:
    """The Ethereum address of a key, by which it is a resource of DCP; None: it is not one of secp256k1."""
    return key.address if isinstance(key, PublicSigningKey) else None
