"""What an archive says of chats, while other devices write to it."""

from dataclasses import dataclass, replace

from tests.client.chat.network import ALICE, BOB, CAROL, MALLORY, ChatNetwork, Device, wrapped

from postroom.client.archive import HomeObject, MemoryHome
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord, write_channel
from postroom.client.chat.dm3_carrier import encodings
from postroom.client.chat.memory_reading import read_memory
from postroom.client.chat.reading import ConversationReader
from postroom.client.dm3 import Dm3Draft
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import StoredEnvelope, store_envelope
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.verify import ChatRef


@dataclass
class Busy:
    """A home in which another device does something before the n-th read."""

    home: MemoryHome
    act: object
    at: int
    reads: int = 0

    def get(self, key: str) -> HomeObject | None:
        if self.reads == self.at and callable(self.act):
            self.act()
        self.reads += 1
        return self.home.get(key)

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        return self.home.put(key, data, etag=etag)

    def delete(self, key: str) -> None:
        self.home.delete(key)


def test_a_message_that_another_device_delivers_meanwhile_is_there_all_the_time(
    network: ChatNetwork, alice: Device
) -> None:
    alice.send(BOB, "first")
    network[BOB].service.is_down = True
    alice.send(BOB, "second")
    network[BOB].service.is_down = False
    state = network.state()
    at = 0
    while True:
        network.restore(state)
        busy = Busy(network[ALICE].home, network.device(ALICE).pull, at)
        texts = [
            fact.message.text  # type: ignore[union-attr]
            for fact in read_memory(ConversationReader(network[ALICE].archive(busy), network[ALICE].key)).log.messages(
                ChatRef(ChatKind.ONE_TO_ONE, network[BOB].key)
            )
        ]
        assert texts == ["first", "second"]
        if busy.reads <= at:
            break
        at += 1
    assert at > 4


def test_a_channel_is_joined_by_nobody_else(network: ChatNetwork, alice: Device) -> None:
    """Not even by a message that claims to be from oneself, and carries what one once wrote in a channel."""
    chat = ChatRef(ChatKind.PUBLIC_GROUP, "tea")
    message = sending.text_message(chat, network.now_ms, network.now_ms, "hello")
    wrapper = network[ALICE].carry(MALLORY, message)
    uris = (
        *encodings(CarriedWrapper(wrapper, None)),
        write_channel(ChannelRecord("tea", network.now_ms, True, (MALLORY,), True)),
    )
    sender = replace(network[MALLORY].sender(), name=ALICE)
    forged = sender.sign(Dm3Draft(ALICE, "hello", encodings=uris))
    envelope = network[MALLORY].sender().send(Dm3Draft(BOB, "x")).envelope
    assert envelope is not None
    stored = store_envelope(envelope, forged, None)
    for entry in (stored, replace(stored, unverified="ProfileUnknown")):
        alice.archive.merge(ALICE, [entry])
    assert isinstance(stored, StoredEnvelope)
    assert read_memory(ConversationReader(alice.archive, alice.chats.own)).channels == {}


def test_whom_the_owner_wrote_to_by_a_name_has_that_name_until_there_is_an_answer(
    network: ChatNetwork, alice: Device
) -> None:
    bob = network[BOB].key
    network[BOB].service.is_down = True
    alice.send(BOB, "stored and not sent")
    memory = network.device(ALICE).chats.memory
    assert (memory.name_of(bob), memory.names_of(bob), memory.proven.get(bob)) == (BOB, [BOB], None)
    network[BOB].service.is_down = False
    alice.pull()
    memory = network.device(ALICE).chats.memory
    assert (memory.name_of(bob), memory.names_of(bob), memory.proven.get(bob)) == (BOB, [BOB], None)


def test_a_name_that_messages_came_from_is_shown_before_one_that_was_written_to(
    network: ChatNetwork, alice: Device
) -> None:
    bob = network[BOB]
    alice.send(BOB, "hello")
    network.add("a.bob.eth", bob.keys)
    network.device("a.bob.eth").send(ALICE, "I have another name")
    alice.pull()
    network.add("a.a.bob.eth", bob.keys)
    alice.send("a.a.bob.eth", "and a third one")
    alice.chats.refresh()
    memory = alice.chats.memory
    assert memory.name_of(bob.key) == "a.bob.eth"
    assert memory.names_of(bob.key) == ["a.bob.eth", BOB, "a.a.bob.eth"]


def test_members_have_the_names_with_which_the_owner_added_them(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB, CAROL])
    alice.chats.refresh()
    assert alice.chats.memory.name_of(network[CAROL].key) == CAROL


def test_what_others_say_of_names_is_not_looked_up(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.create_group("Lunch", [BOB, CAROL])
    bob.pull()
    memory = bob.chats.memory
    assert memory.names_said(network[CAROL].key, {alice.chats.own}.__contains__) == [CAROL]
    assert memory.name_of(network[CAROL].key) == ""


def test_the_newest_record_of_a_channel_counts_although_it_is_not_delivered(
    network: ChatNetwork, alice: Device
) -> None:
    alice.chats.join("tea", [BOB])
    alice.pull()
    network[ALICE].service.is_down = True
    alice.chats.join("tea", [CAROL])
    assert network.device(ALICE).chats.find("#tea").receivers == (CAROL,)


def test_edits_refer_to_ones_own_message_although_somebody_passed_it_on_earlier(
    network: ChatNetwork, alice: Device
) -> None:
    """By a clock that is behind: the order of a conversation is that of its times."""
    alice.chats.join("tea", [BOB])
    sent = alice.send("#tea", "hello")
    fact = alice.chats.find_message(alice.chats.find("#tea").ref, sent.id)
    own = alice.chats.memory.hashes[fact.key][BOB]
    network.now_ms -= 60_000
    network[BOB].pass_on(ALICE, alice.chats.memory.wrappers[fact.key].wrapper, PayloadType.CHAT_MESSAGE)
    network.now_ms += 60_000
    alice.pull()
    assert alice.chats.memory.hashes[fact.key][BOB] == own


def test_nobody_puts_a_deleted_message_where_anothers_was_removed(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    sent = alice.send(BOB, "hello")
    fact = alice.chats.find_message(alice.chats.find(BOB).ref, sent.id)
    removed = alice.chats.memory.hashes[fact.key][BOB]
    alice.chats.delete(BOB, sent.id)
    bob.pull()
    chat = ChatRef(ChatKind.ONE_TO_ONE, network[ALICE].key)
    deletion = sending.deletion(chat, network.tick(), MessageId(f"0x{'ab' * 32}"))
    wrapper = wrapped(deletion, network[BOB].author)
    uris = encodings(CarriedWrapper(wrapper, None))
    network[BOB].post(Dm3Draft(ALICE, "(deleted a message)", MessageType.DELETE_REQUEST, removed, encodings=uris))
    alice.pull()
    assert alice.texts(BOB) == ["(deleted)"]
