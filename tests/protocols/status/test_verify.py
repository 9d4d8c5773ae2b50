"""Who wrote a wrapper, who may bring it, and in which chat it is (decisions "Authors" and "Chats")."""

from typing import Any

import pytest
from coincurve.utils import GROUP_ORDER_INT
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.entry import outcome_of
from tests.protocols.status.known import (
    ALICE,
    BOB,
    GROUP,
    ID,
    IN_GROUP,
    MALLORY,
    NOW,
    OFF_THE_CURVE,
    SAMPLES,
    Field,
    each_sample,
    each_vector,
    founding,
    own_of,
    reaction,
    refused,
    text,
    wrapped,
    wrapper_of,
)
from tests.protocols.status.made import MESSAGES
from tests.protocols.status.test_chats import NO_CHANNELS, NO_GROUPS
from tests.tiers import examples

import postroom.protocols.status.membership as membership_module
import postroom.protocols.status.verify as verify_module
from postroom.protocols.status import messages as m
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, MembershipEventType, PayloadType
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import read_signed_event, sign_event
from postroom.protocols.status.reasons import (
    AUTHOR_NOT_CARRIER,
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    CHAT_INVALID,
    MEDIA_INVALID,
    MEMBERSHIP_INVALID,
    NOT_FROM_OWN_KEY,
    PAYLOAD_INVALID,
    PAYLOAD_TYPE_UNKNOWN,
    WRAPPER_INVALID,
    WRITTEN_TO_ANOTHER,
)
from postroom.protocols.status.verify import NO_CHAT_KEY, OWN_DEVICES, ChatRef, VerifiedPayload, recovered_keys, verify
from postroom.protocols.status.wrapper import write_wrapper

IN_CHANNEL = {"chat_id": "status", "message_type": ChatKind.PUBLIC_GROUP}
DEVICES = [sample for sample in SAMPLES.values() if type_of_message(sample) in OWN_DEVICES]


def verified(message: m.StatusMessage, own: ChatKey = BOB.public, **options: Any) -> VerifiedPayload:
    return verify(wrapper_of(message), own=own, named=type_of_message(message), **options)


@each_vector
def test_known_wrappers_are_of_their_authors(vector: dict[str, Any]) -> None:
    type_, author = vector["application_metadata_type"], vector["author_public_key"]
    own = author if type_ in OWN_DEVICES else (ALICE if author == BOB.public else BOB).public
    for name in ("status_protocol_message", "application_metadata_message"):
        data = bytes.fromhex(vector[name])
        if vector["name"] == "contact update":
            refused(lambda data=data: verify(data, own=own, named=type_), MEDIA_INVALID)
        else:
            found = verify(data, own=own, named=type_)
            known = vector["message_id" if name == "status_protocol_message" else "application_metadata_message_id"]
            assert (found.id, found.author, found.type) == (known, author, type_)
            assert found.payload.hex() == vector["payload"]
            assert found.marks == ()
            assert found.is_signed


@each_sample
def test_what_is_sent_is_accepted(sample: m.StatusMessage) -> None:
    found = verified(sample, own_of(sample))
    assert found.message == sample
    assert found.author == ALICE.public
    assert found.id == message_id(ALICE.public, wrapper_of(sample))
    # Also if the carrier proves who sent it.
    assert verified(sample, own_of(sample), carrier=ALICE.public) == found


@each_sample
def test_unsigned_it_is_of_whoever_sent_the_carrier(sample: m.StatusMessage) -> None:
    data, type_ = wrapper_of(sample, None), type_of_message(sample)
    refused(lambda: verify(data, own=own_of(sample), named=type_), AUTHOR_UNKNOWN)
    found = verify(data, own=own_of(sample), named=type_, carrier=ALICE.public)
    assert (found.author, found.marks, found.is_signed) == (ALICE.public, ("unsigned",), False)
    assert found.id == message_id(None, data)


@each_sample
def test_only_what_is_in_a_channel_is_passed_on(sample: m.StatusMessage) -> None:
    data, type_ = wrapper_of(sample), type_of_message(sample)
    for carrier in (MALLORY.public, own_of(sample) if type_ not in OWN_DEVICES else MALLORY.public, NO_CHAT_KEY):
        if getattr(sample, "message_type", None) == ChatKind.PUBLIC_GROUP:
            assert verify(data, own=own_of(sample), named=type_, carrier=carrier).author == ALICE.public
        else:
            refused(
                lambda carrier=carrier: verify(data, own=own_of(sample), named=type_, carrier=carrier),
                AUTHOR_NOT_CARRIER,
            )


