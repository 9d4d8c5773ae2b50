"""Signing keys: ECDSA over secp256k1, as in the text of dm3, and Ed25519, as in its reference.

A public key's length says which it is (decision "Signatures"). Ed25519 signs the text itself; secp256k1 signs its
SHA-256, in the compact form r ‖ s of 64 bytes with the lower s. Verification also accepts DER, and refuses the higher s
(libsecp256k1 does), so that nobody can make a second signature from a given one. libsodium verifies Ed25519, and keys
outside the prime-order group are refused: with such a key one "signature" fits every text.
"""

import hashlib
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import coincurve
from coincurve.ecdsa import cdata_to_der, deserialize_compact
from coincurve.utils import GROUP_ORDER_INT
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.encodings import decode_base64, is_hex
from postroom.crypto.ethereum import Address, checksum_address
from postroom.crypto.ethereum_keys import EthereumKey, address_of_key
from postroom.crypto.spki import ED25519_SPKI, SECP256K1_SPKI, fingerprint
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.reasons import PROFILE_INVALID

Algorithm: TypeAlias = Literal["secp256k1", "ed25519"]

_WALLET_SIGNATURE_BYTES: Final = 65


@dataclass(frozen=True, slots=True)
class PublicSigningKey:
    """A key that verifies. Compared by value: both forms of one secp256k1 key are the same key."""

    algorithm: Algorithm
    fingerprint: str
    """"SHA256:" and the base64, without padding, of SHA-256 of the SubjectPublicKeyInfo in DER."""
    _published: bytes = field(repr=False, compare=False)
    _key: coincurve.PublicKey | VerifyKey = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> "PublicSigningKey":
        """Read the key of a profile: base64 of 33 or 65 bytes (secp256k1, SEC 1 §2.3.3) or 32 (Ed25519).

        Raises TheirError(PROFILE_INVALID).
        """
        try:
            raw = decode_base64(text)
        except ValueError:
            raise _unusable("is not standard base64 on one line") from None
        return cls.from_bytes(raw)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "PublicSigningKey":
        """The key of these bytes, as in `parse`. Raises TheirError(PROFILE_INVALID)."""
        if len(raw) == 32:
            if not crypto_core_ed25519_is_valid_point(raw):
                raise _unusable("is not a point of Ed25519's prime-order group")
            return cls("ed25519", fingerprint(ED25519_SPKI + raw), raw, VerifyKey(raw))
        # A first byte of 6 or 7 is the hybrid form, which is not used.
        if (len(raw) == 33 and raw[0] in (2, 3)) or (len(raw) == 65 and raw[0] == 4):
            try:
                key = coincurve.PublicKey(raw)
            except ValueError:
                raise _unusable("is not a point of secp256k1") from None
            return cls("secp256k1", fingerprint(SECP256K1_SPKI + key.format(compressed=False)), raw, key)
        raise _unusable(f"has {len(raw)} bytes; it is 33 or 65 of secp256k1 (SEC 1 §2.3.3) or 32 of Ed25519")

    @property
    def address(self) -> Address | None:
        """The Ethereum address of the key; None: it is not one of secp256k1."""
        return address_of_key(self._key) if isinstance(self._key, coincurve.PublicKey) else None

    def encode(self) -> str:
        """The key as in profiles: base64 of the bytes that it was read from."""
        return b64encode(self._published).decode()

    def verify(self, signature: bytes, text: bytes) -> bool:
        """Whether `signature` (raw bytes) is this key's, of `text`; malformed bytes are not."""
        try:
            if isinstance(self._key, VerifyKey):
                if len(signature) != 64:
                    return False
                self._key.verify(text, signature)
                return True
            # coincurve only verifies DER.
            der = cdata_to_der(deserialize_compact(signature)) if len(signature) == 64 else signature
            return self._key.verify(der, text)
        except (BadSignatureError, ValueError):  # ValueError: neither DER nor the compact form
            return False

    def has_higher_s(self, signature: bytes) -> bool:
        """Whether `signature` is refused for its form alone: another one, of the same r and the lower s, may verify."""
        if self.algorithm != "secp256k1":
            return False
        try:
            s = int.from_bytes(signature[32:]) if len(signature) == 64 else decode_dss_signature(signature)[1]
        except ValueError:
            return False
        return s > GROUP_ORDER_INT // 2


