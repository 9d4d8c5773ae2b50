"""Envelopes: dm3 §2.2.5 - §2.2.7; decisions "Encryption", "Signatures" and "Versions"."""

import copy
import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import (
    changed,
    each_build,
    encryption_key,
    nonce_of,
    private_signing_key,
    public_signing_key,
    refused,
)

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    EnvelopeMetadata,
    check_envelope,
    check_hashes,
    message_hash,
    open_delivery,
    open_message,
    read_delivery,
    read_envelope,
    write_envelope,
)
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.reasons import (
    ENCRYPTION_SCHEME_UNKNOWN,
    ENVELOPE_INVALID,
    MESSAGE_INVALID,
    PROFILE_INVALID,
    SEALED_VALUE_INVALID,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.sealing import SCHEME, open_sealed, seal
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.verify import check_message

SECP = PrivateSigningKey.generate("secp256k1")
ED = PrivateSigningKey.generate("ed25519")
BOTH = pytest.mark.parametrize("key", [SECP, ED], ids=["text", "reference"])
BOB, SERVICE = EncryptionKey.generate(), EncryptionKey.generate()
ABSENT = object()
METADATA: dict[str, Any] = {
    "version": "1.0",
    "encryptionScheme": SCHEME,
    "deliveryInformation": "sealed",
    "signature": "AAAA",
}
DELIVERY = DeliveryInformation("bob.eth", "alice.eth", "topic 7", {"app.example": [1, None]})


def envelope(metadata: dict[str, Any] | None = None, **members: Any) -> Any:
    """An envelope of good shape, with some metadata and members changed or taken away (ABSENT)."""
    whole = {"message": "sealed too", "metadata": {**METADATA, **(metadata or {})}, **members}
    whole["metadata"] = {name: value for name, value in whole["metadata"].items() if value is not ABSENT}
    return {name: value for name, value in whole.items() if value is not ABSENT}


def refusal(value: Any, reason: Reason = ENVELOPE_INVALID) -> str:
    with pytest.raises(TheirError) as caught:
        read_envelope(value)
    return refused(caught, reason)


def written(key: PrivateSigningKey = SECP, **extra: Any) -> Dm3Envelope:
    message = sign_message("Hello", MessageMetadata("bob.eth", "alice.eth", 1), key)
    return write_envelope(
        message, delivery=DELIVERY, receiver_key=BOB.public, service_key=SERVICE.public, signing=key, extra=extra
    )


# --- reading --------------------------------------------------------------------------------------------------


def test_an_envelope_is_read() -> None:
    assert read_envelope(envelope({"app.example": {"b": 1}}, postmark="stamped", extra=[1])) == Dm3Envelope(
        "sealed too",
        EnvelopeMetadata("1.0", SCHEME, "sealed", "AAAA", {"app.example": {"b": 1}}),
        "stamped",
        {"extra": [1]},
    )


def test_every_member_is_kept() -> None:
    value = envelope({"app.example": {"b": [1.5, None]}, "version": "v1"}, postmark="x", extra={"a": False})
    read = read_envelope(copy.deepcopy(value))
    assert read.as_json() == value
    assert json.loads(read.encode()) == value
    assert read_envelope(json.loads(read.encode())) == read


def test_the_signature_covers_the_metadata_but_itself() -> None:
    metadata = read_envelope(envelope({"x": 1, "encryptionScheme": ABSENT})).metadata
    assert metadata.unsigned() == {"version": "1.0", "deliveryInformation": "sealed", "x": 1}


@pytest.mark.parametrize("value", [None, [], "x", 5, {}, {"message": "x"}, {"message": "x", "metadata": []}])
def test_an_invalid_envelope_is_refused(value: Any) -> None:
    assert "JSON object" in refusal(value)


@pytest.mark.parametrize("value", [ABSENT, None, "", 5, [], {}, True, "\ud800"])
def test_required_members(value: Any) -> None:
    assert "message" in refusal(envelope(message=value))
    for member in ("version", "deliveryInformation", "signature"):
        assert member in refusal(envelope({member: value}))


@pytest.mark.parametrize("value", [None, 5, [], {}, True, "\udfff"])
def test_optional_members_are_strings(value: Any) -> None:
    assert "postmark" in refusal(envelope(postmark=value))
    assert "encryptionScheme" in refusal(envelope({"encryptionScheme": value}))


@pytest.mark.parametrize("version", ["1.0", "v1", "1"])
def test_three_spellings_of_the_version_are_the_same(version: str) -> None:
    assert read_envelope(envelope({"version": version})).metadata.version == version


@pytest.mark.parametrize("version", ["2.0", "v1.0", "1.0.0", "V1", " 1"])
def test_another_version_is_refused(version: str) -> None:
    assert "1, 1.0, v1" in refusal(envelope({"version": version}))


def test_a_missing_encryption_scheme_is_the_default() -> None:
    assert read_envelope(envelope({"encryptionScheme": ABSENT})).metadata.encryption_scheme is None


@pytest.mark.parametrize("scheme", ["x25519-aes-gcm", "X25519-CHACHA20-POLY1305", "rsa"])
def test_an_unknown_encryption_scheme_is_refused_with_a_reason_of_its_own(scheme: str) -> None:
    assert SCHEME in refusal(envelope({"encryptionScheme": scheme}), ENCRYPTION_SCHEME_UNKNOWN)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"to": "b"}, {"from": "a"}, {"to": "", "from": "a"}])
