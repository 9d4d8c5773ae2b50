"""Real clients send to us and read from us: dm3's reference libraries at our inbox, and our envelopes at theirs.

All keys are of Ed25519: the reference knows no others. What the two make of each other's is in docs/evidence/peers.md.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.pipeline import FakeServiceKeys
from tests.peers.answering import RefusedError
from tests.peers.dm3.people import Person, person, private_signing_key, unsigned
from tests.peers.node import Reference
from tests.pipeline.conftest import stack as stack
from tests.pipeline.delivery_service import ALICE, BOB, SERVICE, DeliveryService
from tests.pipeline.stack import PipelineStack
from tests.protocols.dm3.known import changed

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    check_envelope,
    message_hash,
    open_delivery,
    open_message,
    read_envelope,
    write_envelope,
)
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey, UserKeys, wallet_message
from postroom.protocols.dm3.message import Attachment, Dm3Message, MessageMetadata, MessageType, read_message
from postroom.protocols.dm3.postmark import check_postmark, read_postmark
from postroom.protocols.dm3.profile import (
    ServiceProfile,
    UserProfile,
    data_uri,
    profile_of_uri,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.reasons import (
    ENVELOPE_INVALID,
    POSTMARK_INVALID,
    SEALED_VALUE_INVALID,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.sealing import open_sealed, seal
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.verify import check_message

URL = "https://ds.example"
TOKEN = "what their client logged in for"
REFERENCE_HASH = "0x" + "ab" * 32


@dataclass
class Dm3Exchange:
    """Alice and Bob with profiles that their client made, and our delivery service, in one registry."""

    reference: Reference
    service: DeliveryService
    alice: Person
    bob: Person

    @property
    def service_keys(self) -> ServiceKeys:
        return self.service.keys.get()

    @property
    def registry(self) -> dict[str, Any]:
        """What ENS says, for their client."""
        people: dict[str, Any] = {
            each.name: {"address": each.address, "texts": {PROFILE_KEY: each.uri}} for each in (self.alice, self.bob)
        }
        service = {SERVICE_KEY: data_uri(self.service_keys.profile(URL).as_json())}
        return people | {SERVICE: {"address": None, "texts": service}}

    # ---- their client ----------------------------------------------------------------------------------------
    def their_message(self, text: str = "Hello Bob, grüße 👋") -> Any:
        private = self.alice.keys["signingKeyPair"]["privateKey"]
        return self.reference.call("messaging.createMessage", BOB, ALICE, text, private)

    def their_envelope(self, message: Any = None) -> Any:
        """What their client would post, to the URL of our profile."""
        sent = self.reference.call(
            "client.createEnvelop", message or self.their_message(), self.alice.keys, self.registry
        )
        assert sent["deliveryServiceUrl"] == URL
        return sent["encryptedEnvelop"]

    # ---- ours ------------------------------------------------------------------------------------------------
    def our_message(
        self, text: str | None = "Hello Bob, grüße 👋", kind: MessageType = MessageType.NEW, **more: Any
    ) -> Dm3Message:
        reference_hash = None if kind is MessageType.NEW else REFERENCE_HASH
        metadata = MessageMetadata(BOB, ALICE, 1_700_000_000_000, kind, reference_hash)
        return sign_message(text, metadata, self.alice.ours.signing, **more)

    def our_envelope(self, message: Dm3Message | None = None, service_key: bytes = b"") -> Dm3Envelope:
        keys = self.alice.ours
        return write_envelope(
            message or self.our_message(),
            delivery=DeliveryInformation(BOB, ALICE),
            receiver_key=self.bob.ours.encryption.public,
            service_key=service_key or self.service_keys.encryption[0].public,
            signing=keys.signing,
        )

    def filed(self, envelope: Any) -> Any:
        """Submit it to our inbox, run our worker, and return the envelope that Bob gets."""
        said = self.service.call("dm3_submitMessage", json.dumps(envelope), TOKEN)
        assert said.get("result") == "accepted", said
        record = self.service.stack.record(self.service.stack.deployed.bodies("ClaimsQueue")[-1])
        assert self.service.stack.settle(record).fate is ClaimOutcome.ACCEPTED
        return json.loads(self.service.stack.listed(BOB)[-1].line.envelope)

    def queued(self) -> int:
        return len(self.service.stack.deployed.bodies("ClaimsQueue"))


@pytest.fixture
def exchange(stack: PipelineStack, reference: Reference) -> Dm3Exchange:
    service = DeliveryService(stack, FakeServiceKeys(ServiceKeys.generate("ed25519")))
    alice, bob = (person(reference, who, SERVICE) for who in ("alice", "bob"))
    for each in (alice, bob):
        service.users[each.name] = each.ours
        service.registry.put(each.name, PROFILE_KEY, each.uri)
    return Dm3Exchange(reference, service, alice, bob)


def refused(check: Callable[[], object]) -> Reason:
    with pytest.raises(TheirError) as caught:
        check()
    return caught.value.reason


# --- 1. their client → our inbox → our worker → their client ----------------------------------------------------


def test_their_client_opens_what_we_filed_of_theirs_and_every_signature_holds(exchange: Dm3Exchange) -> None:
    message = exchange.their_message()
    sent = exchange.their_envelope(message)
    filed = exchange.filed(sent)
    assert filed == {**sent, "postmark": filed["postmark"]}, "as it came, but for the postmark"

    opened = exchange.reference.call("messaging.decryptEnvelop", filed, exchange.bob.keys["encryptionKeyPair"])
    assert opened["message"] == message
    check = "messaging.checkMessageSignature"
    assert exchange.reference.call(check, opened["message"], exchange.alice.signing_key, ALICE) is True
    # No function of theirs checks the metadata's signature (decision "Order of checks"); by their functions it holds.
    signed = exchange.reference.call("shared.stringify", unsigned(filed["metadata"]))
    signature = filed["metadata"]["signature"]
    assert exchange.reference.call("crypto.checkSignature", exchange.alice.signing_key, signed, signature)


def test_their_functions_read_our_postmark(exchange: Dm3Exchange) -> None:
    """The form of the text (decision "Postmarks"), signed as theirs is signed. No function of theirs checks a
    postmark."""
    received_at_ms = int(exchange.service.stack.clock.now * 1000)
    filed = exchange.filed(exchange.their_envelope())
    opened = exchange.reference.call("messaging.decryptEnvelop", filed, exchange.bob.keys["encryptionKeyPair"])
    postmark = opened["postmark"]
    hash_of_postmark = exchange.reference.call(
        "shared.sha256", exchange.reference.call("shared.stringify", unsigned(postmark))
    )
    our_key = exchange.service_keys.signing.public.encode()
    assert exchange.reference.call("crypto.checkSignature", our_key, hash_of_postmark, postmark["signature"])
    assert "0x" + postmark["messageHash"] == exchange.reference.call("shared.sha256", filed["message"])
    assert postmark["deliveryInformation"] == {"to": BOB, "from": ALICE}
    # Decision "Postmarks": we spell the timestamp as the text does; who reads `incommingTimestamp` finds nothing.
    assert postmark["incomingTimestamp"] == received_at_ms
    assert "incommingTimestamp" not in postmark
    # … and the hash is the text's. Theirs of the same message, out of the postmark that their service would give:
    theirs = exchange.reference.call(
        "delivery.addPostmark", filed, exchange.bob.keys["encryptionKeyPair"]["publicKey"],
        exchange.alice.keys["signingKeyPair"]["privateKey"],
    )  # fmt: skip
    given = json.loads(
        exchange.reference.call("crypto.decryptAsymmetric", exchange.bob.keys["encryptionKeyPair"], theirs)
    )
    assert set(given) == {"messageHash", "incommingTimestamp", "signature"}
    assert given["messageHash"] not in (postmark["messageHash"], "0x" + postmark["messageHash"])


def test_our_receiver_opens_what_we_filed_of_theirs(exchange: Dm3Exchange) -> None:
    message = exchange.their_message()
    envelope = read_envelope(exchange.filed(exchange.their_envelope(message)))
    bob, alice = [exchange.bob.ours.encryption], PublicSigningKey.parse(exchange.alice.signing_key)
    opened = open_message(envelope, bob)
    assert opened.as_json() == message
    check_message(opened, alice)
    check_envelope(envelope, alice)
    assert envelope.postmark
    check_postmark(read_postmark(open_sealed(envelope.postmark, bob)), envelope, exchange.service_keys.signing.public)


def test_their_client_sends_no_id_and_is_answered(exchange: Dm3Exchange) -> None:
    """JSON-RPC 2.0 §4.1 would have it a notification, but their client waits for the answer."""
    body = exchange.reference.call("messaging.createJsonRpcCallSubmitMessage", exchange.their_envelope(), TOKEN)
    assert set(body) == {"jsonrpc", "method", "params"}
    assert [type(param) for param in body["params"]] == [str, str]
    answer = exchange.service.post(body)
    assert (answer.status, exchange.queued()) == (200, 1)
    assert json.loads(answer.body) == {"jsonrpc": "2.0", "result": "accepted", "id": None}

    envelope = json.loads(body["params"][0])
    envelope["metadata"]["signature"] = changed(envelope["metadata"]["signature"])
    answer = exchange.service.post(exchange.reference.call("messaging.createJsonRpcCallSubmitMessage", envelope, TOKEN))
    assert (answer.status, exchange.queued()) == (200, 1)
    assert json.loads(answer.body)["error"]["code"] == -32003
    assert [part.reason for part in answer.parts] == [SENDER_SIGNATURE_INVALID]


def test_with_an_id_the_answer_is_accepted_even_without_a_token(exchange: Dm3Exchange) -> None:
    body = exchange.reference.call("messaging.createJsonRpcCallSubmitMessage", exchange.their_envelope(), None)
    said = json.loads(exchange.service.post({**body, "id": "1"}).body)
    assert said == {"jsonrpc": "2.0", "result": "accepted", "id": "1"}


THEIR_ATTACHMENTS = [{"name": "a.txt", "data": "data:,a"}, {"data": "data:,b"}]
THEIR_TYPES: dict[str, tuple[tuple[Any, ...], str, MessageType]] = {
    # What stands behind the names, KEY being the sender's; what type they write; what we take it for.
    "createMessage": (("Hello", "KEY", THEIR_ATTACHMENTS), "NEW", MessageType.NEW),
    "createEditMessage": (("Hello", "KEY", REFERENCE_HASH), "EDIT", MessageType.EDIT),
    "createReplyMessage": (("Hello", "KEY", REFERENCE_HASH), "REPLY", MessageType.REPLY),
    "createReactionMessage": (("👍", "KEY", REFERENCE_HASH), "REACTION", MessageType.REACTION),
    "createDeleteRequestMessage": (("KEY", REFERENCE_HASH), "DELETE_REQUEST", MessageType.DELETE_REQUEST),
    "createReadOpenMessage": (("", "KEY", REFERENCE_HASH), "READ_OPENED", MessageType.READ_RECEIPT),
    "createReadReceiveMessage": (("", "KEY", REFERENCE_HASH), "READ_RECEIVED", MessageType.READ_RECEIPT),
}  # fmt: skip


@pytest.mark.parametrize("maker", THEIR_TYPES)
def test_every_message_that_their_client_makes_is_read_here(reference: Reference, maker: str) -> None:
    alice = person(reference, "alice", SERVICE)
    arguments, name, meant = THEIR_TYPES[maker]
    private = alice.keys["signingKeyPair"]["privateKey"]
    made = reference.call(f"messaging.{maker}", BOB, ALICE, *(private if each == "KEY" else each for each in arguments))
    assert made["metadata"]["type"] == name
    message = read_message(made)
    assert (message.metadata.type, message.as_json()) == (meant, made)
    check_message(message, alice.ours.signing.public)


# --- 2. our client → their delivery service → our receiver, or theirs ------------------------------------------


@dataclass(frozen=True)
class TheirService:
    """A delivery service of the reference."""

    profile: ServiceProfile
    keys: Any

    @property
    def signing_key(self) -> PublicSigningKey:
        return self.profile.signing_key


@pytest.fixture
def their_service(reference: Reference) -> TheirService:
    made = reference.call("profile.createDeliveryServiceProfile", URL)
    uri = reference.call("shared.createJsonDataUri", made["deliveryServiceProfile"])
    return TheirService(read_service_profile(profile_of_uri(uri)), made["keys"])


def handled(
    exchange: Dm3Exchange, service: TheirService, sent: Dm3Envelope, function: str = "delivery.handleIncomingMessage"
) -> Any:
    profile = exchange.bob.signed_profile["profile"]
    return exchange.reference.call(function, sent.as_json(), service.keys, profile)


@pytest.mark.parametrize("function", ["delivery.handleIncomingMessage", "messaging.handleMessageOnDeliveryService"])
def test_their_delivery_service_takes_our_envelope_and_we_read_it_and_their_postmark(
    exchange: Dm3Exchange, their_service: TheirService, function: str
) -> None:
    message = exchange.our_message()
    sent = exchange.our_envelope(message, their_service.profile.encryption_key)
    done = handled(exchange, their_service, sent, function)
    assert done["decryptedDeliveryInformation"] == {"to": BOB, "from": ALICE}

    envelope = read_envelope(done["encryptedEnvelop"])
    bob, alice = [exchange.bob.ours.encryption], PublicSigningKey.parse(exchange.alice.signing_key)
    assert open_message(envelope, bob) == message
    check_message(message, alice)
    check_envelope(envelope, alice)
    assert envelope.postmark
    postmark = read_postmark(open_sealed(envelope.postmark, bob))
    assert postmark.is_reference
    check_postmark(postmark, envelope, their_service.signing_key)


def test_their_functions_open_our_delivery_information_alone(
    exchange: Dm3Exchange, their_service: TheirService
) -> None:
    sent = exchange.our_envelope(service_key=their_service.profile.encryption_key)
    opened = exchange.reference.call(
        "delivery.decryptDeliveryInformation", sent.as_json(), their_service.keys["encryptionKeyPair"]
    )
    assert opened == {"to": BOB, "from": ALICE}


def test_their_client_reads_what_ours_wrote_and_their_service_postmarked(
    exchange: Dm3Exchange, their_service: TheirService
) -> None:
    message = exchange.our_message()
    done = handled(exchange, their_service, exchange.our_envelope(message, their_service.profile.encryption_key))
    opened = exchange.reference.call(
        "messaging.decryptEnvelop", done["encryptedEnvelop"], exchange.bob.keys["encryptionKeyPair"]
    )
    assert opened["message"] == message.as_json()
    check = "messaging.checkMessageSignature"
    assert exchange.reference.call(check, opened["message"], exchange.alice.signing_key, ALICE) is True
    forged = {**opened["message"], "message": "Goodbye"}
    assert exchange.reference.call(check, forged, exchange.alice.signing_key, ALICE) is False


def test_their_client_reads_what_ours_wrote_and_our_service_postmarked(exchange: Dm3Exchange) -> None:
    message = exchange.our_message()
    filed = exchange.filed(exchange.our_envelope(message).as_json())
    opened = exchange.reference.call("messaging.decryptEnvelop", filed, exchange.bob.keys["encryptionKeyPair"])
    assert opened["message"] == message.as_json()


def test_their_schema_takes_our_envelope(exchange: Dm3Exchange) -> None:
    """Their delivery service asks it first of all; decision "Versions": it wants a hash that the text does not name."""
    envelope = exchange.our_envelope().as_json()
    fits = ("schema.fits", "messaging", "EncryptionEnvelopeSchema")
    assert exchange.reference.call(*fits, envelope) is True
    assert exchange.reference.call(*fits, tampered(envelope, "encryptedMessageHash", None)) is False


def test_their_schema_takes_our_messages(exchange: Dm3Exchange) -> None:
    for message in (
        exchange.our_message(),
        exchange.our_message(attachments=[Attachment("data:,a", name="a.txt", is_object=True)]),
        exchange.our_message("Edited", MessageType.EDIT),
        exchange.our_message(None, MessageType.DELETE_REQUEST),
    ):
        assert exchange.reference.call("schema.fits", "messaging", "MessageSchema", message.as_json())


def test_their_schema_of_messages_knows_neither_the_texts_attachments_nor_its_read_receipt(
    exchange: Dm3Exchange,
) -> None:
    """Decision "Message types". Only their schema: their functions open both, and the signature holds."""
    with_uri = exchange.our_message(attachments=[Attachment("https://example.com/a.txt")])
    receipt = exchange.our_message(None, MessageType.READ_RECEIPT)
    for message in (with_uri, receipt):
        assert not exchange.reference.call("schema.fits", "messaging", "MessageSchema", message.as_json())
        filed = exchange.filed(exchange.our_envelope(message).as_json())
        opened = exchange.reference.call("messaging.decryptEnvelop", filed, exchange.bob.keys["encryptionKeyPair"])
        check = ("messaging.checkMessageSignature", opened["message"], exchange.alice.signing_key, ALICE)
        assert exchange.reference.call(*check) is True


def test_their_functions_check_no_signature_of_secp256k1(exchange: Dm3Exchange) -> None:
    """Decision "Signatures": the text's algorithm, and what our keys are by default."""
    key = PrivateSigningKey.generate("secp256k1")
    message = sign_message("Hello", MessageMetadata(BOB, ALICE, 1), key)
    check_message(message, key.public)
    with pytest.raises(RefusedError, match="invalid publicKey length"):
        exchange.reference.call("messaging.checkMessageSignature", message.as_json(), key.public.encode(), ALICE)


