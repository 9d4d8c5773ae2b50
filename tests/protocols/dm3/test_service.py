"""The delivery service's keys and its profile (dm3 §2.1.2)."""

import json

import pytest

from postroom.protocols.dm3.profile import read_service_profile
from postroom.protocols.dm3.service import ServiceKeys, read_service_keys


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_keys_are_read_as_they_were_written(algorithm: str) -> None:
    keys = ServiceKeys.generate(algorithm).rotated()
    again = read_service_keys(json.loads(json.dumps(keys.as_json())))
    assert again == keys
    assert keys.signing.public.verify(again.signing.sign(b"text"), b"text")


def test_the_newest_encryption_key_is_published_and_older_ones_are_kept() -> None:
    first = ServiceKeys.generate()
    second = first.rotated()
    assert second.encryption[1:] == first.encryption
    assert second.signing == first.signing
    profile = second.profile("https://ds.example")
    assert profile.encryption_key == second.encryption[0].public
    assert read_service_profile(profile.as_json()) == profile


def test_no_repr_shows_the_keys() -> None:
    keys = ServiceKeys.generate()
    secret = keys.as_json()
    assert secret["signing"].partition(":")[2] not in repr(keys)
    assert secret["encryption"][0] not in repr(keys)


SIGNING = ServiceKeys.generate().signing.encode()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"signing": "x", "encryption": ["QQ=="]},
        {"signing": 5, "encryption": ["QQ=="]},
        {"signing": ["x"], "encryption": ["QQ=="]},
        {"signing": SIGNING, "encryption": []},
        {"signing": SIGNING, "encryption": 5},
    ],
)
def test_anything_else_is_refused(value: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_service_keys(value)