def test_delivery_information_names_receiver_and_sender(value: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_delivery(value)
    assert "deliveryInformation" in refused(caught, ENVELOPE_INVALID)


@pytest.mark.parametrize("value", [None, 5, [], "\ud800"])
def test_the_delivery_instruction_is_a_string(value: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_delivery({"to": "b", "from": "a", "deliveryInstruction": value})
    assert "deliveryInstruction" in refused(caught, ENVELOPE_INVALID)


def test_delivery_information_keeps_every_member_and_name_unchanged() -> None:
    value: Any = {"to": "BOB.eth", "from": "Alice.eth", "deliveryInstruction": "", "x": [1]}
    read = read_delivery(value)
    assert (read.to, read.sender, read.delivery_instruction, read.extra) == ("BOB.eth", "Alice.eth", "", {"x": [1]})
    assert read.as_json() == value


@pytest.mark.parametrize(
    "make",
    [
        lambda: DeliveryInformation("", "alice.eth"),
        lambda: DeliveryInformation("bob.eth", None),  # type: ignore[arg-type]
        lambda: DeliveryInformation("bob.eth", "\ud800"),
        lambda: DeliveryInformation("bob.eth", "alice.eth", 5),  # type: ignore[arg-type]
        lambda: EnvelopeMetadata("2", None, "x", "x"),
        lambda: EnvelopeMetadata("1", None, "", "x"),
        lambda: EnvelopeMetadata("1", None, "x", 5),  # type: ignore[arg-type]
        lambda: Dm3Envelope("", EnvelopeMetadata("1", None, "x", "x")),
        lambda: Dm3Envelope("x", METADATA),  # type: ignore[arg-type]
        lambda: Dm3Envelope("x", EnvelopeMetadata("1", None, "x", "x"), 5),  # type: ignore[arg-type]
        lambda: Dm3Envelope("x", EnvelopeMetadata("1", None, "x", "x"), extra={"a": float("nan")}).encode(),
        lambda: written(a=float("nan")),
        lambda: written(a="\ud800"),
    ],
)
def test_constructed_values_are_checked_too(make: Any) -> None:
    with pytest.raises(TheirError) as caught:
        make()
    assert refused(caught, ENVELOPE_INVALID)


def test_an_envelope_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        written().message = "another"  # type: ignore[misc]


# --- writing, opening, checking -------------------------------------------------------------------------------


@BOTH
def test_a_written_envelope_is_opened_by_its_receivers_and_verifies(key: PrivateSigningKey) -> None:
    read = read_envelope(json.loads(written(key, **{"app.example": 1}).encode()))
    assert (read.metadata.version, read.metadata.encryption_scheme) == ("1.0", SCHEME)
    of_sealed = "0x" + hashlib.sha256(json.dumps(read.message).encode()).hexdigest()
    assert read.metadata.extra == {"app.example": 1, "encryptedMessageHash": of_sealed}
    assert read.postmark is None
    check_envelope(read, key.public)
    assert open_delivery(read, [EncryptionKey.generate(), SERVICE]) == DELIVERY
    opened = open_message(read, [BOB])
    assert opened.message == "Hello"
    check_message(opened, key.public)


def test_the_delivery_service_cannot_open_the_message_nor_the_receiver_the_delivery_information() -> None:
    for what, key in ((open_message, SERVICE), (open_delivery, BOB)):
        with pytest.raises(TheirError) as caught:
            what(written(), [key])
        assert refused(caught, SEALED_VALUE_INVALID)


@pytest.mark.parametrize(
    "plain", [b"", b"x", b"\xff", b"[]", b'{"to":"b","to":"b","from":"a"}', b'{"to":1,"from":"a"}']
)
def test_delivery_information_of_another_form_is_refused(plain: bytes) -> None:
    read = read_envelope(envelope({"deliveryInformation": seal(plain, SERVICE.public)}))
    with pytest.raises(TheirError) as caught:
        open_delivery(read, [SERVICE])
    assert refused(caught, ENVELOPE_INVALID)


@pytest.mark.parametrize("plain", [b"", b"x", b"\xff", b"[]", b'{"message":"x"}'])
def test_a_message_of_another_form_is_refused(plain: bytes) -> None:
    read = read_envelope(envelope(message=seal(plain, BOB.public)))
    with pytest.raises(TheirError) as caught:
        open_message(read, [BOB])
    assert refused(caught, MESSAGE_INVALID)


def test_an_unusable_receiver_key_is_refused() -> None:
    message = sign_message("Hello", MessageMetadata("bob.eth", "alice.eth", 1), SECP)
    for receiver, service in ((bytes(32), SERVICE.public), (BOB.public, b"")):
        with pytest.raises(TheirError) as caught:
            write_envelope(message, delivery=DELIVERY, receiver_key=receiver, service_key=service, signing=SECP)
        assert refused(caught, PROFILE_INVALID)


@BOTH
@pytest.mark.parametrize("member", ["version", "encryptionScheme", "deliveryInformation", "app.example", "signature"])
def test_no_metadata_can_be_changed_or_removed(key: PrivateSigningKey, member: str) -> None:
    value: Any = written(key, **{"app.example": "x"}).as_json()
    other = {"version": "v1", "encryptionScheme": ABSENT}.get(member) or changed(value["metadata"][member])
    for replacement in (other, ABSENT):
        metadata = {name: v for name, v in {**value["metadata"], member: replacement}.items() if v is not ABSENT}
        with pytest.raises(TheirError) as caught:
            check_envelope(read_envelope({**value, "metadata": metadata}), key.public)
        if replacement is other:
            assert "metadata.signature" in refused(caught, SENDER_SIGNATURE_INVALID)


@BOTH
def test_no_metadata_can_be_added(key: PrivateSigningKey) -> None:
    value: Any = written(key).as_json()
    with pytest.raises(TheirError) as caught:
        check_envelope(read_envelope({**value, "metadata": {**value["metadata"], "x": None}}), key.public)
    assert refused(caught, SENDER_SIGNATURE_INVALID)


def test_another_keys_signature_is_refused() -> None:
    for other in (PrivateSigningKey.generate("secp256k1"), ED):
        with pytest.raises(TheirError) as caught:
            check_envelope(written(SECP), other.public)
        assert refused(caught, SENDER_SIGNATURE_INVALID)


def test_the_hash_of_an_envelope_is_that_of_its_message() -> None:
    made = written()
    assert message_hash(made) == hashlib.sha256(made.message.encode()).hexdigest()
    assert message_hash(read_envelope(envelope(message="é"))) == hashlib.sha256("é".encode()).hexdigest()


# --- the reference's --------------------------------------------------------------------------------------------


@each_build
def test_the_references_envelope_is_read_opened_and_checked(build: dict[str, Any]) -> None:
    known = build["envelope"]
    read = read_envelope(known["encryptedEnvelop"])
    alice = public_signing_key(build["profiles"]["alice"]["signingKeyPair"])
    assert stringify(read.metadata.unsigned()).decode() == known["metadataSignedString"]
    check_envelope(read, alice)
    service = encryption_key(build["deliveryService"]["keys"]["encryptionKeyPair"])
    assert open_delivery(read, [service]) == DeliveryInformation("bob.eth", "alice.eth")
    message = open_message(read, [encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])])
    assert message.as_json() == build["message"]["message"]
    check_message(message, alice)
    check_hashes(read, message)