@pytest.mark.parametrize(
    "message",
    [reaction(**IN_CHANNEL), m.PinMessage(NOW, ID, **IN_CHANNEL), m.EditMessage(NOW, "x", message_id=ID, **IN_CHANNEL),
     m.DeleteMessage(NOW, message_id=ID, **IN_CHANNEL)],
)  # fmt: skip
def test_so_is_what_is_about_a_message_in_a_channel(message: m.StatusMessage) -> None:
    assert verified(message, carrier=MALLORY.public).author == ALICE.public


def test_unsigned_nobody_passes_it_on_as_anothers() -> None:
    data = wrapper_of(text(**IN_CHANNEL), None)
    assert verify(data, own=BOB.public, carrier=MALLORY.public).author == MALLORY.public


def test_a_message_of_an_unknown_type_is_kept_as_not_understood() -> None:
    found = verify(wrapped(b"\xff", 99), own=BOB.public)
    assert (found.message, found.chat, found.marks) == (None, None, ("not-understood",))
    assert verify(wrapped(b"\xff", 99, None), own=BOB.public, carrier=ALICE.public).marks == (
        "unsigned",
        "not-understood",
    )
    refused(lambda: verify(wrapped(b"\xff", 99), own=BOB.public, carrier=BOB.public), AUTHOR_NOT_CARRIER)


# --- own devices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", DEVICES)
def test_what_devices_say_to_each_other_is_from_ones_own_key(sample: m.StatusMessage) -> None:
    type_ = type_of_message(sample)
    assert verified(sample, ALICE.public).author == ALICE.public
    refused(lambda: verified(sample, BOB.public), NOT_FROM_OWN_KEY)
    refused(lambda: verified(sample, BOB.public, carrier=ALICE.public), NOT_FROM_OWN_KEY)
    unsigned = wrapper_of(sample, None)
    refused(lambda: verify(unsigned, own=ALICE.public, named=type_, carrier=MALLORY.public), NOT_FROM_OWN_KEY)


def test_those_are_all_the_types_between_devices() -> None:
    assert {type_of_message(sample) for sample in DEVICES} == OWN_DEVICES
    assert {each.value for each in OWN_DEVICES} == {4, 12, 14, 41, 58}


# --- chats --------------------------------------------------------------------------------------------------------


def test_a_chat_of_two_is_of_its_author() -> None:
    with_alice = ChatRef(ChatKind.ONE_TO_ONE, ALICE.public)
    assert verified(text()).chat == with_alice
    # What is no key is not used.
    for words in ("x", "status", GROUP, OFF_THE_CURVE, BOB.public.upper(), BOB.public[2:], "\0"):
        assert verified(text(chat_id=words)).chat == with_alice


def test_what_was_written_to_another_is_refused() -> None:
    for other in (MALLORY.public, ALICE.public):
        refused(lambda other=other: verified(text(chat_id=other)), WRITTEN_TO_ANOTHER)
        refused(lambda other=other: verified(reaction(chat_id=other)), WRITTEN_TO_ANOTHER)
    # Also unsigned, and with a carrier that proves the author.
    data = wrapper_of(text(chat_id=MALLORY.public), None)
    refused(lambda: verify(data, own=BOB.public, carrier=ALICE.public), WRITTEN_TO_ANOTHER)


def test_ones_own_message_is_in_the_chat_that_it_names() -> None:
    assert verified(text(), ALICE.public).chat == ChatRef(ChatKind.ONE_TO_ONE, BOB.public)
    assert verified(text(chat_id=ALICE.public), ALICE.public).chat == ChatRef(ChatKind.ONE_TO_ONE, ALICE.public)
    for words in ("x", OFF_THE_CURVE, BOB.public[2:], GROUP):
        refused(lambda words=words: verified(text(chat_id=words), ALICE.public), CHAT_INVALID)


@pytest.mark.parametrize("make", [text, reaction])
def test_channels_and_groups_have_ids_of_their_kind(make: Any) -> None:
    assert verified(make(**IN_CHANNEL)).chat == ChatRef(ChatKind.PUBLIC_GROUP, "status")
    assert verified(make(**IN_GROUP)).chat == ChatRef(ChatKind.PRIVATE_GROUP, GROUP)
    for name in filter(None, NO_CHANNELS):
        refused(lambda name=name: verified(make(chat_id=name, message_type=ChatKind.PUBLIC_GROUP)), CHAT_INVALID)
    for name in filter(None, NO_GROUPS.values()):
        refused(lambda name=name: verified(make(chat_id=name, message_type=ChatKind.PRIVATE_GROUP)), CHAT_INVALID)
    for kind in (5, 6, 99, -1):
        refused(lambda kind=kind: verified(make(message_type=kind)), CHAT_INVALID)