# --- 3. what was tampered with, we refuse -----------------------------------------------------------------------

SIGNATURE_INVALID, NOT_FITTING = (-32003, "SenderSignatureInvalid"), (-32000, "EnvelopeInvalid")
METADATA = {
    "version": ("1.0", SIGNATURE_INVALID),
    "encryptionScheme": (None, SIGNATURE_INVALID),
    "deliveryInformation": ("of another", SIGNATURE_INVALID),
    "encryptedMessageHash": ("of another", SIGNATURE_INVALID),
    "signature": ("of another", SIGNATURE_INVALID),
}


def tampered(envelope: Any, member: str, value: object) -> Any:
    """With another value of one member of the metadata; None: without it."""
    metadata = {**envelope["metadata"], member: value}
    return {**envelope, "metadata": {name: each for name, each in metadata.items() if each is not None}}


def refusal(said: dict[str, Any]) -> tuple[int, str]:
    return said["error"]["code"], said["error"]["data"]["reason"]


def test_every_member_of_their_metadata_is_one_of_those_below(exchange: Dm3Exchange) -> None:
    assert set(exchange.their_envelope()["metadata"]) == set(METADATA)


@pytest.mark.parametrize("member", METADATA)
def test_no_metadata_of_theirs_can_be_changed(exchange: Dm3Exchange, member: str) -> None:
    envelope, another = exchange.their_envelope(), exchange.their_envelope(exchange.their_message("Another"))
    value, expected = METADATA[member]
    value = another["metadata"][member] if value == "of another" else value
    assert refusal(exchange.service.submit(tampered(envelope, member, value))) == expected
    assert exchange.queued() == 0
    assert exchange.service.submit(envelope)["result"] == "accepted", "untouched it is good"


