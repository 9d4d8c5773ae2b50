"""`postroom dm3 open`'s explanation: every check that a receiver can make, going on after a failed one."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.names import FakeRegistry
from tests.protocols.dm3.known import BUILDS, each_build, encryption_key, private_signing_key

from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON
from postroom.crypto.x25519 import EncryptionKey
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    message_hash,
    read_envelope,
    write_envelope,
)
from postroom.protocols.dm3.explain import Opened, explain
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.reasons import (
    ENVELOPE_INVALID,
    POSTMARK_INVALID,
    PROFILE_UNKNOWN,
    SEALED_VALUE_INVALID,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message

ALICE, BOB, MALLORY = UserKeys.random(), UserKeys.random(), UserKeys.random()
SERVICE, OTHER_SERVICE = ServiceKeys.generate(), ServiceKeys.generate()
SENT_AT, CAME_AT = 1_795_253_400_000, 1_795_253_401_000
SIGNED = ["sender's profile", "message signature", "envelope signature"]
STAMPED = ["postmark hash", "postmark signature", "delivery information"]
ALL = ["json", "envelope", "message", "postmark", "hashes in the metadata", *SIGNED, *STAMPED]


class Registry(FakeRegistry):
    """Alice, Bob and his two delivery services; a name of `away` cannot be looked up just now."""

    def __init__(self) -> None:
        super().__init__()
        for name, keys, services in (("alice.eth", ALICE, ["ds.eth"]), ("bob.eth", BOB, ["other.eth", "ds.eth"])):
            profile = UserProfile(keys.encryption.public, keys.signing.public, tuple(services))
            self.put(name, PROFILE_KEY, data_uri(profile.as_json()))
        for name, service in (("ds.eth", SERVICE), ("other.eth", OTHER_SERVICE)):
            self.put(name, SERVICE_KEY, data_uri(service.profile(f"https://{name}").as_json()))


def sealed(
    *,
    sender: str = "alice.eth",
    to: str = "bob.eth",
    stamped: DeliveryInformation | None = None,
    keys: UserKeys = ALICE,
    envelope_keys: UserKeys = ALICE,
    service: ServiceKeys = SERVICE,
    extra: dict[str, Any] | None = None,
) -> Dm3Envelope:
    """A message from Alice to Bob as it is filed, with whatever is said changed."""
    message = sign_message("hello", MessageMetadata(to, sender, SENT_AT), keys.signing)
    delivery = DeliveryInformation("bob.eth", "alice.eth")
    written = write_envelope(
        message,
        delivery=delivery,
        receiver_key=BOB.encryption.public,
        service_key=service.encryption[0].public,
        signing=envelope_keys.signing,
        extra=extra,
    )
    return postmarked(written, stamped or delivery, service)


def postmarked(envelope: Dm3Envelope, delivery: DeliveryInformation, service: ServiceKeys = SERVICE) -> Dm3Envelope:
    stamp = make_postmark(envelope.message, delivery, CAME_AT, service.signing, BOB.encryption.public)
    return replace(envelope, postmark=stamp)


def explained(envelope: Dm3Envelope | bytes, *, keys: UserKeys = BOB, registry: MemoryRegistry | None = None) -> Opened:
    data = envelope if isinstance(envelope, bytes) else envelope.encode().encode()
    return explain(data, keys, Profiles(registry or Registry(), lambda: 0.0))


def failed(opened: Opened) -> list[str]:
    return [check.name for check in opened.checks if not check.ok]


def saw(opened: Opened, name: str) -> str:
    [found] = [check.saw for check in opened.checks if check.name == name]
    return found


def test_a_good_message_passes_every_check_and_is_shown() -> None:
    envelope = sealed()
    opened = explained(envelope)
    assert [check.name for check in opened.checks] == ALL
    assert (failed(opened), opened.verdict, opened.reason) == ([], "accepted", None)
    assert opened.message is not None
    assert (opened.message.message, opened.message_hash) == ("hello", message_hash(envelope))
    assert saw(opened, "envelope") == "an object of message, metadata, postmark"
    assert saw(opened, "postmark signature") == "by ds.eth, of what came in at 2026-11-21T09:30:01.000Z"


def test_each_check_has_what_it_expected_and_the_section() -> None:
    checks = {check.name: check for check in explained(sealed()).checks}
    assert all(check.expected and check.saw for check in checks.values())
    assert all(check.section.startswith(("dm3 §2.", 'decision "', "RFC ")) for check in checks.values())
    assert checks["message signature"].expected == f"a signature by secp256k1 {ALICE.signing.public.fingerprint}"
    assert checks["delivery information"].expected == "as the message: alice.eth to bob.eth"


BY_MALLORY: dict[str, tuple[Callable[[], Dm3Envelope], list[str], Reason]] = {
    "the message": (lambda: sealed(keys=MALLORY), ["message signature"], SENDER_SIGNATURE_INVALID),
    "the metadata": (lambda: sealed(envelope_keys=MALLORY), ["envelope signature"], SENDER_SIGNATURE_INVALID),
    "both": (
        lambda: sealed(keys=MALLORY, envelope_keys=MALLORY), SIGNED[1:], SENDER_SIGNATURE_INVALID,
    ),
    "the postmark": (
        lambda: postmarked(sealed(), DeliveryInformation("bob.eth", "alice.eth"), ServiceKeys.generate()),
        ["postmark signature"], POSTMARK_INVALID,
    ),
    "another message under this postmark": (
        lambda: replace(sealed(), postmark=sealed().postmark), ["postmark hash"], POSTMARK_INVALID,
    ),
    "what Alice wrote to Mallory": (
        lambda: sealed(to="mallory.eth"), ["postmark signature", "delivery information"], PROFILE_UNKNOWN,
    ),
    "a postmark for somebody else": (
        lambda: sealed(stamped=DeliveryInformation("carol.eth", "alice.eth")),
        ["delivery information"], POSTMARK_INVALID,
    ),
    "a postmark from somebody else": (
        lambda: sealed(stamped=DeliveryInformation("bob.eth", "carol.eth")),
        ["delivery information"], POSTMARK_INVALID,
    ),
    "a hash in the metadata": (
        lambda: sealed(extra={"encryptedMessageHash": "0x" + "00" * 32}),
        ["hashes in the metadata"], ENVELOPE_INVALID,
    ),
    "a hash of the message": (
        lambda: sealed(extra={"messageHash": "00" * 32}), ["hashes in the metadata"], ENVELOPE_INVALID,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "bad", "reason"), BY_MALLORY.values(), ids=BY_MALLORY)
def test_a_forgery_fails_its_own_check_only(make: Callable[[], Dm3Envelope], bad: list[str], reason: Reason) -> None:
    opened = explained(make())
    assert (failed(opened), opened.reason, opened.verdict) == (bad, reason, "refused")
    assert [check.name for check in opened.checks] == ALL


def test_any_delivery_service_of_the_receiver_may_have_set_the_postmark() -> None:
    assert saw(explained(sealed(service=OTHER_SERVICE)), "postmark signature").startswith("by other.eth, ")


def test_names_are_compared_normalized() -> None:
    opened = explained(sealed(sender="Alice.ETH", stamped=DeliveryInformation("BOB.eth", "alice.eth")))
    assert failed(opened) == []


def test_an_unopened_part_is_reported_and_the_rest_is_checked() -> None:
    whole = sealed()
    opened = explained(replace(whole, message=whole.message.replace("A", "B", 1)))
    assert failed(opened) == ["message", "postmark hash"]
    assert opened.message is None
    assert [check.name for check in opened.checks if check.ok][-3:] == [
        "sender's profile", "envelope signature", "postmark signature",
    ]  # fmt: skip


def test_another_key_opens_nothing() -> None:
    opened = explained(sealed(), keys=MALLORY)
    assert failed(opened) == ["message", "postmark"]
    assert opened.reason is SEALED_VALUE_INVALID


def test_without_a_postmark_the_sender_is_still_checked() -> None:
    opened = explained(replace(sealed(), postmark=None))
    assert (failed(opened), opened.reason) == (["postmark"], POSTMARK_INVALID)
    assert saw(opened, "postmark") == "absent (no delivery service has set one)"
    assert [check.name for check in opened.checks][-3:] == SIGNED


@pytest.mark.parametrize(
    ("away", "bad"),
    [
        ({"alice.eth"}, ["sender's profile"]),
        ({"bob.eth"}, ["postmark signature"]),
        ({"ds.eth"}, ["postmark signature"]),
        ({"other.eth"}, []),
    ],
    ids=str,
)
def test_a_failed_look_up_is_unknown_rather_than_bad(away: set[str], bad: list[str]) -> None:
    registry = Registry()
    registry.away = away
    opened = explained(sealed(), registry=registry)
    assert (failed(opened), opened.verdict) == (bad, "retry" if bad else "accepted")


def test_a_failed_check_outweighs_unknown_ones() -> None:
    registry = Registry()
    registry.away = {"alice.eth"}
    opened = explained(sealed(stamped=DeliveryInformation("bob.eth", "carol.eth")), registry=registry)
    assert failed(opened) == ["sender's profile", "delivery information"]
    assert (opened.reason, opened.verdict) == (POSTMARK_INVALID, "refused")


def test_a_sender_without_a_profile_is_unverified() -> None:
    opened = explained(sealed(), registry=MemoryRegistry())
    assert failed(opened) == ["sender's profile", "postmark signature"]
    assert opened.reason is PROFILE_UNKNOWN


# ---- the reference's ---------------------------------------------------------------------------------------------
def reference(build: dict[str, Any]) -> tuple[Dm3Envelope, UserKeys, MemoryRegistry]:
    """The envelope of a build with its postmark, Bob's keys, and the registry its clients saw."""
    stamped = {**build["envelope"]["encryptedEnvelop"], "postmark": build["postmark"]["encrypted"]}
    bob = build["profiles"]["bob"]
    keys = UserKeys(private_signing_key(bob["signingKeyPair"]), encryption_key(bob["encryptionKeyPair"]))
    registry = MemoryRegistry({
        "alice.eth": {PROFILE_KEY: build["profiles"]["alice"]["dataUri"]},
        "bob.eth": {PROFILE_KEY: bob["dataUri"]},
        "ds.eth": {SERVICE_KEY: build["deliveryService"]["dataUri"]},
    })  # fmt: skip
    return read_envelope(stamped), keys, registry


