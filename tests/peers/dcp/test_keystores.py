"""Keystores that the reference writes, opened by us, and ours opened by it."""

import secrets
from uuid import uuid4

import pytest
from tests.peers.answering import RefusedError
from tests.peers.node import Reference

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import KeystoreError, lock, unlock

KEY = EthereumKey.from_secret(b"\x09" * 32)
PASSPHRASES = pytest.mark.parametrize("passphrase", ["", "grüße 👋", "x" * 300], ids=["none", "unicode", "long"])


def ours(passphrase: str) -> JsonValue:
    """A keystore by little work, because the reference's scrypt is slow."""
    return lock(
        KEY, passphrase, salt=secrets.token_bytes(32), vector=secrets.token_bytes(16), uuid=str(uuid4()), work=1024
    )


@PASSPHRASES
def test_we_open_its_keystores(reference: Reference, passphrase: str) -> None:
    assert unlock(reference.call("keystore.write", KEY.secret.hex(), passphrase), passphrase) == KEY


@PASSPHRASES
def test_it_opens_our_keystores(reference: Reference, passphrase: str) -> None:
    assert reference.call("keystore.open", ours(passphrase), passphrase) == f"0x{KEY.secret.hex()}"


def test_another_passphrase_opens_neither(reference: Reference) -> None:
    with pytest.raises(KeystoreError, match="not that of this keystore"):
        unlock(reference.call("keystore.write", KEY.secret.hex(), "right"), "wrong")
    with pytest.raises(RefusedError, match="Could not unlock keystore"):
        reference.call("keystore.open", ours("right"), "wrong")
