"""Postmarks: dm3 §2.2.8; decisions "Signatures" and "Postmarks"."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import changed, each_build, encryption_key, nonce_of, public_signing_key, refused

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.dialect import sign_postmark
from postroom.protocols.dm3.envelope import DeliveryInformation, Dm3Envelope, EnvelopeMetadata, read_envelope
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.postmark import Postmark, check_postmark, make_postmark, read_postmark
from postroom.protocols.dm3.reasons import POSTMARK_INVALID, PROFILE_INVALID, SEALED_VALUE_INVALID
from postroom.protocols.dm3.sealing import open_sealed

SECP = PrivateSigningKey.generate("secp256k1")
ED = PrivateSigningKey.generate("ed25519")
BOTH = pytest.mark.parametrize("key", [SECP, ED], ids=["text", "reference"])
BOB = EncryptionKey.generate()
DELIVERY = DeliveryInformation("bob.eth", "alice.eth", "topic 7", {"app.example": [1, None]})
RECEIVED_AT = 1700000005000
SEALED_MESSAGE = '{"ciphertext":"é"}'
ENVELOPE = Dm3Envelope(SEALED_MESSAGE, EnvelopeMetadata("1.0", None, "sealed", "AAAA"))


def stamped(key: PrivateSigningKey = SECP) -> Any:
    """An opened postmark, as JSON."""
    return json.loads(open_sealed(make_postmark(SEALED_MESSAGE, DELIVERY, RECEIVED_AT, key, BOB.public), [BOB]))


def read(value: Any) -> Postmark:
    return read_postmark(json.dumps(value).encode())


def refusal(value: Any, key: PrivateSigningKey = SECP, envelope: Dm3Envelope = ENVELOPE) -> str:
    with pytest.raises(TheirError) as caught:
        check_postmark(read(value), envelope, key.public)
    return refused(caught, POSTMARK_INVALID)


def resigned(value: Any, key: PrivateSigningKey = SECP) -> Any:
    unsigned = {name: member for name, member in value.items() if name != "signature"}
    return {**unsigned, "signature": sign_postmark(unsigned, key)}


@BOTH
def test_a_postmark_has_the_members_of_the_specification(key: PrivateSigningKey) -> None:
    value = stamped(key)
    assert value == {
        "messageHash": hashlib.sha256(SEALED_MESSAGE.encode()).hexdigest(),
        "incomingTimestamp": RECEIVED_AT,
        "deliveryInformation": DELIVERY.as_json(),
        "signature": value["signature"],
    }
    assert read(value) == Postmark(value["messageHash"], RECEIVED_AT, DELIVERY, value["signature"])
    check_postmark(read(value), ENVELOPE, key.public)


def test_a_postmark_is_sealed_to_the_receiver_alone() -> None:
    sealed = make_postmark(SEALED_MESSAGE, DELIVERY, RECEIVED_AT, SECP, BOB.public)
    with pytest.raises(TheirError) as caught:
        open_sealed(sealed, [EncryptionKey.generate()])
    assert refused(caught, SEALED_VALUE_INVALID)


def test_an_invalid_receiver_key_is_refused() -> None:
    with pytest.raises(TheirError) as caught:
        make_postmark(SEALED_MESSAGE, DELIVERY, RECEIVED_AT, SECP, bytes(32))
    assert refused(caught, PROFILE_INVALID)


def test_with_fixed_keys_a_postmark_is_deterministic() -> None:
    ephemeral, nonce = EncryptionKey.from_seed(bytes(32)), bytes(12)
    first, second = (
        make_postmark(SEALED_MESSAGE, DELIVERY, RECEIVED_AT, SECP, BOB.public, ephemeral=ephemeral, nonce=nonce)
        for _ in range(2)
    )
    assert first == second
    assert nonce_of(first) == nonce


def test_every_member_is_kept_and_covered_by_the_signature() -> None:
    value = resigned({**stamped(), "x": {"b": [1.5, None]}})
    postmark = read(value)
    assert postmark.extra == {"x": {"b": [1.5, None]}}
    assert postmark.as_json() == value
    check_postmark(postmark, ENVELOPE, SECP.public)


@BOTH
@pytest.mark.parametrize("member", ["messageHash", "incomingTimestamp", "deliveryInformation", "signature"])
def test_no_member_can_be_changed_or_removed(key: PrivateSigningKey, member: str) -> None:
    value = stamped(key)
    assert "signature" in refusal({**value, member: changed(value[member])}, key)
    del value[member]
    assert member in refusal(value, key)


@BOTH
@pytest.mark.parametrize("member", ["to", "from", "deliveryInstruction", "app.example"])
def test_the_copy_of_the_delivery_information_cannot_be_changed(key: PrivateSigningKey, member: str) -> None:
    value = stamped(key)
    value["deliveryInformation"][member] = changed(value["deliveryInformation"][member])
    assert "signature" in refusal(value, key)


def test_a_postmark_is_valid_for_one_envelope() -> None:
    other = Dm3Envelope("another", ENVELOPE.metadata)
    assert "messageHash" in refusal(stamped(), envelope=other)


def test_a_postmark_is_valid_for_one_delivery_service() -> None:
    for other in (PrivateSigningKey.generate("secp256k1"), ED):
        assert "signature" in refusal(stamped(), other)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("messageHash", value) for value in (None, "", 5, [])),
        *(("incomingTimestamp", value) for value in (None, "1", 1.0, -1, 2**53 - 1 + 1, True, [])),
        *(("deliveryInformation", value) for value in (None, "sealed", [], {}, {"to": "b"}, {"to": 5, "from": "a"})),
        *(("signature", value) for value in (None, "", 5, {})),
    ],
)
def test_a_postmark_of_another_form_is_refused(member: str, value: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read({**stamped(), member: value})
    assert refused(caught, POSTMARK_INVALID)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_arbitrary_bytes_are_refused_and_nothing_else_happens(text: bytes) -> None:
    with pytest.raises(TheirError) as caught:
        read_postmark(text)
    assert refused(caught, POSTMARK_INVALID)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Postmark("", 1, DELIVERY, "AAAA"),
        lambda: Postmark("ab", -1, DELIVERY, "AAAA"),
        lambda: Postmark("ab", 1, None, "AAAA"),
        lambda: Postmark("ab", 1, {"to": "b", "from": "a"}, "AAAA"),  # type: ignore[arg-type]
        lambda: Postmark("ab", 1, DELIVERY, "\ud800"),
    ],
)
def test_constructed_values_are_checked_too(make: Any) -> None:
    with pytest.raises(TheirError) as caught:
        make()
    assert refused(caught, POSTMARK_INVALID)


# --- the reference's --------------------------------------------------------------------------------------------


def opened(build: dict[str, Any]) -> Any:
    bob = encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])
    return json.loads(open_sealed(build["postmark"]["encrypted"], [bob]))


@each_build
def test_the_references_postmark_is_read_and_checked(build: dict[str, Any]) -> None:
    service = public_signing_key(build["deliveryService"]["keys"]["signingKeyPair"])
    value = opened(build)
    assert value == build["postmark"]["plain"]
    postmark = read(value)
    assert postmark.incoming_timestamp_ms == build["postmark"]["timestamp"]
    assert postmark.delivery is None
    assert postmark.is_reference
    assert stringify(postmark.unsigned()).decode() == build["postmark"]["signedObjectStringified"]
    check_postmark(postmark, read_envelope(build["envelope"]["encryptedEnvelop"]), service)


@each_build
@pytest.mark.parametrize("member", ["messageHash", "incommingTimestamp", "signature"])
def test_no_member_of_the_references_postmark_can_be_changed(build: dict[str, Any], member: str) -> None:
    value = opened(build)
    with pytest.raises(TheirError) as caught:
        check_postmark(
            read({**value, member: changed(value[member])}),
            read_envelope(build["envelope"]["encryptedEnvelop"]),
            public_signing_key(build["deliveryService"]["keys"]["signingKeyPair"]),
        )
    assert "signature" in refused(caught, POSTMARK_INVALID)


@each_build
def test_the_references_postmark_is_valid_for_one_envelope(build: dict[str, Any]) -> None:
    with pytest.raises(TheirError) as caught:
        check_postmark(
            read(opened(build)), ENVELOPE, public_signing_key(build["deliveryService"]["keys"]["signingKeyPair"])
        )
    assert "messageHash" in refused(caught, POSTMARK_INVALID)


def test_a_timestamp_of_the_references_name_is_the_references_form() -> None:
    value = stamped()
    renamed = {**value, "incommingTimestamp": value["incomingTimestamp"]}
    del renamed["incomingTimestamp"]
    assert "messageHash" in refusal(resigned(renamed)), "the reference hashes otherwise"
