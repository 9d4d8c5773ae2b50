"""Keystores: private keys of Ethereum under a passphrase, in JSON (Web3 Secret Storage Definition, version 3).

The passphrase is stretched to 32 bytes by scrypt or PBKDF2. Their first half encrypts the key by AES-128 in counter
mode, their second half makes the MAC, a Keccak-256.
"""

import hmac
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import keccak_256, read_address
from postroom.crypto.ethereum_keys import EthereumKey

SCRYPT_N: Final = 2**17
"""The work of scrypt for a new keystore: 128 MB of memory and about half a second."""
MAX_SCRYPT_BYTES: Final = 2**29
MAX_SCRYPT_WORK: Final = 2**33
"""Memory, and bytes mixed in all, that somebody else's keystore may ask for; geth's asks for 2**28 and 2**29."""
MAX_PBKDF2_ROUNDS: Final = 10_000_000
_LONGEST: Final = 1024


class KeystoreError(ValueError):
    """The text is no keystore, asks for too much work, or the passphrase is not its. It never shows either."""


def lock(
    key: EthereumKey, passphrase: str, *, salt: bytes, vector: bytes, uuid: str, work: int = SCRYPT_N
) -> JsonValue:
    """The keystore of a key. `salt`: 32 random bytes, `vector`: 16; `uuid`: its id; `work`: N of scrypt.

    Raises KeystoreError if the passphrase is not text.
    """
    derived = Scrypt(salt=salt, length=32, n=work, r=8, p=1).derive(_encoded(passphrase))
    sealed = _crypt(derived, vector, key.secret)
    return {
        "version": 3,
        "id": uuid,
        "address": key.address.lower(),
        "crypto": {
            "cipher": "aes-128-ctr",
            "cipherparams": {"iv": vector.hex()},
            "ciphertext": sealed.hex(),
            "kdf": "scrypt",
            "kdfparams": {"dklen": 32, "n": work, "p": 1, "r": 8, "salt": salt.hex()},
            "mac": _mac(derived, sealed).hex(),
        },
    }


def unlock(keystore: JsonValue, passphrase: str) -> EthereumKey:
    """The key of a keystore. Raises KeystoreError."""
    match keystore:
        case {"version": 3, "crypto": {"cipher": "aes-128-ctr", "cipherparams": {"iv": iv}, **crypto}, **others}:
            pass
        case {"version": 3, "Crypto": {"cipher": "aes-128-ctr", "cipherparams": {"iv": iv}, **crypto}, **others}:
            pass  # geth's first keystores
        case _:
            raise KeystoreError("not a keystore of version 3 with the cipher aes-128-ctr")
    vector, sealed = _bytes(iv, "iv", 16), _bytes(crypto.get("ciphertext"), "ciphertext", 32)
    mac = _bytes(crypto.get("mac"), "mac", 32)
    derived = _stretched(crypto.get("kdf"), crypto.get("kdfparams"), _encoded(passphrase))
    if not hmac.compare_digest(_mac(derived, sealed), mac):
        raise KeystoreError("the passphrase is not that of this keystore")
    try:
        key = EthereumKey.from_secret(_crypt(derived, vector, sealed))
    except ValueError:
        raise KeystoreError("the keystore has no private key of secp256k1") from None
    if (said := others.get("address")) and not (isinstance(said, str) and _is_address(said, key)):
        raise KeystoreError("the address of the keystore is not that of its key")
    return key


def _encoded(passphrase: str) -> bytes:
    """A passphrase in UTF-8. Input that is not UTF-8 has halves of surrogate pairs in Python."""
    try:
        return passphrase.encode()
    except UnicodeEncodeError:
        raise KeystoreError("the passphrase has characters that are not text in UTF-8") from None


def _is_address(said: str, key: EthereumKey) -> bool:
    try:
        return read_address(said) == key.address
    except ValueError:
        return False


def _stretched(function: object, parameters: object, passphrase: bytes) -> bytes:
    match function, parameters:
        case "scrypt", {"dklen": 32, "n": int(n), "r": int(r), "p": int(p), "salt": salt}:
            if n < 2 or n & (n - 1) or r < 1 or p < 1:
                raise KeystoreError("n of scrypt must be a power of 2, and r and p must be positive")
            if n.bit_length() > 16 * r:
                raise KeystoreError("n of scrypt must be less than 2 to the power of 16 r (RFC 7914 §2)")
            if 128 * n * r > MAX_SCRYPT_BYTES or 128 * n * r * p > MAX_SCRYPT_WORK:
                raise KeystoreError("scrypt would take more memory or work than is allowed here")
            return Scrypt(salt=_bytes(salt, "salt"), length=32, n=n, r=r, p=p).derive(passphrase)
        case "pbkdf2", {"dklen": 32, "c": int(rounds), "prf": "hmac-sha256", "salt": salt}:
            if not 0 < rounds <= MAX_PBKDF2_ROUNDS:
                raise KeystoreError(f"PBKDF2 has from 1 to {MAX_PBKDF2_ROUNDS} rounds")
            stretched = PBKDF2HMAC(algorithm=SHA256(), length=32, salt=_bytes(salt, "salt"), iterations=rounds)
            return stretched.derive(passphrase)
        case _:
            raise KeystoreError("the passphrase must be stretched to 32 bytes by scrypt, or by pbkdf2 with hmac-sha256")


def _bytes(value: object, name: str, length: int | None = None) -> bytes:
    try:
        data = bytes.fromhex(value) if isinstance(value, str) and len(value) <= _LONGEST and value.isalnum() else None
    except ValueError:
        data = None
    if data is None or (length is not None and len(data) != length):
        raise KeystoreError(f"{name} must be the hex digits of {length or 'some'} bytes")
    return data


def _crypt(derived: bytes, vector: bytes, data: bytes) -> bytes:
    encryptor = Cipher(AES(derived[:16]), CTR(vector)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def _mac(derived: bytes, sealed: bytes) -> bytes:
    return keccak_256(derived[16:] + sealed)