@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("version", "v2", NOT_FITTING),
        ("encryptionScheme", "rot13", (-32000, "EncryptionSchemeUnknown")),
        ("added", "x", SIGNATURE_INVALID),
        ("encryptedMessageHash", None, SIGNATURE_INVALID),
        ("deliveryInformation", None, NOT_FITTING),
        ("signature", None, NOT_FITTING),
    ],
)
def test_members_can_be_neither_added_nor_removed(
    exchange: Dm3Exchange, member: str, value: object, expected: tuple[int, str]
) -> None:
    assert refusal(exchange.service.submit(tampered(exchange.their_envelope(), member, value))) == expected


@pytest.mark.parametrize("part", ["ciphertext", "ephemPublicKey", "nonce"])
def test_no_part_of_the_sealed_delivery_information_can_be_changed(exchange: Dm3Exchange, part: str) -> None:
    envelope = exchange.their_envelope()
    sealed = json.loads(envelope["metadata"]["deliveryInformation"])
    other = json.loads(exchange.their_envelope()["metadata"]["deliveryInformation"])
    damaged = json.dumps({**sealed, part: other[part]})
    assert refusal(exchange.service.submit(tampered(envelope, "deliveryInformation", damaged))) == (
        -32000, "SealedValueInvalid",
    )  # fmt: skip


