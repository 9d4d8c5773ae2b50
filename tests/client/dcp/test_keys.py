"""Keys from files: keystores, PEM, and those of dm3 users; no error shows one."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, SECP256R1, derive_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.protocols.dcp.known import KEYS

from postroom.client.dcp import load_ethereum_key
from postroom.core.errors import OurError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys

KEY = KEYS["ones"]
SCALAR = int.from_bytes(KEY.secret)
Write = Callable[[bytes | str], Path]


def pem(form: PrivateFormat, passphrase: str = "") -> bytes:
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return derive_private_key(SCALAR, SECP256K1()).private_bytes(Encoding.PEM, form, encryption)


def user_keys(signing: PrivateSigningKey) -> str:
    return json.dumps(UserKeys(signing, UserKeys.random().encryption).as_json())


OF_USER = user_keys(PrivateSigningKey.decode(f"secp256k1:{b64encode(KEY.secret).decode()}"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(data: bytes | str) -> Path:
        file = tmp_path / "key"
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return file

    return written


@pytest.mark.parametrize(
    "data",
    [keystore_of(KEY), pem(PrivateFormat.PKCS8), pem(PrivateFormat.TraditionalOpenSSL), OF_USER,
     pem(PrivateFormat.PKCS8, PASSPHRASE)],
    ids=["keystore", "PKCS#8", "SEC 1", "dm3 user", "encrypted PKCS#8"],
)  # fmt: skip
def test_a_key_is_read_from_each_kind_of_file(write: Write, data: bytes | str) -> None:
    key = load_ethereum_key(write(data), lambda: PASSPHRASE)
    assert (key, key.secret) == (KEY, KEY.secret)


def test_the_passphrase_is_in_the_environment(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(keystore_of(KEY))
    monkeypatch.delenv("POSTROOM_KEY_PASSPHRASE", raising=False)
    with pytest.raises(OurError, match="set POSTROOM_KEY_PASSPHRASE"):
        load_ethereum_key(file)
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)
    assert load_ethereum_key(file) == KEY


def test_an_empty_passphrase_is_one_because_the_references_keystores_have_it(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", "")
    assert load_ethereum_key(write(keystore_of(KEY, ""))) == KEY


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("junk", "the private key must be a PEM file"),
        ("{junk", "it has no key: it is neither JSON nor PEM"),
        ("{}", "it is neither a keystore of version 3 nor what `postroom dm3 keygen` writes"),
        (OF_USER.replace("secp256k1:", "secp256k1:!"), "it is neither a keystore of version 3 nor what"),
        ('{"version": 1}', "not a keystore of version 3"),
        (keystore_of(KEY, "another"), "the passphrase is not that of this keystore"),
        (pem(PrivateFormat.PKCS8, "another"), "encrypted with another passphrase"),
        (user_keys(PrivateSigningKey.generate("ed25519")), "an Ed25519 key; DCP needs one of secp256k1"),
        (PrivateKey.generate("ed25519").to_pem(), "not one of secp256k1"),
        (
            derive_private_key(SCALAR, SECP256R1()).private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
            ),
            "not one of secp256k1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 80 else "",
)  # fmt: skip
def test_a_file_without_such_a_key_is_refused_with_its_name(write: Write, data: bytes | str, sentence: str) -> None:
    file = write(data)
    with pytest.raises(OurError) as caught:
        load_ethereum_key(file, lambda: PASSPHRASE)
    assert str(caught.value).startswith(f"{file}: ")
    assert sentence in str(caught.value)
    assert PASSPHRASE not in str(caught.value)


def test_the_public_key_is_a_subject_public_key_info() -> None:
    public = derive_private_key(SCALAR, SECP256K1()).public_key()
    assert KEY.spki() == public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
