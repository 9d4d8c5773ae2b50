"""Sealed values: texts that only the holder of one X25519 key can open (decision "Encryption").

The specification names the scheme, x25519-chacha20-poly1305, and no details; this is what the reference does. For each
value: a new ephemeral key pair; libsodium's `crypto_kx` with the sender as client and the recipient as server, of which
the client's sending key is used (the second half of BLAKE2b-512 over shared secret, client key and server key);
ChaCha20-Poly1305 (RFC 8439) with a random nonce and no associated data. The plaintext is padded by ISO/IEC 7816-4 to
whole blocks of 2048 bytes, so that the length of a sealed value reveals little.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pybase64
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_ABYTES,
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_kx_client_session_keys,
    crypto_kx_server_session_keys,
)
from nacl.exceptions import CryptoError
from nacl.utils import random as random_bytes

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.crypto.encodings import decode_base64, is_hex
from postroom.crypto.x25519 import KEY_BYTES, EncryptionKey
from postroom.protocols.dm3.reasons import PROFILE_INVALID, SEALED_VALUE_INVALID

SCHEME: Final = "x25519-chacha20-poly1305"
NONCE_BYTES: Final = 12
BLOCK_BYTES: Final = 2048

_START: Final = '{"ciphertext":"'


def seal(
    plaintext: bytes, recipient: bytes, *, ephemeral: EncryptionKey | None = None, nonce: bytes | None = None
) -> str:
    """Encrypt a plaintext to a recipient's public key: a JSON text (decision "Encryption").

    `ephemeral`, `nonce` (12 bytes): fixed in tests; otherwise new, and never used twice. Raises
    TheirError(PROFILE_INVALID) if the recipient's key is not an X25519 key, or one of small order.
    """
    pair = ephemeral or EncryptionKey.generate()
    salt = random_bytes(NONCE_BYTES) if nonce is None else nonce
    if len(recipient) != KEY_BYTES:
        raise TheirError(PROFILE_INVALID, f"the public encryption key has {len(recipient)} bytes, not {KEY_BYTES}")
    try:
        _, session = crypto_kx_client_session_keys(pair.public, pair.private, recipient)
    except CryptoError:
        raise TheirError(PROFILE_INVALID, "the public encryption key is of small order") from None
    ciphertext = crypto_aead_chacha20poly1305_ietf_encrypt(_pad(plaintext), None, salt, session)
    # Written by hand: none of the possible characters needs an escape, and the names are sorted.
    return (
        f'{{"ciphertext":"{pybase64.b64encode_as_string(ciphertext)}",'
        f'"ephemPublicKey":"{pybase64.b64encode_as_string(pair.public)}","nonce":"0x{salt.hex()}"}}'
    )


def open_sealed(text: str, keys: Sequence[EncryptionKey]) -> bytes:
    """Open a sealed value with the key that it was encrypted to (there are several while keys are changed).

    Raises TheirError(SEALED_VALUE_INVALID) for every fault.
    """
    ephemeral, nonce, ciphertext = _read(text)
    for key in keys:
        try:
            session, _ = crypto_kx_server_session_keys(key.public, key.private, ephemeral)
        except CryptoError:
            raise _invalid("ephemPublicKey is of small order") from None
        try:
            padded = crypto_aead_chacha20poly1305_ietf_decrypt(ciphertext, None, nonce, session)
        except CryptoError:
            continue
        return _unpad(padded)
    raise _invalid("it is sealed to another key, or was changed on its way")


def _read(text: str) -> tuple[bytes, bytes, bytes]:
    """The ephemeral key, nonce and ciphertext of a sealed value, each of a valid length."""
    members = _members(text)
    ephemeral, ciphertext = (_bytes_of(members.get(name), name) for name in ("ephemPublicKey", "ciphertext"))
    if len(ephemeral) != KEY_BYTES:
        raise _invalid(f"ephemPublicKey has {len(ephemeral)} bytes, not {KEY_BYTES}")
    blocks, rest = divmod(len(ciphertext) - crypto_aead_chacha20poly1305_ietf_ABYTES, BLOCK_BYTES)
    if blocks < 1 or rest:
        raise _not_padded()
    return ephemeral, _nonce_of(members.get("nonce")), ciphertext


def _members(text: str) -> Mapping[str, object]:
    """The members of a sealed value; invalid JSON fails here, or when the members are decoded."""
    # In the form that `seal` and the reference write: without escapes the strings need no parser.
    if text.startswith(_START) and "\\" not in text:
        end = text.find('"', len(_START))
        match text[end:].split('"', 10):
            case ["", ",", "ephemPublicKey", ":", ephemeral, ",", "nonce", ":", nonce, "}"]:
                return {"ciphertext": text[len(_START) : end], "ephemPublicKey": ephemeral, "nonce": nonce}
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise _invalid("it holds half a surrogate pair") from None
    try:
        value = parse(data, max_bytes=len(data))
    except TheirError as error:
        raise _invalid(error.detail) from None
    if not isinstance(value, dict):
        raise _invalid("it is not a JSON object")
    return value


def _bytes_of(value: object, name: str) -> bytes:
    if not isinstance(value, str):
        raise _invalid(f"{name} is missing or not a string")
    try:
        return decode_base64(value)
    except ValueError:
        raise _invalid(f"{name} is not standard base64 on one line") from None


def _nonce_of(value: object) -> bytes:
    if isinstance(value, str) and value.startswith("0x") and is_hex(value.lower(), NONCE_BYTES):
        return bytes.fromhex(value[2:])
    raise _invalid(f"nonce is not 0x and the hex digits of {NONCE_BYTES} bytes")


def _pad(plaintext: bytes) -> bytes:
    """ISO/IEC 7816-4: the byte 0x80, then zeros to the end of the block."""
    marked = plaintext + b"\x80"
    return marked.ljust(-(-len(marked) // BLOCK_BYTES) * BLOCK_BYTES, b"\0")


def _unpad(padded: bytes) -> bytes:
    # libsodium does this in constant time, for when the padding is secret; here it was authenticated before.
    end = padded.rfind(b"\x80", len(padded) - BLOCK_BYTES)
    if end < 0 or padded[end + 1 :] != bytes(len(padded) - end - 1):
        raise _not_padded()
    return padded[:end]


def _not_padded() -> TheirError:
    return _invalid(f"the plaintext is not padded to a multiple of {BLOCK_BYTES} bytes (ISO/IEC 7816-4)")


def _invalid(detail: str) -> TheirError:
    return TheirError(SEALED_VALUE_INVALID, detail)