@pytest.mark.parametrize(
    ("chat_id", "kind"),
    [(BOB.public, ChatKind.ONE_TO_ONE), ("status", ChatKind.PUBLIC_GROUP), (GROUP, ChatKind.PRIVATE_GROUP)],
)
def test_a_cleared_history_is_of_any_kind_of_chat(chat_id: str, kind: ChatKind) -> None:
    assert verified(m.SyncClearHistory(chat_id, NOW), ALICE.public).chat == ChatRef(kind, chat_id)


def test_and_of_nothing_else() -> None:
    for words in ("Status", OFF_THE_CURVE, ID, "a b"):
        refused(lambda words=words: verified(m.SyncClearHistory(words, NOW), ALICE.public), CHAT_INVALID)


# --- groups -------------------------------------------------------------------------------------------------------


def test_events_that_can_count_are_read() -> None:
    bad = [b"", founding()[:65], b"\1" * 80, founding(key=MALLORY), founding(clock=1)[:65] + b"\x08\0"]
    update = m.MembershipUpdateMessage(GROUP, (bad[0], founding(), *bad[1:]))
    found = verified(update)
    assert [(event.author, event.event.type) for event in found.events] == [
        (ALICE.public, MembershipEventType.CHAT_CREATED)
    ]
    assert found.chat == ChatRef(ChatKind.PRIVATE_GROUP, GROUP)


def stranger() -> bytes:
    event = m.MembershipUpdateEvent(NOW, MembershipEventType.MEMBERS_ADDED, (OFF_THE_CURVE,))
    return sign_event(GROUP, event, ALICE)


@pytest.mark.parametrize(
    "events", [(b"",), (founding()[:65],), (b"x" * 64,), (stranger(), stranger()), (founding(key=MALLORY),)]
)
def test_an_update_of_nothing_that_can_count_is_refused(events: tuple[bytes, ...]) -> None:
    assert refused(lambda: verified(m.MembershipUpdateMessage(GROUP, events)), MEMBERSHIP_INVALID)
    # With a message in it, that counts.
    assert verified(m.MembershipUpdateMessage(GROUP, events, text(**IN_GROUP))).events == ()


def test_an_update_may_be_sent_by_another_than_the_author_of_its_events() -> None:
    found = verify(wrapper_of(m.MembershipUpdateMessage(GROUP, (founding(),)), BOB), own=BOB.public)
    assert found.author == BOB.public
    assert found.events[0].author == ALICE.public


# --- the order of reasons, and wrappers that are none --------------------------------------------------------------


def test_the_first_reason_is_given() -> None:
    payload = write_payload(text(chat_id=MALLORY.public))
    bad_signature = write_wrapper(b"\xff", b"x" * 64, 1)
    refused(lambda: verify(b"", own=BOB.public), WRAPPER_INVALID)
    refused(lambda: verify(write_wrapper(b"\xff", b"x", 0), own=BOB.public), PAYLOAD_TYPE_UNKNOWN)
    refused(lambda: verify(bad_signature, own=BOB.public), AUTHOR_SIGNATURE_INVALID)
    refused(lambda: verify(write_wrapper(b"\xff", b"", 1), own=BOB.public), AUTHOR_UNKNOWN)
    refused(lambda: verify(wrapped(b"\xff"), own=BOB.public, carrier=BOB.public), PAYLOAD_INVALID)
    refused(lambda: verify(wrapped(payload), own=BOB.public, carrier=BOB.public), AUTHOR_NOT_CARRIER)
    refused(lambda: verify(wrapped(payload), own=BOB.public, carrier=ALICE.public), WRITTEN_TO_ANOTHER)


@pytest.mark.parametrize("length", [1, 64, 66])
def test_a_signature_of_another_length_is_refused(length: int) -> None:
    data = write_wrapper(write_payload(text()), b"x" * length, 1)
    refused(lambda: verify(data, own=BOB.public, carrier=ALICE.public), AUTHOR_SIGNATURE_INVALID)


def test_the_higher_s_is_taken_and_marked() -> None:
    payload = write_payload(text())
    low = ALICE.sign(payload)
    high = low[:32] + (GROUP_ORDER_INT - int.from_bytes(low[32:64])).to_bytes(32) + bytes([low[64] ^ 1])
    found, usual = (verify(write_wrapper(payload, each, 1), own=BOB.public) for each in (high, low))
    assert (found.author, found.marks) == (ALICE.public, ("high-s",))
    # It is the same message under another ID.
    assert found.id != usual.id
    assert found.payload == usual.payload


