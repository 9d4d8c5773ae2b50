"""Sealing containers: decision "Containers"."""

import hmac
import os
import pickle

import nacl.exceptions
import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from postroom.api.mailbox_names import read_mailbox_name
from postroom.client.challenge import ChallengeError, check_challenge
from postroom.core.errors import TheirError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey

SECRET = bytes(range(32))
KEY, OTHER = "0x" + "ab" * 32, "0x" + "cd" * 32
NONCE = bytes(range(12))


@given(st.binary(max_size=3000))
def test_a_container_is_sealed_by_chacha20_poly1305_with_its_key_as_associated_data(text: bytes) -> None:
    sealed = StorageKey(SECRET).seal(text, KEY, NONCE)
    assert sealed == NONCE + ChaCha20Poly1305(SECRET).encrypt(NONCE, text, KEY.encode())
    assert StorageKey(SECRET).open(sealed, KEY) == text


def test_a_container_cannot_replace_another() -> None:
    sealed = StorageKey(SECRET).seal(b"text", KEY, NONCE)
    with pytest.raises(ContainerError, match=OTHER):
        StorageKey(SECRET).open(sealed, OTHER)


def test_another_storage_key_opens_nothing() -> None:
    sealed = StorageKey(SECRET).seal(b"text", KEY, NONCE)
    with pytest.raises(ContainerError, match="sealed with another storage key"):
        StorageKey(bytes(32)).open(sealed, KEY)


@pytest.mark.parametrize("at", [0, 11, 12, 16, -1])
def test_a_changed_byte_is_detected(at: int) -> None:
    sealed = bytearray(StorageKey(SECRET).seal(b"text", KEY, NONCE))
    sealed[at] ^= 1
    with pytest.raises(ContainerError):
        StorageKey(SECRET).open(bytes(sealed), KEY)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_refused_and_nothing_else_happens(sealed: bytes) -> None:
    with pytest.raises(ContainerError):
        StorageKey(os.urandom(32)).open(sealed, KEY)


def test_a_storage_key_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="this one 31"):
        StorageKey(bytes(31))


def test_neither_repr_nor_error_shows_the_key() -> None:
    key = StorageKey(SECRET)
    assert "\\x01" not in repr(key)
    with pytest.raises(ContainerError) as caught:
        key.open(b"", KEY)
    assert "\\x01" not in str(caught.value)


def test_a_nonce_has_twelve_bytes() -> None:
    with pytest.raises(nacl.exceptions.CryptoError, match="12 bytes"):
        StorageKey(SECRET).seal(b"", KEY, bytes(11))


def test_a_storage_key_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(StorageKey(SECRET))) == StorageKey(SECRET)


def test_the_key_is_derived_from_a_deterministic_signature() -> None:
    """HKDF-SHA256 (RFC 5869), worked out by hand: extract with no salt, one round of expand."""
    for key in (PrivateSigningKey.generate(), PrivateSigningKey.generate("ed25519"), PrivateKey.generate("rsa")):
        signature = key.sign(KEY_TEXT)
        assert StorageKey.from_signature(signature) == StorageKey.from_signature(key.sign(KEY_TEXT))
        extracted = hmac.digest(bytes(32), signature, "sha256")
        assert StorageKey.from_signature(signature).secret == hmac.digest(
            extracted, b"postroom archive 1\x01", "sha256"
        )


def test_the_text_signed_for_the_key_is_signed_for_nothing_else() -> None:
    """Messages are JSON objects, challenges are JSON Web Tokens, roots are made of names."""
    text = KEY_TEXT.decode()
    assert not text.startswith("{")
    with pytest.raises(ChallengeError):
        check_challenge(text, "host.example", "bob.eth")
    with pytest.raises(TheirError):
        read_mailbox_name(text)
