"""What is stored of messages that are not delivered yet."""

from dataclasses import replace

import pytest
from tests.client.chat.network import ALICE, BOB, ChatNetwork, Device

from postroom.client.archive import Archive
from postroom.client.archive.verify import verify
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.unsent import (
    UnsentMessage,
    read_unsent,
    remove_unsent,
    replace_unsent,
    store_unsent,
)
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.stored import UNSENT
from postroom.protocols.status.enums import PayloadType


@pytest.fixture
def archive(alice: Device) -> Archive:
    return alice.archive


@pytest.fixture
def sender(network: ChatNetwork) -> Dm3Sender:
    return network[ALICE].sender()


@pytest.fixture
def signed(sender: Dm3Sender) -> UnsentMessage:
    return UnsentMessage(sender.sign(Dm3Draft(BOB, "hello")))


@pytest.fixture
def sealed(signed: UnsentMessage, sender: Dm3Sender) -> UnsentMessage:
    return replace(signed, sealed=sender.seal(signed.message))


def as_new(message: UnsentMessage, sender: Dm3Sender) -> UnsentMessage:
    metadata = replace(message.message.metadata, type_name=MessageType.NEW)
    signed = sign_message("hello", metadata, sender.keys.signing, attachments=None)
    return UnsentMessage(signed, replaces=message.origin)


def test_what_is_stored_is_read_again_in_each_state(
    archive: Archive, signed: UnsentMessage, sealed: UnsentMessage, sender: Dm3Sender
) -> None:
    other = UnsentMessage(sender.sign(Dm3Draft(BOB, "other")), refused="TooLarge")
    for each in (signed, other):
        store_unsent(archive, [each])
    assert read_unsent(archive) == [signed, other]
    assert replace_unsent(archive, signed, sealed) == sealed
    assert read_unsent(archive) == [sealed, other]
    for each in (sealed, other):
        remove_unsent(archive, [each])
    assert read_unsent(archive) == []


def test_nothing_is_read_where_nothing_is_stored(archive: Archive) -> None:
    store_unsent(archive, [])
    assert read_unsent(archive) == []
    assert archive.conversations() == ()


def test_of_a_device_that_died_while_the_state_changed_the_later_state_counts(
    archive: Archive, signed: UnsentMessage, sealed: UnsentMessage
) -> None:
    store_unsent(archive, [signed])
    store_unsent(archive, [sealed])
    [found] = read_unsent(archive)
    assert found.sealed == sealed.sealed
    remove_unsent(archive, [found])
    assert read_unsent(archive) == []


def test_a_refusal_counts_more_than_what_was_refused(archive: Archive, sealed: UnsentMessage) -> None:
    store_unsent(archive, [sealed, replace(sealed, refused="TooLarge")])
    [found] = read_unsent(archive)
    assert found.refused == "TooLarge"


def test_a_message_that_was_written_again_as_another_type_stands_for_the_first_one(
    archive: Archive, sender: Dm3Sender
) -> None:
    first = UnsentMessage(sender.sign(Dm3Draft(BOB, "hello", MessageType.REPLY, "ab" * 32)))
    second = as_new(first, sender)
    store_unsent(archive, [first])
    store_unsent(archive, [second])
    [found] = read_unsent(archive)
    assert found.message == second.message
    remove_unsent(archive, [found])
    assert read_unsent(archive) == []


def test_of_two_devices_that_seal_a_message_at_once_one_sealed_message_counts(
    archive: Archive, signed: UnsentMessage, sealed: UnsentMessage, sender: Dm3Sender
) -> None:
    store_unsent(archive, [signed])
    first = replace_unsent(archive, signed, sealed)
    second = replace_unsent(archive, signed, replace(signed, sealed=sender.seal(signed.message)))
    assert first == second == sealed


def test_what_another_device_has_delivered_is_not_stored_again(
    archive: Archive, signed: UnsentMessage, sealed: UnsentMessage
) -> None:
    store_unsent(archive, [signed])
    remove_unsent(archive, [replace_unsent(archive, signed, sealed) or sealed])
    assert replace_unsent(archive, signed, sealed) is None
    assert read_unsent(archive) == []


def test_verify_counts_unsent_messages_as_set_aside(
    network: ChatNetwork, archive: Archive, signed: UnsentMessage, sealed: UnsentMessage
) -> None:
    store_unsent(archive, [signed])
    found = verify(archive, network.known_keys())
    assert (found.set_aside, found.messages, found.flaws) == (1, 0, [])
    replace_unsent(archive, signed, sealed)
    found = verify(archive, network.known_keys())
    assert (found.set_aside, found.tombstones, found.flaws) == (1, 1, [])


def test_an_unsent_message_in_a_conversation_is_a_flaw(
    network: ChatNetwork, archive: Archive, signed: UnsentMessage
) -> None:
    store_unsent(archive, [signed])
    archive.merge(BOB, archive.open(UNSENT))
    [flaw] = verify(archive, network.known_keys()).flaws
    assert flaw.what == f"was set aside, and is in the conversation with {BOB}"


# --- to NLWeb domains ---------------------------------------------------------------------------------------------
def test_a_message_to_a_domain_stands_beside_the_others_in_each_state(archive: Archive, signed: UnsentMessage) -> None:
    for carried in (CarriedWrapper(b"\x01", None), CarriedWrapper(b"\x02", PayloadType.CHAT_MESSAGE_IDENTITY)):
        store_unsent(archive, [signed, pending := UnsentToDomain("shop.example", carried, signed.timestamp_ms + 1)])
        assert read_unsent(archive) == [signed, pending]
        refused = replace(pending, refused="TooLarge")
        store_unsent(archive, [refused])
        assert read_unsent(archive) == [signed, replace(refused, earlier=(pending.id,))]
        assert replace_unsent(archive, pending, refused) == refused
        remove_unsent(archive, [refused])
        assert read_unsent(archive) == [signed]


def test_a_message_is_one_for_each_domain_and_wrapper() -> None:
    one, two = CarriedWrapper(b"\x01", None), CarriedWrapper(b"\x02", None)
    origins = {
        UnsentToDomain(domain, each, at).origin for domain in ("a.com", "b.com") for each in (one, two) for at in (1, 2)
    }
    assert len(origins) == 4


def test_what_another_device_has_delivered_meanwhile_is_not_stored_again(archive: Archive) -> None:
    pending = UnsentToDomain("shop.example", CarriedWrapper(b"\x01", None), 1)
    store_unsent(archive, [pending])
    refused = replace(pending, refused="TooLarge")
    store_unsent(archive, [refused])
    remove_unsent(archive, [refused])
    assert replace_unsent(archive, pending, refused) is None
