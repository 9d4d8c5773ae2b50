"""Key pairs of X25519, to which values are encrypted."""

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Final

from nacl.bindings import crypto_kx_keypair, crypto_kx_seed_keypair, crypto_scalarmult_base

from postroom.crypto.encodings import decode_base64

KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """An X25519 key pair, 32 bytes each. Its repr shows the public key only."""

    private: bytes = field(repr=False)
    public: bytes

    @classmethod
    def generate(cls) -> "EncryptionKey":
        """Make a new key from the system's randomness."""
        public, private = crypto_kx_keypair()
        return cls(private, public)

    @classmethod
    def from_seed(cls, seed: bytes) -> "EncryptionKey":
        """Derive the key from 32 bytes of seed, as libsodium's `crypto_kx_seed_keypair` does. Raises ValueError."""
        _check_length(seed, "the seed of an encryption key")
        public, private = crypto_kx_seed_keypair(seed)
        return cls(private, public)

    @classmethod
    def decode(cls, text: str) -> "EncryptionKey":
        """Read what `encode` wrote. Raises ValueError, which does not show the key."""
        return cls.from_private(decode_base64(text))

    @classmethod
    def from_private(cls, private: bytes) -> "EncryptionKey":
        """The key pair of a private key of 32 bytes. Raises ValueError."""
        _check_length(private, "a private encryption key")
        return cls(private, crypto_scalarmult_base(private))

    def encode(self) -> str:
        """The key in the form in which it is stored: base64 of its private key."""
        return b64encode(self.private).decode()


def _check_length(key: bytes, what: str) -> None:
    if len(key) != KEY_BYTES:
        raise ValueError(f"{what} has {len(key)} bytes, not {KEY_BYTES}")