@each_build
def test_the_references_messages_pass(build: dict[str, Any]) -> None:
    envelope, keys, registry = reference(build)
    opened = explained(envelope, keys=keys, registry=registry)
    assert failed(opened) == []
    assert [check.name for check in opened.checks][-3:] == ["postmark hash", "postmark signature", "receiver"]
    assert saw(opened, "hashes in the metadata") == build["envelope"]["hashField"]


def test_the_references_postmark_names_nobody_so_the_receivers_profile_must_be_mine() -> None:
    envelope, keys, registry = reference(BUILDS["npm-1.7.1"])
    other = UserProfile(EncryptionKey.generate().public, PrivateSigningKey.generate().public, ("ds.eth",))
    registry.put("bob.eth", PROFILE_KEY, data_uri(other.as_json()))
    opened = explained(envelope, keys=keys, registry=registry)
    assert (failed(opened), opened.reason) == (["receiver"], POSTMARK_INVALID)


# ---- whatever comes ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "json", NOT_JSON),
        (b'{"a":1,"a":2}', "json", NOT_I_JSON),
        (b"[]", "envelope", ENVELOPE_INVALID),
        (b'{"message":"m","metadata":{"version":"2"}}', "envelope", ENVELOPE_INVALID),
    ],
)
def test_an_invalid_envelope_ends_the_checks(data: bytes, name: str, reason: Reason) -> None:
    opened = explained(data)
    assert (opened.checks[-1].name, opened.reason, opened.message) == (name, reason, None)


@given(st.sampled_from(["message", "postmark"]), st.text(max_size=200))
def test_any_sealed_text_is_explained(member: str, text: str) -> None:
    value = sealed().as_json()
    value[member] = text
    opened = explained(json.dumps(value).encode(errors="replace"))
    assert opened.reason in (ENVELOPE_INVALID, SEALED_VALUE_INVALID, NOT_I_JSON)


def test_long_values_are_shortened() -> None:
    long_key = base64.b64encode(bytes(3000)).decode()
    envelope = sealed()
    shown = explained(replace(envelope, metadata=replace(envelope.metadata, signature=long_key)))
    assert saw(shown, "envelope signature").startswith("A" * 120 + "… (4000 characters) (")