@each_build
def test_with_the_references_keys_we_write_what_it_writes_but_for_the_version(build: dict[str, Any]) -> None:
    known = build["envelope"]
    submitted = known["encryptedEnvelop"]
    alice = private_signing_key(build["profiles"]["alice"]["signingKeyPair"])
    for_bob, for_service = (encryption_key(pair) for pair in known["ephemeralKeysInOrder"])
    bob = encryption_key(build["profiles"]["bob"]["encryptionKeyPair"]).public

    def seal_to(plaintext: bytes, recipient: bytes) -> str:
        ephemeral = for_bob if recipient == bob else for_service
        theirs = submitted["message"] if recipient == bob else submitted["metadata"]["deliveryInformation"]
        return seal(plaintext, recipient, ephemeral=ephemeral, nonce=nonce_of(theirs))

    theirs = open_message(read_envelope(submitted), [encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])])
    ours = write_envelope(
        sign_message(theirs.message, theirs.metadata, alice, attachments=theirs.attachments),
        delivery=DeliveryInformation("bob.eth", "alice.eth"),
        receiver_key=bob,
        service_key=encryption_key(build["deliveryService"]["keys"]["encryptionKeyPair"]).public,
        signing=alice,
        seal_to=seal_to,
    )
    assert ours.message == submitted["message"]
    expected = {**submitted["metadata"], "version": "1.0", "signature": ours.metadata.signature}
    if known["hashField"] == "messageHash":  # the older build's; we write the newer one's
        del expected["messageHash"]
        expected["encryptedMessageHash"] = ours.metadata.extra["encryptedMessageHash"]
    assert ours.metadata.as_json() == expected
    check_envelope(ours, alice.public)


