"""Where the text of dm3 and its reference differ: decisions "Signatures", "Versions", "Postmarks", "Profiles" and
"Message types", and the known answers."""

import base64
import hashlib
import json
from typing import Any

import nacl.signing
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from tests.protocols.dm3.known import each_build, private_signing_key, public_signing_key

from postroom.core.canonical import NotCanonicalError
from postroom.protocols.dm3 import dialect
from postroom.protocols.dm3.keys import PrivateSigningKey

SECP = PrivateSigningKey.generate("secp256k1")
ED = PrivateSigningKey.generate("ed25519")
BOTH = pytest.mark.parametrize("key", [SECP, ED], ids=["text", "reference"])
STRUCT: dict[str, Any] = {"b": [1, "é"], "a": {"d": None, "c": True}}
STRINGIFIED = '{"a":{"c":true,"d":null},"b":[1,"é"]}'.encode()


def unsigned(struct: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in struct.items() if name != "signature"}


def test_the_text_signs_the_sha256_of_stringify_by_ecdsa() -> None:
    for sign in (dialect.sign_struct, dialect.sign_postmark):
        raw = base64.b64decode(sign(STRUCT, SECP))
        der = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        point = base64.b64decode(SECP.public.encode())
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), point).verify(der, STRINGIFIED, ec.ECDSA(SHA256()))


def test_the_reference_signs_stringify_itself_by_ed25519() -> None:
    key = nacl.signing.VerifyKey(base64.b64decode(ED.public.encode()))
    key.verify(STRINGIFIED, base64.b64decode(dialect.sign_struct(STRUCT, ED)))


def test_the_reference_signs_a_postmark_by_ed25519_of_the_hex_of_its_hash() -> None:
    key = nacl.signing.VerifyKey(base64.b64decode(ED.public.encode()))
    text = "0x" + hashlib.sha256(STRINGIFIED).hexdigest()
    key.verify(text.encode(), base64.b64decode(dialect.sign_postmark(STRUCT, ED)))


@BOTH
@pytest.mark.parametrize(
    ("sign", "verify"),
    [(dialect.sign_struct, dialect.verify_struct), (dialect.sign_postmark, dialect.verify_postmark)],
    ids=["struct", "postmark"],
)
def test_a_signature_is_valid_for_one_structure_and_one_key(key: PrivateSigningKey, sign: Any, verify: Any) -> None:
    signature = sign(STRUCT, key)
    assert verify(STRUCT, signature, key.public)
    assert verify(dict(reversed(STRUCT.items())), signature, key.public), "order of members is no difference"
    assert not verify({**STRUCT, "e": 1}, signature, key.public)
    assert not verify(STRUCT, sign({**STRUCT, "e": 1}, key), key.public)
    assert not verify(STRUCT, signature, PrivateSigningKey.generate(key.public.algorithm).public)
    other = ED if key is SECP else SECP
    assert not verify(STRUCT, signature, other.public)


@BOTH
@pytest.mark.parametrize("verify", [dialect.verify_struct, dialect.verify_postmark])
@pytest.mark.parametrize("signature", ["", "!", "AAAA", "\ud800", "é", base64.b64encode(bytes(64)).decode()])
def test_an_invalid_signature_does_not_verify(key: PrivateSigningKey, verify: Any, signature: str) -> None:
    assert not verify(STRUCT, signature, key.public)


@BOTH
@pytest.mark.parametrize("value", [float("nan"), 2**53, "\ud800"])
def test_values_without_a_canonical_text_can_be_neither_signed_nor_verified(key: PrivateSigningKey, value: Any) -> None:
    for sign, verify in (
        (dialect.sign_struct, dialect.verify_struct),
        (dialect.sign_postmark, dialect.verify_postmark),
    ):
        with pytest.raises(NotCanonicalError):
            sign({"a": value}, key)
        assert not verify({"a": value}, base64.b64encode(bytes(64)).decode(), key.public)


def test_a_der_signature_is_read_as_well() -> None:
    raw = base64.b64decode(dialect.sign_struct(STRUCT, SECP))
    der = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    assert dialect.verify_struct(STRUCT, base64.b64encode(der).decode(), SECP.public)


@each_build
def test_we_sign_as_the_reference_does(build: dict[str, Any]) -> None:
    alice = private_signing_key(build["profiles"]["alice"]["signingKeyPair"])
    service = private_signing_key(build["deliveryService"]["keys"]["signingKeyPair"])
    message = build["message"]["message"]
    metadata = build["envelope"]["encryptedEnvelop"]["metadata"]
    postmark = build["postmark"]["plain"]
    assert dialect.sign_struct(unsigned(message), alice) == message["signature"]
    assert dialect.sign_struct(unsigned(metadata), alice) == metadata["signature"]
    assert dialect.sign_postmark(unsigned(postmark), service) == postmark["signature"]


@each_build
def test_the_references_signatures_verify(build: dict[str, Any]) -> None:
    alice = public_signing_key(build["profiles"]["alice"]["signingKeyPair"])
    service = public_signing_key(build["deliveryService"]["keys"]["signingKeyPair"])
    for struct in (build["message"]["message"], build["envelope"]["encryptedEnvelop"]["metadata"]):
        assert dialect.verify_struct(unsigned(struct), struct["signature"], alice)
        assert not dialect.verify_struct(unsigned(struct), struct["signature"], service)
    postmark = build["postmark"]["plain"]
    assert dialect.verify_postmark(unsigned(postmark), postmark["signature"], service)
    assert not dialect.verify_struct(unsigned(postmark), postmark["signature"], service)


@each_build
def test_the_hash_of_a_postmark_is_that_of_the_text_or_the_references(build: dict[str, Any]) -> None:
    sealed, postmark = build["envelope"]["encryptedEnvelop"]["message"], build["postmark"]
    assert dialect.reference_postmark_hash(sealed) == postmark["messageHashAsImplemented"]
    assert "0x" + dialect.postmark_hash(sealed) == postmark["messageHashAsSpecified"]


@each_build
def test_the_hash_in_the_metadata_is_that_of_each_build(build: dict[str, Any]) -> None:
    submitted, message = build["envelope"]["encryptedEnvelop"], build["message"]["message"]
    claimed = submitted["metadata"][build["envelope"]["hashField"]]
    of_sealed = dialect.encrypted_message_hash_fits(claimed, submitted["message"])
    of_plain = dialect.plain_message_hash_fits(claimed, message)
    assert (of_sealed, of_plain) == {
        "encryptedMessageHash": (True, False),
        "messageHash": (False, True),
    }[build["envelope"]["hashField"]]


def test_a_hash_is_read_with_and_without_0x_and_in_either_case() -> None:
    digest = hashlib.sha256(json.dumps("x").encode()).hexdigest()
    for good in (digest, digest.upper(), "0x" + digest, "0X" + digest.upper()):
        assert dialect.encrypted_message_hash_fits(good, "x")
    for bad in (digest[:-1], "0x0x" + digest, "", None, 5, [digest], {}):
        assert not dialect.encrypted_message_hash_fits(bad, "x")  # type: ignore[arg-type]


def test_names_of_members_in_both_dialects() -> None:
    assert dialect.WRITTEN_VERSION in dialect.VERSIONS == {"1.0", "v1", "1"}
    assert (dialect.TIMESTAMP_MEMBER, dialect.REFERENCE_TIMESTAMP_MEMBER) == ("incomingTimestamp", "incommingTimestamp")
    assert set(dialect.TYPE_ALIASES) == {"READ_OPENED", "READ_RECEIVED"}
