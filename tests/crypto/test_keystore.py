"""Keystores of Ethereum: those of the reference implementation of DCP, of geth's definition, and what is refused."""

import copy
import secrets
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from tests.crypto.vectors import DCP, SECRETS

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import KeystoreError, lock, unlock

KEY = EthereumKey.from_secret(SECRETS["ones"])
LITTLE_WORK = 2**4
PASSPHRASE = "pässword"


def locked(passphrase: str = PASSPHRASE) -> JsonValue:
    salt, vector = secrets.token_bytes(32), secrets.token_bytes(16)
    return lock(KEY, passphrase, salt=salt, vector=vector, uuid=str(uuid4()), work=LITTLE_WORK)


LOCKED = locked()
PBKDF2: Any = {
    "version": 3,
    "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6",
    "crypto": {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
        "ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
        "kdf": "pbkdf2",
        "kdfparams": {
            "c": 262144, "dklen": 32, "prf": "hmac-sha256",
            "salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
        },
        "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    },
}  # fmt: skip
"""The test vector of the Web3 Secret Storage Definition."""


@pytest.mark.parametrize("case", DCP["keystores"], ids=lambda case: case["passphrase"])
def test_keystores_of_the_reference_are_opened(case: dict[str, Any]) -> None:
    assert unlock(case["json"], case["passphrase"]).secret.hex() == case["private_key"][2:]


def test_a_keystore_with_pbkdf2_and_without_an_address_is_opened() -> None:
    key = unlock(PBKDF2, "testpassword")
    assert key.secret.hex() == "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"


def test_a_new_keystore_is_opened_by_its_passphrase_alone() -> None:
    assert unlock(LOCKED, PASSPHRASE) == KEY
    with pytest.raises(KeystoreError, match="the passphrase is not") as caught:
        unlock(LOCKED, PASSPHRASE.upper())
    assert PASSPHRASE.upper() not in str(caught.value)


def test_a_passphrase_that_is_not_text_is_refused_and_not_shown() -> None:
    for attempt in (lambda text: unlock(LOCKED, text), lambda text: locked(text)):
        with pytest.raises(KeystoreError, match="characters") as caught:
            attempt("p\udcff")
        assert "\\udcff" not in str(caught.value)


def changed(change: Callable[[Any], object]) -> Any:
    keystore = copy.deepcopy(LOCKED)
    change(keystore)
    return keystore


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.update(version=4),
        lambda it: it.update(address="19e7"),
        lambda it: it.update(address=7),
        lambda it: it.update(address="7e5f4552091a69125d5dfcb7b8c2659029395bdf"),
        lambda it: it.pop("crypto"),
        lambda it: it["crypto"].update(cipher="aes-256-gcm"),
        lambda it: it["crypto"].update(ciphertext="00" * 31),
        lambda it: it["crypto"].update(ciphertext="0 " * 64),
        lambda it: it["crypto"].update(mac=None),
        lambda it: it["crypto"].update(mac="00" * 32),
        lambda it: it["crypto"].update(kdf="argon2"),
        lambda it: it["crypto"].update(kdf="pbkdf2"),
        lambda it: it["crypto"].update(kdfparams=[]),
        lambda it: it["crypto"]["kdfparams"].update(n=2**30),
        lambda it: it["crypto"]["kdfparams"].update(n=17),
        lambda it: it["crypto"]["kdfparams"].update(n=0),
        lambda it: it["crypto"]["kdfparams"].update(n=2**16, r=1),
        lambda it: it["crypto"]["kdfparams"].update(r=2**40),
        lambda it: it["crypto"]["kdfparams"].update(p=2**40),
        lambda it: it["crypto"]["kdfparams"].update(p=-1),
        lambda it: it["crypto"]["kdfparams"].update(dklen=16),
        lambda it: it["crypto"]["kdfparams"].update(salt="xyz"),
        lambda it: it["crypto"].update(kdf="pbkdf2", kdfparams={**PBKDF2["crypto"]["kdfparams"], "c": 10**12}),
        lambda it: it["crypto"]["cipherparams"].update(iv="00"),
    ],
)
def test_what_is_no_keystore_or_asks_for_too_much_is_refused_before_any_work(change: Callable[[Any], object]) -> None:
    with pytest.raises(KeystoreError):
        unlock(changed(change), PASSPHRASE)


@pytest.mark.parametrize("value", [None, [], "", 3, {}, {"version": 3, "crypto": None}])
def test_any_other_json_is_refused(value: Any) -> None:
    with pytest.raises(KeystoreError, match="not a keystore"):
        unlock(value, "")