def test_no_other_message_can_be_put_into_their_envelope(exchange: Dm3Exchange) -> None:
    envelope, another = exchange.their_envelope(), exchange.their_envelope(exchange.their_message("Another"))
    assert refusal(exchange.service.submit({**envelope, "message": another["message"]})) == NOT_FITTING
    assert exchange.queued() == 0


def test_a_message_signed_by_bob_is_not_from_alice(exchange: Dm3Exchange) -> None:
    sent = exchange.reference.call(
        "client.createEnvelop", exchange.their_message(), exchange.bob.keys, exchange.registry
    )
    assert refusal(exchange.service.submit(sent["encryptedEnvelop"])) == SIGNATURE_INVALID


def test_no_other_message_can_be_put_into_a_filed_envelope(exchange: Dm3Exchange) -> None:
    first, second = (
        exchange.filed(exchange.their_envelope(exchange.their_message(text))) for text in ("First", "Second")
    )
    swapped = read_envelope({**first, "message": second["message"]})
    alice = PublicSigningKey.parse(exchange.alice.signing_key)
    assert refused(lambda: check_envelope(swapped, alice)) is ENVELOPE_INVALID
    assert swapped.postmark
    postmark = read_postmark(open_sealed(swapped.postmark, [exchange.bob.ours.encryption]))
    key = exchange.service_keys.signing.public
    assert refused(lambda: check_postmark(postmark, swapped, key)) is POSTMARK_INVALID


