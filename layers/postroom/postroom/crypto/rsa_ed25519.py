"""Signing and verifying keys: RSA (PKCS#1 v1.5 with SHA-256) and Ed25519 (over the text, never its digest).

A stranger's key is read here by a few lines of our own, and checked before any library sees it: general loaders accept
RSA-PSS keys as plain RSA, moduli of 64,000 bits and Ed25519 points of small order. Because of the last, libsodium
verifies Ed25519: with such a key, one "signature" fits every text.

A key is loaded once and then only used. Both classes are values, compared by content, and safe to cache.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    RSAPublicKey,
    RSAPublicNumbers,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from postroom.core.errors import OurError, TheirError
from postroom.crypto.pem import load_pem
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.spki import ED25519_SPKI, fingerprint

Algorithm: TypeAlias = Literal["rsa", "ed25519"]

_PADDING, _HASH = PKCS1v15(), SHA256()
_HASHED = Prehashed(_HASH)
_RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d0101010500")  # RFC 3279 §2.3.1: the identifier, and NULL
_SEQUENCE, _INTEGER, _BIT_STRING, _OBJECT_IDENTIFIER = 0x30, 0x02, 0x03, 0x06

MIN_RSA_BITS, MIN_RSA_BITS_BY_RULE = 2048, 1024
MAX_RSA_BITS = 8192
"""The time of a check grows with the square of the length: at 8192 bits sixteen times as long as at 2048."""
MAX_RSA_EXPONENT = 2**32 - 1
"""All in use are 65537 or smaller; an exponent as long as the modulus makes a check as slow as a signature."""
MAX_DER_BYTES = 2048
"""The longest key; RSA with 8192 bits has 1,058."""


@dataclass(frozen=True, slots=True)
class KeyRules:
    """The deployment's setting: RSA keys from 1024 instead of 2048 bits on (RFC 8301 §3.2 advises against it)."""

    allow_rsa_1024: bool = False


DEFAULT_RULES = KeyRules()


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies: made by `public_key_from_spki`, `public_key_from_pkcs1` or `ed25519_from_raw`."""

    algorithm: Algorithm
    bits: int
    """Of the modulus; 256 for Ed25519."""
    fingerprint: str
    """"SHA256:" and the base64, without padding, of SHA-256 over the SubjectPublicKeyInfo in DER."""
    _spki: bytes = field(repr=False)
    _key: RSAPublicKey | VerifyKey = field(repr=False, compare=False)

    def spki(self) -> bytes:
        """Return the SubjectPublicKeyInfo in DER (RFC 5280 §4.1)."""
        return self._spki

    def verify(self, signature: bytes, text: bytes, sha256: bytes | None = None) -> bool:
        """Whether `signature` (raw bytes) is this key's, of `text`; malformed bytes are not.

        `sha256`: the digest of that text, if the caller has it: RSA then need not hash it again.
        """
        key = self._key
        try:
            if isinstance(key, VerifyKey):
                if len(signature) != 64:
                    return False
                key.verify(text, signature)
            elif sha256 is None:
                key.verify(signature, text, _PADDING, _HASH)
            else:
                key.verify(signature, sha256, _PADDING, _HASHED)
        except (InvalidSignature, BadSignatureError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that signs. Neither its repr nor any error shows it."""

    public: PublicKey
    _key: RSAPrivateKey | SigningKey = field(repr=False, compare=False)

    @classmethod
    def generate(cls, algorithm: Algorithm) -> "PrivateKey":
        """Make a new key from the system's randomness: RSA of 2048 bits, or Ed25519."""
        if algorithm == "ed25519":
            return cls._of(SigningKey.generate())
        return cls._of(generate_private_key(public_exponent=65537, key_size=2048))

    @classmethod
    def from_pem(
        cls, pem: bytes, rules: KeyRules = DEFAULT_RULES, *, passphrase: Callable[[], str] = lambda: ""
    ) -> "PrivateKey":
        """Load a PEM, PKCS#8 or PKCS#1. `passphrase` is called if it is encrypted; empty: there is none.

        Raises OurError, because it is our own key.
        """
        key = load_pem(pem, passphrase)
        if isinstance(key, Ed25519PrivateKey):
            return cls._of(SigningKey(key.private_bytes_raw()))
        if not isinstance(key, RSAPrivateKey):
            raise OurError("the private key is neither RSA nor Ed25519")
        try:
            return cls._of(key, rules)
        except TheirError as error:
            raise OurError(f"the private key would be refused by receivers: {error.detail}") from error

    @classmethod
    def _of(cls, key: RSAPrivateKey | SigningKey, rules: KeyRules = DEFAULT_RULES) -> "PrivateKey":
        if isinstance(key, SigningKey):
            return cls(ed25519_from_raw(bytes(key.verify_key)), key)
        numbers = key.public_key().public_numbers()
        return cls(_rsa_key(numbers.n, numbers.e, rules), key)

    def to_pem(self) -> bytes:
        """Write the key as PKCS#8 in PEM, unencrypted: for a secret store, never for a repository."""
        key = self._key
        if isinstance(key, SigningKey):
            key_to_write: Ed25519PrivateKey | RSAPrivateKey = Ed25519PrivateKey.from_private_bytes(bytes(key))
        else:
            key_to_write = key
        return key_to_write.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, text: bytes) -> bytes:
        """Sign the text itself: the raw signature, 64 bytes for Ed25519, the modulus' length for RSA."""
        if isinstance(self._key, SigningKey):
            return self._key.sign(text).signature
        return self._key.sign(text, _PADDING, _HASH)