@dataclass(frozen=True, slots=True)
class PrivateSigningKey:
    """A key that signs. Neither its repr nor any error shows it."""

    public: PublicSigningKey
    _key: coincurve.PrivateKey | SigningKey = field(repr=False, compare=False)

    @classmethod
    def generate(cls, algorithm: str = "secp256k1") -> "PrivateSigningKey":
        """Make a new key from the system's randomness. Raises ValueError for another algorithm."""
        if algorithm == "secp256k1":
            return cls._of(coincurve.PrivateKey())
        if algorithm == "ed25519":
            return cls._of(SigningKey.generate())
        raise ValueError(f"keys sign by secp256k1 or ed25519, not by {algorithm}")

    @classmethod
    def from_seed(cls, seed: bytes) -> "PrivateSigningKey":
        """The Ed25519 key of 32 bytes of seed (RFC 8032 §5.1.5). Raises ValueError."""
        return cls._of(SigningKey(_of_32_bytes(seed)))

    @classmethod
    def decode(cls, text: str) -> "PrivateSigningKey":
        """Read what `encode` wrote. Raises ValueError, which does not show the key."""
        algorithm, _, secret = text.partition(":")
        if algorithm not in ("secp256k1", "ed25519"):
            raise ValueError("a private signing key begins with secp256k1: or ed25519:")
        try:
            raw = _of_32_bytes(decode_base64(secret))
            return cls._of(coincurve.PrivateKey(raw) if algorithm == "secp256k1" else SigningKey(raw))
        except ValueError:
            raise ValueError(f"after {algorithm}: stands no base64 of a private key of 32 bytes") from None

    @classmethod
    def _of(cls, key: coincurve.PrivateKey | SigningKey) -> "PrivateSigningKey":
        public = bytes(key.verify_key) if isinstance(key, SigningKey) else key.public_key.format()
        return cls(PublicSigningKey.from_bytes(public), key)

    def encode(self) -> str:
        """The key in the form in which it is stored: its algorithm, a colon, base64 of the 32 bytes of its secret."""
        secret = bytes(self._key) if isinstance(self._key, SigningKey) else self._key.secret
        return f"{self.public.algorithm}:{b64encode(secret).decode()}"

    @property
    def ethereum_key(self) -> EthereumKey | None:
        """The same key as that of an Ethereum account; None: it is not one of secp256k1."""
        return None if isinstance(self._key, SigningKey) else EthereumKey.from_secret(self._key.secret)

    def sign(self, text: bytes) -> bytes:
        """Sign a text: 64 bytes, compact r ‖ s with the lower s, or Ed25519's.

        The same text always has the same signature (RFC 6979, RFC 8032): the keys of an archive depend on it.
        """
        if isinstance(self._key, SigningKey):
            return self._key.sign(text).signature
        return self._key.sign_recoverable(text)[:64]  # r, s, without the byte for recovering the key


@dataclass(frozen=True, slots=True)
class UserKeys:
    """The keys of a dm3 user: one that signs, and one that messages are encrypted to."""

    signing: PrivateSigningKey
    encryption: EncryptionKey

    @classmethod
    def random(cls, algorithm: str = "secp256k1") -> "UserKeys":
        """Make new keys from the system's randomness. Raises ValueError for another algorithm."""
        return cls(PrivateSigningKey.generate(algorithm), EncryptionKey.generate())

    @classmethod
    def from_wallet_signature(cls, signature: str) -> "UserKeys":
        """Derive both keys from a wallet's signature of `wallet_message`, as the reference does: Ed25519 and X25519.

        `signature`: 0x and the hex of 65 bytes. The seed of both is SHA-256 of this text in lower case. Everybody who
        sees the signature has the keys. Raises ValueError.
        """
        text = signature.lower()
        if not is_hex(text, _WALLET_SIGNATURE_BYTES):
            raise ValueError(f"a wallet's signature is 0x and the hex digits of {_WALLET_SIGNATURE_BYTES} bytes")
        seed = hashlib.sha256(text.encode()).digest()
        return cls(PrivateSigningKey.from_seed(seed), EncryptionKey.from_seed(seed))

    def as_json(self) -> dict[str, JsonValue]:
        """The keys in the form in which they are stored: {"signing", "encryption"}."""
        return {"signing": self.signing.encode(), "encryption": self.encryption.encode()}


def read_user_keys(value: JsonValue) -> UserKeys:
    """Read what `UserKeys.as_json` wrote. Raises ValueError, which does not show the keys."""
    match value:
        case {"signing": str(signing), "encryption": str(encryption)}:
            pass
        case _:
            raise ValueError("a user's keys are an object with the members signing and encryption, both strings")
    try:
        key = EncryptionKey.decode(encryption)
    except ValueError:
        raise ValueError("encryption must be the base64 of a private key of 32 bytes") from None
    return UserKeys(PrivateSigningKey.decode(signing), key)


def wallet_message(address: str, nonce: str) -> str:
    """The text that a wallet signs to derive keys; it must be exactly that of the reference.

    `address`: 0x and 40 hex digits; written in the upper and lower case of ERC-55, which is checked if it has both.
    Raises ValueError.
    """
    return (
        "dm3.chat wants you to sign in with your Ethereum account:\n"
        f"{checksum_address(address)}\n\n"
        "Connect the DM3 MESSENGER with your wallet. Keys for secure communication are derived from this signature."
        "\n\n(There is no paid transaction initiated. The signature is used off-chain only.)\n\n"
        f"URI: https://dm3.chat\nVersion: 1\nNonce: {nonce}"
    )


def _of_32_bytes(secret: bytes) -> bytes:
    if len(secret) != 32:
        raise ValueError(f"a private signing key has 32 bytes, this one {len(secret)}")
    return secret


def _unusable(what: str) -> TheirError:
    return TheirError(PROFILE_INVALID, f"publicSigningKey {what}")
