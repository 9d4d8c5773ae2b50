"""Test vectors of dm3: the output of two builds of the reference with fixed keys, and the keys."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey

BUILDS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "dm3.json").read_bytes())[
    "variants"
]
each_build = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)


def encryption_key(pair: dict[str, str]) -> EncryptionKey:
    return EncryptionKey(base64.b64decode(pair["privateKey"]), base64.b64decode(pair["publicKey"]))


def private_signing_key(pair: dict[str, str]) -> PrivateSigningKey:
    return PrivateSigningKey.from_seed(base64.b64decode(pair["privateKey"])[:32])


def public_signing_key(pair: dict[str, str]) -> PublicSigningKey:
    return PublicSigningKey.parse(pair["publicKey"])


def nonce_of(sealed: str) -> bytes:
    return bytes.fromhex(json.loads(sealed)["nonce"][2:])


def changed(value: object) -> Any:
    """Another value, of the same type if possible."""
    match value:
        case dict():
            return {**value, "added": 1}
        case list():
            return [*value, "data:,"]
        case bool() | None:
            return not value
        case int() | float():
            return value + 1
        case _:
            assert isinstance(value, str)
            return value[:-1] + ("b" if value.endswith("a") else "a")


def refused(caught: pytest.ExceptionInfo[TheirError], reason: Reason) -> str:
    """The detail of a refusal, which must have this reason."""
    assert caught.value.reason is reason
    return caught.value.detail
