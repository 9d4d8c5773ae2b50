"""Envelopes of 2023 (`Header.Code: dtfw.org/msg`), hashed in insertion order, some signed with RSA-PSS: all must fail.

Decisions "Signed text" and "Key records". They stand under tests/vectors as they were published.
"""

import hashlib
import json
import time
from base64 import b64decode
from pathlib import Path
from typing import TypedDict

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import public_key_from_spki
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, SIGNATURE_INVALID, TIMESTAMP_TOO_OLD, UNSUPPORTED_VERSION
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature


class Vector(TypedDict):
    id: str
    signed_text: str
    Hash: str
    Signature: str
    public_key_spki_b64: str | None
    jcs_text: str
    jcs_sha256: str


VECTORS: list[Vector] = json.loads((Path(__file__).parents[2] / "vectors" / "nlweb-2023.json").read_text())
EACH = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
WITH_KEY = pytest.mark.parametrize(
    "vector", [vector for vector in VECTORS if vector["public_key_spki_b64"]], ids=lambda vector: vector["id"]
)


def rebuilt(vector: Vector, claimed: str | None = None) -> bytes:
    """The envelope on the wire: its members in the order of 2023."""
    content = json.loads(vector["signed_text"])
    return json.dumps({**content, "Hash": claimed or vector["Hash"], "Signature": vector["Signature"]}).encode()


def checked(data: bytes, now_ms: int) -> NlwebEnvelope:
    envelope = read_envelope(parse(data, max_bytes=1 << 20))
    check_before_lookup(envelope, is_ours=lambda _: True, received_at_ms=now_ms, window=TimestampWindow())
    return envelope


def own_time(vector: Vector) -> int:
    return read_envelope(json.loads(rebuilt(vector))).timestamp_ms


def test_there_are_four_vectors_and_three_published_keys() -> None:
    assert [vector["id"] for vector in VECTORS] == ["A1", "A2", "B", "C"]
    assert [vector["id"] for vector in VECTORS if vector["public_key_spki_b64"] is None] == ["C"]


@EACH
def test_the_hash_of_a_vector_is_of_another_text(vector: Vector) -> None:
    assert hashlib.sha256(vector["signed_text"].encode()).hexdigest() == vector["Hash"]
    with pytest.raises(TheirError) as caught:
        checked(rebuilt(vector), own_time(vector))
    assert caught.value.reason is HASH_MISMATCH


@EACH
def test_a_vector_is_too_old_today(vector: Vector) -> None:
    with pytest.raises(TheirError) as caught:
        checked(rebuilt(vector), int(time.time() * 1000))
    assert caught.value.reason is TIMESTAMP_TOO_OLD


@EACH
def test_the_handshake_of_2023_has_no_supported_authority(vector: Vector) -> None:
    envelope = {"🤝": "dtfw.org/msg:1", **json.loads(rebuilt(vector))}
    with pytest.raises(TheirError) as caught:
        checked(json.dumps(envelope).encode(), own_time(vector))
    assert caught.value.reason is UNSUPPORTED_VERSION


@EACH
def test_the_canonical_text_is_that_of_the_vector(vector: Vector) -> None:
    envelope = checked(rebuilt(vector, vector["jcs_sha256"]), own_time(vector))
    assert envelope.signed_text == vector["jcs_text"].encode()


@WITH_KEY
def test_with_the_right_hash_and_the_published_key_the_signature_still_fails(vector: Vector) -> None:
    envelope = checked(rebuilt(vector, vector["jcs_sha256"]), own_time(vector))
    key = public_key_from_spki(b64decode(vector["public_key_spki_b64"] or ""))
    with pytest.raises(TheirError) as caught:
        check_signature(envelope, key)
    assert caught.value.reason is SIGNATURE_INVALID


@WITH_KEY
def test_a_pss_signature_is_refused_over_its_own_text_too(vector: Vector) -> None:
    """A1 is a good PSS signature of its text, A2 and B are good PKCS#1 v1.5 ones: we take the latter kind only."""
    der = b64decode(vector["public_key_spki_b64"] or "")
    text, signature = vector["signed_text"].encode(), b64decode(vector["Signature"])
    is_pss = vector["id"] == "A1"
    general = load_der_public_key(der)
    assert isinstance(general, RSAPublicKey)
    assert _verifies_as_pss(general, signature, text) == is_pss
    assert public_key_from_spki(der).verify(signature, text) == (not is_pss)
    if not is_pss:
        general.verify(signature, text, PKCS1v15(), SHA256())


def _verifies_as_pss(key: RSAPublicKey, signature: bytes, text: bytes) -> bool:
    try:
        key.verify(signature, text, PSS(MGF1(SHA256()), PSS.AUTO), SHA256())
    except InvalidSignature:
        return False
    return True
