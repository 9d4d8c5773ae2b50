"""The keys by which owners sign in: of a dm3 profile, or of any other kind that signs messages here."""

from typing import Protocol

import pybase64

from postroom.core.errors import OurError, TheirError
from postroom.crypto.rsa_ed25519 import public_key_from_spki
from postroom.protocols.dm3.keys import PublicSigningKey

_RAW_LENGTHS = (32, 33, 65)
"""Of Ed25519, and of secp256k1 in its two forms; a SubjectPublicKeyInfo is of another length."""


class OwnerKey(Protocol):
    """A key that verifies."""

    @property
    def fingerprint(self) -> str:
        """ "SHA256:" and base64 of SHA-256 over the SubjectPublicKeyInfo: one key has one, in whatever form it came."""
        ...

    def verify(self, signature: bytes, text: bytes) -> bool:
        """Whether `signature` is this key's, of `text`."""
        ...


def read_owner_key(text: str) -> OwnerKey:
    """A key in base64: the bytes of a dm3 profile's `publicSigningKey` (decision "Signatures"), or a
    SubjectPublicKeyInfo in DER of RSA or Ed25519. Raises OurError: operators and owners set it, and it was read
    then."""
    try:
        data = pybase64.b64decode(text, validate=True)
        return PublicSigningKey.from_bytes(data) if len(data) in _RAW_LENGTHS else public_key_from_spki(data)
    except ValueError:
        raise OurError(f"{text[:20]!r}… is no base64 of a public key") from None
    except TheirError as error:
        raise OurError(f"{text[:20]!r}… is no key that can be signed in with: {error.detail}") from None
