"""Storage keys, which encrypt containers (dm3 §3.2.1; decision "Containers"): ChaCha20-Poly1305 of RFC 8439.

A sealed container is its nonce and the ciphertext. The container's key is authenticated with it, so no container can be
put in the place of another. Whoever stores it can only return an older state of it.
"""

from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.bindings import crypto_aead_chacha20poly1305_ietf_decrypt, crypto_aead_chacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from postroom.crypto.x25519 import KEY_BYTES
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.sealing import NONCE_BYTES

KEY_TEXT: Final = b"The storage key of my postroom archive. Nobody but me may see this signature."
"""The text that is signed to derive the key.

Nothing else that is signed with such keys, JSON or tokens, looks like it.
"""


@dataclass(frozen=True, slots=True)
class StorageKey:
    """A key of 32 bytes. Neither its repr nor any error shows it. Raises ValueError for another length."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Check the length."""
        if len(self.secret) != KEY_BYTES:
            raise ValueError(f"a storage key has {KEY_BYTES} bytes, this one {len(self.secret)}")

    @classmethod
    def from_signature(cls, signature: bytes) -> "StorageKey":
        """The key derived from a signature of KEY_TEXT, by a key that always signs alike: HKDF-SHA256 (RFC 5869).

        So every device with the signing key has this one, and the owner has one file to keep.
        """
        derived = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"postroom archive 1")
        return cls(derived.derive(signature))

    def seal(self, text: bytes, key: str, nonce: bytes) -> bytes:
        """Encrypt the text of the container `key`. `nonce`: 12 bytes, random, never used twice."""
        return nonce + crypto_aead_chacha20poly1305_ietf_encrypt(text, key.encode(), nonce, self.secret)

    def open(self, sealed: bytes, key: str) -> bytes:
        """Decrypt what `seal` encrypted for the container `key`. Raises ContainerError."""
        nonce, ciphertext = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return crypto_aead_chacha20poly1305_ietf_decrypt(ciphertext, key.encode(), nonce, self.secret)
        except (CryptoError, ValueError):  # ValueError: it is shorter than a tag
            raise ContainerError(key, "is sealed with another storage key, was changed, or is another one") from None