def test_another_recovery_id_is_another_author() -> None:
    payload = write_payload(text())
    signature = ALICE.sign(payload)
    flipped = write_wrapper(payload, signature[:64] + bytes([signature[64] ^ 1]), 1)
    assert verify(flipped, own=BOB.public).author != ALICE.public
    refused(lambda: verify(flipped, own=BOB.public, carrier=ALICE.public), AUTHOR_NOT_CARRIER)


def test_further_fields_of_the_wrapper_make_another_id_and_the_same_message() -> None:
    data = wrapper_of(text())
    usual, more = (verify(each, own=BOB.public) for each in (data, data + bytes(Field(9, b"x"))))
    assert (usual.author, usual.payload, usual.message) == (more.author, more.payload, more.message)
    assert usual.id != more.id


def test_the_older_wrapper_needs_its_type() -> None:
    payload = write_payload(text())
    data = write_wrapper(payload, ALICE.sign(payload), 1, typed=False)
    refused(lambda: verify(data, own=BOB.public), PAYLOAD_TYPE_UNKNOWN)
    assert verify(data, own=BOB.public, named=PayloadType.CHAT_MESSAGE).message == text()
    refused(lambda: verify(data, own=BOB.public, named=PayloadType.CONTACT_UPDATE), PAYLOAD_INVALID)


@given(MESSAGES, st.sampled_from([None, ALICE.public, MALLORY.public]), st.sampled_from([ALICE.public, BOB.public]))
@settings(max_examples=examples(200))
def test_nobody_but_the_signer_is_the_author(message: m.StatusMessage, carrier: ChatKey | None, own: ChatKey) -> None:
    found = outcome_of(
        lambda: verify(wrapper_of(message), own=own, named=type_of_message(message), carrier=carrier),
        AUTHOR_NOT_CARRIER, CHAT_INVALID, MEMBERSHIP_INVALID, NOT_FROM_OWN_KEY, WRITTEN_TO_ANOTHER,
    )  # fmt: skip
    if isinstance(found, VerifiedPayload):
        assert found.author == ALICE.public
        if found.chat is not None and found.chat.kind is ChatKind.ONE_TO_ONE and own != ALICE.public:
            assert found.chat.id == ALICE.public


# --- keys that were recovered before ---------------------------------------------------------------------------------


def nobody_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    def recover(*given: object) -> ChatKey:
        raise AssertionError(given)

    for module in (verify_module, membership_module):
        monkeypatch.setattr(module, "author_of", recover)
    monkeypatch.setattr(verify_module, "message_id", recover)
    read_signed_event.cache_clear()


@each_sample
@pytest.mark.parametrize("signed", [True, False])
def test_a_wrapper_that_was_verified_needs_no_recovery_again(
    sample: m.StatusMessage, monkeypatch: pytest.MonkeyPatch, *, signed: bool
) -> None:
    data = wrapper_of(sample) if signed else wrapper_of(sample, None)
    how: Any = {"own": own_of(sample), "named": type_of_message(sample), "carrier": ALICE.public}
    first = verify(data, **how)
    nobody_recovers(monkeypatch)
    assert verify(data, **how, recovered=recovered_keys(first)) == first


def test_nor_do_the_events_of_a_group_and_those_that_did_not_count_still_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined = sign_event(GROUP, m.MembershipUpdateEvent(NOW + 1, MembershipEventType.MEMBER_JOINED), MALLORY)
    update = m.MembershipUpdateMessage(GROUP, (b"\1" * 80, founding(), stranger(), founding(key=MALLORY), joined))
    data = wrapper_of(update)
    first = verify(data, own=BOB.public)
    assert [event.author for event in first.events] == [ALICE.public, MALLORY.public]
    nobody_recovers(monkeypatch)
    assert verify(data, own=BOB.public, recovered=recovered_keys(first)) == first


def test_the_other_rules_apply_again() -> None:
    """For another carrier or another owner the outcome is another one."""
    data = wrapper_of(text(chat_id=BOB.public))
    recovered = recovered_keys(verify(data, own=BOB.public))
    refused(lambda: verify(data, own=BOB.public, carrier=MALLORY.public, recovered=recovered), AUTHOR_NOT_CARRIER)
    refused(lambda: verify(data, own=MALLORY.public, recovered=recovered), WRITTEN_TO_ANOTHER)