@pytest.mark.parametrize("member", ["message", "postmark"])
@pytest.mark.parametrize("part", ["ciphertext", "ephemPublicKey", "nonce"])
def test_no_part_of_what_is_sealed_in_a_filed_envelope_can_be_changed(
    exchange: Dm3Exchange, member: str, part: str
) -> None:
    first, second = (
        exchange.filed(exchange.their_envelope(exchange.their_message(text))) for text in ("First", "Second")
    )
    damaged = json.dumps({**json.loads(first[member]), part: json.loads(second[member])[part]})
    assert refused(lambda: open_sealed(damaged, [exchange.bob.ours.encryption])) is SEALED_VALUE_INVALID
    open_sealed(first[member], [exchange.bob.ours.encryption])


def members(value: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of everything that can be changed."""
    for name, each in value.items():
        if isinstance(each, dict):
            yield from members(each, (*path, name))
        else:
            yield (*path, name)


def with_another(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    name, *rest = path
    inner = value[name]
    return {**value, name: with_another(inner, tuple(rest)) if rest else changed(inner)}


def test_no_member_of_their_message_can_be_changed(exchange: Dm3Exchange) -> None:
    message, alice = exchange.their_message(), PublicSigningKey.parse(exchange.alice.signing_key)
    check_message(read_message(message), alice)
    paths = set(members(message))
    assert paths == {
        ("message",), ("signature",),
        *(("metadata", name) for name in ("to", "from", "timestamp", "type")),
    }  # fmt: skip
    for path in paths - {("metadata", "type")}:
        forged = read_message(with_another(message, path))
        assert refused(partial(check_message, forged, alice)) is SENDER_SIGNATURE_INVALID, path
    receipt = read_message({**message, "metadata": {**message["metadata"], "type": "READ_RECEIVED"}})
    assert refused(lambda: check_message(receipt, alice)) is SENDER_SIGNATURE_INVALID


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_no_member_of_a_postmark_can_be_changed(exchange: Dm3Exchange, their_service: TheirService, whose: str) -> None:
    if whose == "ours":
        filed, key = exchange.filed(exchange.their_envelope()), exchange.service_keys.signing.public
    else:
        sent = exchange.our_envelope(service_key=their_service.profile.encryption_key)
        filed, key = handled(exchange, their_service, sent)["encryptedEnvelop"], their_service.signing_key
    envelope = read_envelope(filed)
    postmark = json.loads(open_sealed(filed["postmark"], [exchange.bob.ours.encryption]))
    check_postmark(read_postmark(json.dumps(postmark).encode()), envelope, key)
    paths = set(members(postmark))
    assert len(paths) == (5 if whose == "ours" else 3)
    for path in paths:
        forged = read_postmark(json.dumps(with_another(postmark, path)).encode())
        assert refused(partial(check_postmark, forged, envelope, key)) is POSTMARK_INVALID, path


def test_a_postmark_of_another_service_is_not_ours(exchange: Dm3Exchange, their_service: TheirService) -> None:
    filed = exchange.filed(exchange.their_envelope())
    sealed = exchange.reference.call(
        "delivery.addPostmark", filed, exchange.bob.keys["encryptionKeyPair"]["publicKey"],
        their_service.keys["signingKeyPair"]["privateKey"],
    )  # fmt: skip
    postmark = read_postmark(open_sealed(json.dumps(sealed), [exchange.bob.ours.encryption]))
    check_postmark(postmark, read_envelope(filed), private_signing_key(their_service.keys).public)
    ours = exchange.service_keys.signing.public
    assert refused(lambda: check_postmark(postmark, read_envelope(filed), ours)) is POSTMARK_INVALID


def test_sealed_values_are_opened_by_either_side(exchange: Dm3Exchange) -> None:
    """The delivery information and the hash, taken by themselves."""
    envelope = read_envelope(exchange.their_envelope())
    assert open_delivery(envelope, exchange.service_keys.encryption) == DeliveryInformation(BOB, ALICE)
    assert "0x" + message_hash(envelope) == exchange.reference.call("shared.sha256", envelope.message)
    sealed = json.loads(seal("grüße 👋".encode(), exchange.bob.ours.encryption.public))
    opened = exchange.reference.call("crypto.decryptAsymmetric", exchange.bob.keys["encryptionKeyPair"], sealed)
    assert opened == "grüße 👋"


# --- 4. profiles --------------------------------------------------------------------------------------------------


def test_a_wallet_derives_the_same_keys_on_both_sides(exchange: Dm3Exchange) -> None:
    text = wallet_message(exchange.alice.address, exchange.alice.nonce)
    signature = exchange.reference.call("wallet.signMessage", exchange.alice.wallet, text)
    assert UserKeys.from_wallet_signature(signature).as_json() == exchange.alice.ours.as_json()


def test_we_read_the_profile_that_their_client_publishes(exchange: Dm3Exchange) -> None:
    uri = exchange.reference.call("shared.createJsonDataUri", exchange.alice.signed_profile)
    profile = read_user_profile(profile_of_uri(uri))
    keys = exchange.alice.ours
    assert profile == UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,))


def published(exchange: Dm3Exchange, profile: object) -> dict[str, Any]:
    entry = {"address": exchange.alice.address, "texts": {PROFILE_KEY: data_uri(profile)}}  # type: ignore[arg-type]
    return {ALICE: entry}


def test_they_read_our_users_profile_only_in_a_wrapper_that_the_wallet_signed(exchange: Dm3Exchange) -> None:
    """Decision "Profiles": the text publishes the profile itself, and we read both."""
    keys = exchange.alice.ours
    profile = UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json()
    with pytest.raises(RefusedError, match="Profile doesn't fit schema"):
        exchange.reference.call("client.getUserProfile", ALICE, published(exchange, profile))

    text = exchange.reference.call("shared.stringify", profile)
    asked = exchange.reference.call("profile.getProfileCreationMessage", text, exchange.alice.address)
    wrapped = {
        "profile": profile,
        "signature": exchange.reference.call("wallet.signMessage", exchange.alice.wallet, asked),
    }
    assert exchange.reference.call("client.getUserProfile", ALICE, published(exchange, wrapped)) == wrapped
    assert read_user_profile(wrapped) == read_user_profile(profile)


def test_a_wrapper_that_another_wallet_signed_is_refused_there_and_read_here(exchange: Dm3Exchange) -> None:
    """Whoever writes into the registry vouches for the profile here; the wallet's signature proves nothing more."""
    wrapped = {
        "profile": exchange.alice.signed_profile["profile"],
        "signature": exchange.bob.signed_profile["signature"],
    }
    with pytest.raises(RefusedError, match="Couldn't verify user profile"):
        exchange.reference.call("client.getUserProfile", ALICE, published(exchange, wrapped))
    assert read_user_profile(wrapped).signing_key.encode() == exchange.alice.signing_key


def test_they_read_the_profile_of_our_delivery_service(exchange: Dm3Exchange) -> None:
    read = exchange.reference.call("client.getDeliveryServiceProfile", SERVICE, exchange.registry)
    assert read == exchange.service_keys.profile(URL).as_json()


def test_we_read_the_profile_of_a_delivery_service_of_theirs(reference: Reference) -> None:
    made = reference.call("profile.createDeliveryServiceProfile", URL)
    uri = reference.call("shared.createJsonDataUri", made["deliveryServiceProfile"])
    profile = read_service_profile(profile_of_uri(uri))
    assert (profile.url, profile.signing_key) == (URL, private_signing_key(made["keys"]).public)
    assert profile.as_json() == made["deliveryServiceProfile"]