@BOTH
def test_no_other_message_can_be_put_under_our_metadata(key: PrivateSigningKey) -> None:
    first, second = written(key), written(key)
    check_envelope(first, key.public)
    with pytest.raises(TheirError) as caught:
        check_envelope(replace(first, message=second.message), key.public)
    assert "encryptedMessageHash" in refused(caught, ENVELOPE_INVALID)


def test_for_another_delivery_service_the_sealed_message_is_reused() -> None:
    first, other = written(), EncryptionKey.generate()
    message = open_message(first, [BOB])
    again = write_envelope(
        message, delivery=DELIVERY, receiver_key=BOB.public, service_key=other.public, signing=SECP,
        sealed_message=first.message,
    )  # fmt: skip
    assert again.message == first.message
    assert open_delivery(again, [other]) == DELIVERY
    check_envelope(again, SECP.public)


@each_build
def test_another_message_does_not_fit_the_hash_the_reference_signs(build: dict[str, Any]) -> None:
    submitted = build["envelope"]["encryptedEnvelop"]
    bob = encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])
    message = open_message(read_envelope(submitted), [bob])
    other = sign_message("Another", message.metadata, SECP)
    swapped = read_envelope({**submitted, "message": seal(other.encode(), bob.public)})
    with pytest.raises(TheirError) as caught:
        check_hashes(swapped, open_message(swapped, [bob]))
    assert build["envelope"]["hashField"] in refused(caught, ENVELOPE_INVALID)


def test_the_hash_of_the_sealed_message_is_checked_at_the_delivery_service() -> None:
    with pytest.raises(TheirError) as caught:
        check_envelope(written(encryptedMessageHash="0x" + "0" * 64), SECP.public)
    assert "encryptedMessageHash" in refused(caught, ENVELOPE_INVALID)


def test_the_hash_of_the_message_is_checked_by_the_receiver() -> None:
    made = written(messageHash="0x" + "0" * 64)
    check_envelope(made, SECP.public)
    with pytest.raises(TheirError) as caught:
        check_hashes(made, open_message(made, [BOB]))
    assert "messageHash" in refused(caught, ENVELOPE_INVALID)


@each_build
@pytest.mark.parametrize("member", ["version", "encryptionScheme", "deliveryInformation", "messageHash", "signature"])
def test_no_metadata_of_the_reference_can_be_changed(build: dict[str, Any], member: str) -> None:
    submitted = build["envelope"]["encryptedEnvelop"]
    name = build["envelope"]["hashField"] if member == "messageHash" else member
    other = {"version": "1.0", "encryptionScheme": ABSENT}.get(name) or changed(submitted["metadata"][name])
    metadata = {key: value for key, value in {**submitted["metadata"], name: other}.items() if value is not ABSENT}
    with pytest.raises(TheirError) as caught:
        check_envelope(
            read_envelope({**submitted, "metadata": metadata}),
            public_signing_key(build["profiles"]["alice"]["signingKeyPair"]),
        )
    assert refused(caught, SENDER_SIGNATURE_INVALID)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["message", "postmark", "x"]), JSON),
    st.dictionaries(st.sampled_from([*METADATA, "x"]), JSON),
)
def test_arbitrary_members_are_kept_or_refused_and_nothing_else_happens(members: Any, metadata: Any) -> None:
    value = envelope(metadata, **members)
    try:
        read = read_envelope(value)
    except TheirError as error:
        if error.reason not in (ENVELOPE_INVALID, ENCRYPTION_SCHEME_UNKNOWN):
            raise
    else:
        assert read.as_json() == value
        with pytest.raises(TheirError) as caught:
            check_envelope(read, SECP.public)
        assert refused(caught, SENDER_SIGNATURE_INVALID)
        with pytest.raises(TheirError) as caught:
            open_delivery(read, [SERVICE])
        assert refused(caught, SEALED_VALUE_INVALID)


def test_the_sealed_texts_are_stringify_of_message_and_delivery_information() -> None:
    made = written()
    assert open_sealed(made.metadata.delivery_information, [SERVICE]) == stringify(DELIVERY.as_json())
    assert open_sealed(made.message, [BOB]) == open_message(made, [BOB]).encode()