def public_key_from_spki(der: bytes, rules: KeyRules = DEFAULT_RULES) -> PublicKey:
    """Read a SubjectPublicKeyInfo in DER. Raises TheirError: KeyUnusable, or KeyRecordInvalid if it is not one.

    RSA only as rsaEncryption (RFC 3279 §2.3.1), so no PSS keys; Ed25519 as in RFC 8410.
    """
    _check_size(der)
    if der.startswith(ED25519_SPKI):
        return ed25519_from_raw(der[len(ED25519_SPKI) :])
    algorithm, bits = _sequence_of_two(der, _SEQUENCE, _BIT_STRING)
    if not algorithm.startswith(bytes([_OBJECT_IDENTIFIER])) or not bits.startswith(b"\0"):
        _malformed()
    if algorithm != _RSA_ENCRYPTION:
        raise TheirError(KEY_UNUSABLE, "the key's kind is neither rsaEncryption nor Ed25519")
    key = public_key_from_pkcs1(bits[1:], rules)
    if key.spki() != der:
        _malformed()
    return key


def public_key_from_pkcs1(der: bytes, rules: KeyRules = DEFAULT_RULES) -> PublicKey:
    """Read a bare RSAPublicKey in DER (RFC 8017 A.1.1). Raises TheirError as `public_key_from_spki` does."""
    _check_size(der)
    modulus, exponent = (int.from_bytes(number, signed=True) for number in _sequence_of_two(der, _INTEGER, _INTEGER))
    key = _rsa_key(modulus, exponent, rules)
    if not key.spki().endswith(der):  # one key, one encoding: the shortest
        _malformed()
    return key


def ed25519_from_raw(raw: bytes) -> PublicKey:
    """The Ed25519 public key of 32 bytes (RFC 8032 §5.1.5). Raises TheirError: KeyUnusable.

    Points are refused that are not on the curve, not in canonical form, of small order, or have a component of small
    order: no honestly made key is any of these.
    """
    if len(raw) != 32:
        raise TheirError(KEY_RECORD_INVALID, f"an Ed25519 key has 32 bytes, this one {len(raw)}")
    if not crypto_core_ed25519_is_valid_point(raw):
        raise TheirError(KEY_UNUSABLE, "the Ed25519 key is not a point of the prime-order group")
    return _public("ed25519", 256, ED25519_SPKI + raw, VerifyKey(raw))


def _rsa_key(modulus: int, exponent: int, rules: KeyRules) -> PublicKey:
    least = MIN_RSA_BITS_BY_RULE if rules.allow_rsa_1024 else MIN_RSA_BITS
    bits = modulus.bit_length()
    if modulus <= 0 or not least <= bits <= MAX_RSA_BITS:
        raise TheirError(KEY_UNUSABLE, f"the RSA key has {bits} bits; {least} to {MAX_RSA_BITS} are accepted")
    if modulus % 2 == 0:
        raise TheirError(KEY_UNUSABLE, "the RSA key's modulus is even")
    if not 3 <= exponent <= MAX_RSA_EXPONENT or exponent % 2 == 0:
        raise TheirError(KEY_UNUSABLE, "the RSA key's exponent is not odd, at least 3 and below 2^32")
    key = RSAPublicNumbers(exponent, modulus).public_key()
    return _public("rsa", bits, key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), key)


def _public(algorithm: Algorithm, bits: int, spki: bytes, key: RSAPublicKey | VerifyKey) -> PublicKey:
    return PublicKey(algorithm, bits, fingerprint(spki), spki, key)


def _check_size(der: bytes) -> None:
    if len(der) > MAX_DER_BYTES:
        raise TheirError(KEY_UNUSABLE, f"the key takes {len(der)} bytes; none accepted takes so many")


def _sequence_of_two(der: bytes, first_tag: int, second_tag: int) -> tuple[bytes, bytes]:
    inside, after = _element(der, _SEQUENCE)
    first, rest = _element(inside, first_tag)
    second, end = _element(rest, second_tag)
    if after or end:
        _malformed()
    return first, second


def _element(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """Split off one DER element of this tag (X.690 §8.1): its content, and what follows it."""
    if len(der) < 2 or der[0] != tag:
        _malformed()
    start, length = 2, der[1]
    if length >= 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start])
    if length > len(der) - start:
        _malformed()
    return der[start : start + length], der[start + length :]


def _malformed() -> NoReturn:
    raise TheirError(KEY_RECORD_INVALID, "the key must be a SubjectPublicKeyInfo or an RSAPublicKey in DER")
