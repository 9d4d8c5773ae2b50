"""What people who chat see: the same on both sides, whatever strangers send."""

from collections.abc import Generator

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY, MALLORY, ChatNetwork, Device, Points, wrapped

import postroom.client.chat.owner_chats as owner_chats_module
from postroom.client.archive import MemoryHome
from postroom.client.archive.sent_messages import keep_sent
from postroom.client.chat import ChatError, NoChatKeyError, NoSuchChatError
from postroom.client.chat.undelivered import find_undelivered
from postroom.client.dm3 import Dm3Draft
from postroom.client.sending import SendOutcome
from postroom.core.errors import NotNowError
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import StoredEnvelope, Tombstone
from postroom.protocols.status import sending
from postroom.protocols.status.clock import MOST_AHEAD_MS
from postroom.protocols.status.enums import ChatKind, PayloadType, ReactionKind
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import ChatMessage
from postroom.protocols.status.verify import ChatRef


def opened(device: Device, partner: str) -> list[StoredEnvelope]:
    return [entry for entry in device.archive.open(partner) if isinstance(entry, StoredEnvelope)]


def in_channel(device: Device, text: str, channel: str = "tea") -> ChatMessage:
    """A message in a channel, as its author makes it."""
    now_ms = device.person.network.tick()
    return sending.text_message(ChatRef(ChatKind.PUBLIC_GROUP, channel), now_ms, now_ms, text)


def to_user(device: Device, key: ChatKey, text: str, clock: int = 0) -> ChatMessage:
    now_ms = device.person.network.tick()
    return sending.text_message(ChatRef(ChatKind.ONE_TO_ONE, key), clock or now_ms, now_ms, text)


# ---- a chat of two -----------------------------------------------------------------------------------------------
def test_a_text_is_shown_on_both_sides_with_one_id(alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "hello 🤝")
    assert [(it.to, it.outcome) for it in sent.deliveries] == [(BOB, SendOutcome.TAKEN)]
    bob.pull()
    [here], [there] = alice.shown(BOB), bob.shown(ALICE)
    assert (here.id, here.author, here.text) == (sent.id, alice.chats.own, "hello 🤝")
    assert (there.id, there.author, there.text, there.clock) == (here.id, here.author, here.text, here.clock)


def test_a_reply_names_the_message_that_it_answers(alice: Device, bob: Device) -> None:
    first = alice.send(BOB, "tea?")
    bob.pull()
    bob.send(ALICE, "yes", reply_to=first.id[:12])
    alice.pull()
    assert [(it.text, it.response_to) for it in alice.shown(BOB)] == [("tea?", ""), ("yes", first.id)]


def test_a_reaction_stands_until_it_is_taken_back(alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "tea?")
    bob.pull()
    bob.chats.react(ALICE, sent.id, ReactionKind.LAUGH)
    alice.pull()
    assert alice.last(BOB).reactions == bob.last(ALICE).reactions == {ReactionKind.LAUGH: (bob.chats.own,)}
    bob.chats.react(ALICE, sent.id, ReactionKind.LAUGH, take_back=True)
    alice.pull()
    assert alice.last(BOB).reactions == bob.last(ALICE).reactions == {}


def test_an_edit_gives_a_message_another_text(alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "teh")
    alice.chats.edit(BOB, sent.id, "tea")
    bob.pull()
    for shown in (alice.last(BOB), bob.last(ALICE)):
        assert (shown.id, shown.text, shown.is_edited) == (sent.id, "tea", True)


def test_a_pin_holds_until_it_is_removed(alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "tea at four")
    bob.pull()
    bob.chats.pin(ALICE, sent.id)
    alice.pull()
    assert alice.last(BOB).is_pinned
    assert bob.last(ALICE).is_pinned
    alice.chats.pin(BOB, sent.id, pinned=False)
    bob.pull()
    assert not alice.last(BOB).is_pinned
    assert not bob.last(ALICE).is_pinned


def test_a_deleted_message_keeps_its_place_without_its_text(alice: Device, bob: Device) -> None:
    alice.send(BOB, "one")
    gone = alice.send(BOB, "two")
    alice.send(BOB, "three")
    bob.pull()
    bob.chats.react(ALICE, gone.id)
    alice.chats.delete(BOB, gone.id)
    for device, other in ((alice, BOB), (bob, ALICE)):
        device.pull()
        assert device.texts(other) == ["one", "(deleted)", "three"]
        deleted = device.shown(other)[1]
        assert (deleted.id, deleted.author, deleted.deleted_by) == (gone.id, alice.chats.own, alice.chats.own)
        assert deleted.reactions == {}


def test_what_is_deleted_is_removed_from_both_archives(alice: Device, bob: Device) -> None:
    gone = alice.send(BOB, "regretted")
    alice.chats.edit(BOB, gone.id, "regretted, too")
    alice.chats.delete(BOB, gone.id)
    bob.pull()
    for device, other in ((alice, BOB), (bob, ALICE)):
        assert len([it for it in device.archive.open(other) if isinstance(it, Tombstone)]) == 2
        assert not any("regretted" in (it.message.message or "") for it in opened(device, other))


def test_a_deletion_keeps_its_place_where_the_receiver_takes_no_such_requests(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[BOB].takes()
    alice.send(BOB, "one")
    gone = alice.send(BOB, "two")
    assert alice.chats.delete(BOB, gone.id).deliveries[0].outcome is SendOutcome.TAKEN
    alice.send(BOB, "three")
    bob.pull()
    assert alice.texts(BOB) == bob.texts(ALICE) == ["one", "(deleted)", "three"]


def test_only_ones_own_messages_are_edited_or_deleted(alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "mine")
    bob.pull()
    with pytest.raises(ChatError, match="only its author can edit it"):
        bob.chats.edit(ALICE, sent.id, "yours")
    with pytest.raises(ChatError, match="its author or an admin of its group can delete it"):
        bob.chats.delete(ALICE, sent.id)


def test_a_message_comes_after_all_that_its_author_has_seen(network: ChatNetwork, alice: Device, bob: Device) -> None:
    ahead = network.now_ms + 119_000
    network[ALICE].carry(BOB, to_user(alice, bob.chats.own, "from a fast clock", ahead))
    bob.pull()
    bob.send(ALICE, "answer")
    alice.pull()
    assert [it.clock for it in bob.shown(ALICE)] == [ahead, ahead + 1]
    assert bob.texts(ALICE)[-1] == alice.texts(BOB)[-1] == "answer"


def test_a_deleted_message_keeps_its_place_in_a_chat_that_is_ahead_of_the_time(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    ahead = network.now_ms + 60_000
    network[ALICE].carry(BOB, to_user(alice, bob.chats.own, "from a fast clock", ahead))
    bob.pull()
    gone = bob.send(ALICE, "one")
    bob.send(ALICE, "two")
    bob.chats.delete(ALICE, gone.id)
    alice.pull()
    assert bob.texts(ALICE) == ["from a fast clock", "(deleted)", "two"]
    assert alice.texts(BOB) == ["(deleted)", "two"]


def test_ones_own_message_is_shown_when_its_chat_is_as_far_ahead_as_it_may_be(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[ALICE].carry(BOB, to_user(alice, bob.chats.own, "from a fast clock", network.now_ms + 120_000))
    bob.pull()
    network.now_ms -= 500
    bob.send(ALICE, "answer")
    alice.pull()
    assert sorted(bob.texts(ALICE)) == ["answer", "from a fast clock"]
    assert alice.texts(BOB) == ["answer"]


def test_a_message_to_oneself_is_a_chat(alice: Device) -> None:
    alice.send(ALICE, "note")
    alice.pull()
    assert alice.texts(ALICE) == ["note"]


# ---- whom a message goes to ----------------------------------------------------------------------------------------
def test_a_name_with_an_ed25519_key_is_no_one_to_chat_with(network: ChatNetwork, alice: Device) -> None:
    with pytest.raises(NoChatKeyError, match=r"postroom dm3 send"):
        alice.send(EDDY, "hello")
    with pytest.raises(NoChatKeyError, match=r"postroom dm3 keygen"):
        network.device(EDDY)


def test_a_wrapper_from_a_name_with_an_ed25519_key_is_discarded(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    message = to_user(bob, alice.chats.own, "who am I?")
    network[BOB].carry(ALICE, message)
    [waiting] = network[ALICE].service.waiting
    network[ALICE].service.waiting.clear()
    wrapper = network[BOB].carry(CAROL, message)
    network[EDDY].pass_on(ALICE, wrapper, 1)
    alice.pull()
    assert waiting.partner == BOB
    assert [str(it.error.reason) for it in alice.chats.memory.discarded] == ["AuthorNotCarrier"]
    assert alice.chats.chats() == []


def test_a_name_without_a_profile_and_what_is_no_name_are_no_chats(alice: Device) -> None:
    with pytest.raises(NoSuchChatError, match=r"nobody\.eth has no profile, and no group is called so"):
        alice.send("nobody.eth", "hello")
    with pytest.raises(ChatError, match=r"'a\.\.b' is no dm3 name, and no group is called so"):
        alice.send("a..b", "hello")


def test_a_chat_is_read_and_written_while_names_cannot_be_looked_up(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    bob.send(ALICE, "hi")
    alice.pull()
    network.registry.down = True
    assert alice.texts(BOB) == ["hello", "hi"]
    assert [it.outcome for it in alice.send(BOB, "on a train").deliveries] == [SendOutcome.NOT_NOW]
    with pytest.raises(NotNowError):
        alice.send(CAROL, "whose key is unknown")
    network.registry.down = False
    alice.pull()
    bob.pull()
    assert bob.texts(ALICE) == ["hello", "hi", "on a train"]


def test_a_group_with_the_name_of_a_user_gets_no_messages_for_that_user(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    mallory = network.device(MALLORY)
    mallory.chats.create_group(BOB, [ALICE])
    alice.pull()
    assert [chat.name for chat in alice.chats.chats()] == [BOB]
    sent = alice.send(BOB, "secret")
    assert [it.to for it in sent.deliveries] == [BOB]
    mallory.pull()
    assert "secret" not in [text for chat in mallory.chats.chats() for text in mallory.texts(chat.ref.id)]


def test_a_message_is_named_by_the_beginning_of_its_id(alice: Device) -> None:
    sent = alice.send(BOB, "hello")
    assert alice.chats.find_message(alice.chats.find(BOB).ref, sent.id[:8]).id == sent.id
    with pytest.raises(ChatError, match="at least 8 characters"):
        alice.chats.react(BOB, sent.id[:7])
    with pytest.raises(NoSuchChatError, match="postroom chat show"):
        alice.chats.react(BOB, "0x" + "00" * 32)


# ---- what strangers send -------------------------------------------------------------------------------------------
def test_a_message_that_another_passes_on_is_discarded(network: ChatNetwork, alice: Device, bob: Device) -> None:
    wrapper = network[ALICE].carry(MALLORY, to_user(alice, bob.chats.own, "for bob"))
    network[MALLORY].pass_on(BOB, wrapper, 1)
    bob.pull()
    assert [str(it.error.reason) for it in bob.chats.memory.discarded] == ["AuthorNotCarrier"]
    assert bob.chats.chats() == []


def test_a_message_that_was_written_to_another_is_discarded(network: ChatNetwork, bob: Device, carol: Device) -> None:
    alice = network.device(ALICE)
    network[ALICE].carry(BOB, to_user(alice, carol.chats.own, "for carol"))
    bob.pull()
    assert [str(it.error.reason) for it in bob.chats.memory.discarded] == ["WrittenToAnother"]


def test_an_unsigned_payload_is_by_the_sender_of_its_dm3_message(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[ALICE].carry(BOB, to_user(alice, bob.chats.own, "deniable"), signed=False)
    bob.pull()
    shown = bob.last(ALICE)
    assert (shown.author, shown.text, shown.marks) == (alice.chats.own, "deniable", ("unsigned",))


def test_a_message_with_a_clock_too_far_ahead_is_not_shown(network: ChatNetwork, alice: Device, bob: Device) -> None:
    network[ALICE].carry(BOB, to_user(alice, bob.chats.own, "tomorrow", network.now_ms + 130_000))
    bob.pull()
    assert bob.texts(ALICE) == []
    assert [str(reason) for _, reason in bob.chats.view().not_shown()] == ["ClockAhead"]


def test_others_change_nothing_about_a_message(network: ChatNetwork, alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "mine")
    chat = ChatRef(ChatKind.ONE_TO_ONE, bob.chats.own)
    now_ms = network.tick(10)
    for message in (
        sending.edit(chat, now_ms, sent.id, "forged"),
        sending.deletion(chat, now_ms, sent.id),
        sending.pin(chat, now_ms, sent.id, pinned=True),
        sending.reaction(chat, now_ms, sent.id, ReactionKind.ANGRY),
    ):
        network[MALLORY].carry(BOB, message)
    bob.pull()
    shown = bob.last(ALICE)
    assert (shown.text, shown.is_edited, shown.is_pinned, shown.reactions) == ("mine", False, False, {})
    assert len(bob.texts(ALICE)) == 1


def test_messages_of_own_devices_come_from_no_one_else(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    mallory = network.device(MALLORY)
    mallory.chats.join("tea", [CAROL])
    [to_self] = opened(mallory, MALLORY)
    uris = tuple(attachment.data for attachment in to_self.message.attachments or ())
    network[MALLORY].post(Dm3Draft(BOB, "(data of own devices)", encodings=uris))
    bob.pull()
    assert [str(it.error.reason) for it in bob.chats.memory.discarded] == ["NotFromOwnKey"]
    assert bob.chats.memory.channels == {}


def test_a_payload_counts_and_another_text_beside_it_is_marked(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    wrapper = network[ALICE].carry(CAROL, to_user(alice, bob.chats.own, "yes"))
    network[ALICE].pass_on(BOB, wrapper, 1, "no")
    bob.pull()
    assert (bob.last(ALICE).text, bob.last(ALICE).marks) == ("yes", ("text-differs",))


# ---- plain dm3 messages --------------------------------------------------------------------------------------------
def test_a_plain_message_stands_in_the_chat_by_its_time(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.send(BOB, "before")
    network[ALICE].post(Dm3Draft(BOB, "plain"))
    alice.send(BOB, "after")
    bob.pull()
    assert bob.texts(ALICE) == ["before", "plain", "after"]
    assert [it.marks for it in bob.shown(ALICE)] == [(), ("plain",), ()]


def test_a_plain_answer_to_a_message_of_a_chat_is_a_reply(network: ChatNetwork, alice: Device, bob: Device) -> None:
    sent = alice.send(BOB, "tea?")
    bob.pull()
    [arrived, _] = opened(bob, ALICE)
    network[BOB].post(Dm3Draft(ALICE, "yes", MessageType.REPLY, arrived.message_hash))
    alice.pull()
    assert [(it.text, it.response_to) for it in alice.shown(BOB)] == [("tea?", ""), ("yes", sent.id)]


def test_a_plain_message_is_answered_and_reacted_to(network: ChatNetwork, alice: Device, bob: Device) -> None:
    message_hash = network[ALICE].post(Dm3Draft(BOB, "plain"))
    bob.pull()
    bob.send(ALICE, "yes", reply_to=f"0x{message_hash}")
    bob.chats.react(ALICE, f"0x{message_hash}")
    assert bob.shown(ALICE)[0].reactions == {ReactionKind.LOVE: (bob.chats.own,)}
    references = [it.message.metadata.reference_message_hash for it in opened(bob, ALICE) if it.author == BOB]
    assert references.count(message_hash) == 2


def test_a_plain_edit_and_a_plain_deletion_count(network: ChatNetwork, alice: Device, bob: Device) -> None:
    first = network[ALICE].post(Dm3Draft(BOB, "teh"))
    network.tick()
    network[ALICE].post(Dm3Draft(BOB, "tea", MessageType.EDIT, first))
    second = network[ALICE].post(Dm3Draft(BOB, "gone"))
    network.tick()
    network[ALICE].post(Dm3Draft(BOB, None, MessageType.DELETE_REQUEST, second))
    bob.pull()
    assert bob.texts(ALICE) == ["tea"]


def test_a_plain_text_that_is_blank_or_too_long_for_a_chat_is_shown_in_part(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[ALICE].post(Dm3Draft(BOB, " \u3000"))
    network[ALICE].post(Dm3Draft(BOB, "é" * 5000))
    bob.pull()
    assert bob.texts(ALICE) == ["(no text)", "é" * 4095 + "…"]


def test_a_plain_message_of_ones_own_stands_in_the_chat_that_one_wrote_in(network: ChatNetwork, alice: Device) -> None:
    sent = network[ALICE].sender().send(Dm3Draft(BOB, "plain"))
    assert sent.envelope is not None
    keep_sent(alice.archive, [(sent.message, sent.envelope)], network[ALICE].keys.signing.public)
    alice.send(BOB, "in the chat")
    assert alice.texts(BOB) == ["plain", "in the chat"]


def test_what_is_written_again_with_each_message_stays_short(
    network: ChatNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_chats_module, "CHUNK_BYTES", 6000)
    alice = network.device(ALICE)
    for number in range(8):
        alice.send(BOB, f"text {number}")
    longest = max(map(len, network[ALICE].home.containers().values()))
    assert longest < 9000
    assert alice.texts(BOB) == [f"text {number}" for number in range(8)]


def test_what_is_taken_within_a_second_is_stored_together(
    network: ChatNetwork, alice: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.chats.join("tea", [BOB, CAROL, MALLORY])
    alice.send("#tea", "first")
    together = _points_of_sending(network)
    monkeypatch.setattr(network, "clock", lambda: network.tick(2000) / 1000)
    # Two removals from the unsent messages more, each of which writes a chunk and the conversation.
    assert _points_of_sending(network) == together + 2 * 2 * 2


def _points_of_sending(network: ChatNetwork) -> int:
    points = Points()
    network[ALICE].device(points=points).send("#tea", "hello")
    return points.passed


# ---- channels ------------------------------------------------------------------------------------------------------
def joined(network: ChatNetwork, name: str, *receivers: str, relays: bool = False) -> Device:
    device = network.device(name)
    device.chats.join("tea", receivers, relays=relays)
    return device


def test_a_message_in_a_channel_goes_to_whom_its_author_named(network: ChatNetwork) -> None:
    alice, bob, carol = joined(network, ALICE, BOB, CAROL), joined(network, BOB, ALICE), network.device(CAROL)
    sent = alice.send("#tea", "hello")
    assert [it.to for it in sent.deliveries] == [BOB, CAROL]
    bob.pull()
    carol.pull()
    assert bob.texts("#tea") == ["hello"]
    with pytest.raises(NoSuchChatError, match="postroom chat join"):
        carol.shown("#tea")


def test_what_came_before_a_channel_was_joined_is_shown_then(network: ChatNetwork, carol: Device) -> None:
    joined(network, ALICE, CAROL).send("#tea", "hello")
    carol.pull()
    carol.chats.join("tea", [ALICE])
    assert carol.texts("#tea") == ["hello"]


def test_a_channel_that_was_left_is_not_shown_nor_written_in(network: ChatNetwork, bob: Device) -> None:
    alice = joined(network, ALICE, BOB)
    alice.send("#tea", "hello")
    alice.chats.part("tea")
    assert [chat.ref.kind for chat in alice.chats.chats()] == []
    with pytest.raises(NoSuchChatError):
        alice.send("#tea", "still here?")
    with pytest.raises(NoSuchChatError):
        alice.chats.part("tea")
    alice.chats.join("tea", [BOB])
    assert alice.texts("#tea") == ["hello"]


def test_a_channel_without_receivers_is_no_place_to_write_in(network: ChatNetwork) -> None:
    with pytest.raises(ChatError, match="--to NAME"):
        joined(network, ALICE).send("#tea", "hello")


@pytest.mark.parametrize("name", ["", "Tea", "a b", "0x04" + "00" * 64])
def test_what_is_no_channel_is_not_joined(alice: Device, name: str) -> None:
    with pytest.raises(ChatError, match="is no channel"):
        alice.chats.join(name, [BOB])


def test_a_relay_passes_each_message_on_once(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB, ALICE, CAROL, relays=True)
    carol = joined(network, CAROL)
    sent = alice.send("#tea", "hello")
    alice.chats.edit("#tea", sent.id, "hello!")
    deliveries = bob.pull()[1]
    assert [(it.to, it.outcome) for it in deliveries] == [(CAROL, SendOutcome.TAKEN)] * 2
    assert bob.pull()[1] == []
    carol.pull()
    [shown] = carol.shown("#tea")
    assert (shown.id, shown.author, shown.text) == (sent.id, alice.chats.own, "hello!")


def test_a_relay_passes_a_message_on_once_although_its_receiver_is_away(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB, CAROL, relays=True)
    network[CAROL].service.is_down = True
    alice.send("#tea", "hello")
    for _ in range(3):
        assert [it.outcome for it in bob.pull()[1]] == [SendOutcome.NOT_NOW]
    assert bob.unsent() == [CAROL]
    network[CAROL].service.is_down = False
    bob.pull()
    assert len(network[CAROL].service.waiting) == 1


def test_a_relay_asks_no_one_again_who_refused_a_message(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB, CAROL, relays=True)
    network[CAROL].refuse(BOB)
    alice.send("#tea", "hello")
    assert [it.outcome for it in bob.pull()[1]] == [SendOutcome.REFUSED]
    assert bob.pull()[1] == []


def test_a_relay_passes_unsigned_messages_and_those_of_other_channels_on_to_no_one(
    network: ChatNetwork, alice: Device
) -> None:
    bob = joined(network, BOB, CAROL, relays=True)
    network[ALICE].carry(BOB, in_channel(alice, "unsigned"), signed=False)
    network[ALICE].carry(BOB, in_channel(alice, "elsewhere", "coffee"))
    alice.send(BOB, "for bob")
    assert bob.pull()[1] == []


def test_a_relay_passes_messages_that_do_not_count_on_to_no_one(network: ChatNetwork) -> None:
    bob = joined(network, BOB, CAROL, relays=True)
    now_ms = network.tick()
    ahead_ms = now_ms + 2 * MOST_AHEAD_MS
    network[ALICE].carry(BOB, sending.text_message(ChatRef(ChatKind.PUBLIC_GROUP, "tea"), ahead_ms, now_ms, "ahead"))
    assert bob.pull()[1] == []
    assert bob.texts("#tea") == []


def test_a_relay_does_not_pass_on_what_a_message_says_of_others_names(network: ChatNetwork, alice: Device) -> None:
    bob, carol = joined(network, BOB, CAROL, relays=True), joined(network, CAROL)
    wrapper = wrapped(in_channel(alice, "hello"), network[ALICE].author)
    said = {network[MALLORY].key: MALLORY}
    network[ALICE].pass_on(BOB, wrapper, PayloadType.CHAT_MESSAGE, "hello", names=said)
    bob.pull()
    carol.pull()
    assert carol.texts("#tea") == ["hello"]
    assert list(bob.chats.memory.said) == [network[MALLORY].key]
    assert carol.chats.memory.said == {}


def test_who_does_not_relay_passes_nothing_on(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB, CAROL)
    alice.send("#tea", "hello")
    assert bob.pull()[1] == []


def test_who_passes_a_message_on_marks_it_with_nothing(network: ChatNetwork, alice: Device) -> None:
    bob = joined(network, BOB, ALICE)
    wrapper = network[ALICE].carry(MALLORY, in_channel(alice, "hello"))
    network[MALLORY].pass_on(BOB, wrapper, 1, "another text")
    bob.pull()
    assert (bob.last("#tea").text, bob.last("#tea").marks) == ("hello", ())


@pytest.mark.parametrize("passes_on", [MALLORY, "aaron.eth"], ids=["later", "earlier"])
def test_what_refers_to_a_message_that_was_given_further_ids_counts_for_all(
    network: ChatNetwork, passes_on: str
) -> None:
    """Whoever passes a message on can find an ID that is smaller, and is the message's for those who got it."""
    network.add("aaron.eth", UserKeys.random())
    alice, bob = joined(network, ALICE, BOB, MALLORY), joined(network, BOB, ALICE)
    sent = alice.send("#tea", "hello")
    mallory = joined(network, MALLORY)
    mallory.pull()
    [carried] = mallory.chats.memory.wrappers.values()
    # Field 9, which nobody knows: each value gives another ID.
    others = (carried.wrapper + bytes([0x48, 0x80 | number % 128, number // 128]) for number in range(1 << 14))
    smaller = next(other for other in others if message_id(alice.chats.own, other) < sent.id)
    network[passes_on].pass_on(BOB, smaller, 1)
    bob.pull()
    assert bob.last("#tea").id < sent.id
    bob.chats.react("#tea", bob.last("#tea").id)
    bob.send("#tea", "hi", reply_to=bob.last("#tea").id)
    alice.pull()
    assert alice.shown("#tea")[0].reactions == {ReactionKind.LOVE: (bob.chats.own,)}
    assert alice.last("#tea").response_to == sent.id
    assert len(alice.texts("#tea")) == len(bob.texts("#tea")) == 2


def test_what_is_deleted_is_removed_although_its_receiver_passed_it_back(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB)
    sent = alice.send("#tea", "regretted")
    bob.pull()
    [carried] = bob.chats.memory.wrappers.values()
    network[BOB].pass_on(ALICE, carried.wrapper, 1, "regretted")
    alice.pull()
    alice.chats.delete("#tea", sent.id)
    bob.pull()
    assert [type(entry) for entry in bob.archive.open(ALICE)].count(Tombstone) == 1
    assert bob.texts("#tea") == ["(deleted)"]


def test_a_relay_passes_a_message_with_further_ids_on_once(network: ChatNetwork) -> None:
    alice, bob = joined(network, ALICE, BOB), joined(network, BOB, CAROL, relays=True)
    alice.send("#tea", "hello")
    bob.pull()
    [carried] = bob.chats.memory.wrappers.values()
    for number in range(20):
        network[MALLORY].pass_on(BOB, carried.wrapper + bytes([0x48, number]), 1)
    assert bob.pull()[1] == []


# ---- own devices ---------------------------------------------------------------------------------------------------
def test_a_second_device_shows_the_same(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    bob.send(ALICE, "hi")
    alice.chats.join("tea", [BOB])
    alice.pull()
    second = network.device(ALICE)
    assert second.shown(BOB) == alice.shown(BOB)
    assert second.chats.chats() == alice.chats.chats()
    assert second.chats.find("#tea") == alice.chats.find("#tea")


def test_history_that_is_cleared_is_cleared_on_all_devices(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.send(BOB, "old")
    bob.pull()
    alice.chats.clear(BOB)
    bob.send(ALICE, "new")
    second = network.device(ALICE)
    second.pull()
    assert alice.texts(BOB) == second.texts(BOB) == ["new"]
    assert bob.texts(ALICE) == ["old", "new"]
    with pytest.raises(NoSuchChatError, match="nothing to clear"):
        alice.chats.clear(CAROL)


def test_a_message_that_is_hidden_is_hidden_on_all_devices_and_nowhere_else(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    sent = alice.send(BOB, "one")
    alice.send(BOB, "two")
    bob.pull()
    bob.chats.hide(ALICE, sent.id)
    bob.pull()
    assert bob.texts(ALICE) == network.device(BOB).texts(ALICE) == ["two"]
    assert alice.texts(BOB) == ["one", "two"]


def test_a_device_with_another_home_learns_of_channels(network: ChatNetwork, alice: Device) -> None:
    alice.chats.join("tea", [BOB], relays=True)
    other = network[ALICE].device(home=MemoryHome())
    other.pull()
    assert other.chats.memory.channels == alice.chats.memory.channels
    alice.chats.part("tea")
    other.pull()
    assert not other.chats.memory.channels["tea"].is_joined


def test_what_one_does_counts_although_ones_own_mailbox_is_away(network: ChatNetwork, alice: Device) -> None:
    network[ALICE].service.is_down = True
    assert [it.outcome for it in alice.chats.join("tea", [BOB]).deliveries] == [SendOutcome.NOT_NOW]
    assert network.device(ALICE).chats.find("#tea").receivers == (BOB,)


# ---- deliveries that fail ------------------------------------------------------------------------------------------
def test_what_cannot_be_delivered_now_goes_with_the_next_pull(network: ChatNetwork, alice: Device, bob: Device) -> None:
    network[BOB].service.is_down = True
    sent = alice.send(BOB, "hello")
    assert [(it.outcome, it.reason) for it in sent.deliveries] == [(SendOutcome.NOT_NOW, "OutboundFailed")]
    assert alice.texts(BOB) == ["hello"]
    network[BOB].service.is_down = False
    second = network.device(ALICE)
    assert [it.outcome for it in second.pull()[1]] == [SendOutcome.TAKEN, SendOutcome.TAKEN]
    bob.pull()
    assert bob.texts(ALICE) == ["hello"]
    assert second.unsent() == []


def test_of_a_message_whose_answer_was_lost_the_receiver_keeps_one_copy(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    service = network[BOB].service
    service.copies, service.loses_answers = 2, 2
    assert alice.send(BOB, "hello").deliveries[0].outcome is SendOutcome.NOT_NOW
    alice.pull()
    assert alice.unsent() == []
    assert len(service.waiting) == 8
    bob.pull()
    assert alice.texts(BOB) == bob.texts(ALICE) == ["hello"]
    assert len(opened(bob, ALICE)) == len(opened(alice, BOB)) == len(set(service.seen)) == 2


def test_a_message_whose_receiver_has_other_keys_by_now_is_encrypted_to_those(
    network: ChatNetwork, alice: Device
) -> None:
    network[BOB].service.is_down = True
    alice.send(BOB, "hello")
    network[BOB].service.is_down = False
    network[BOB].keys = UserKeys(network[BOB].keys.signing, UserKeys.random().encryption)
    network[BOB].publish()
    alice.pull()
    bob = network.device(BOB)
    bob.pull()
    assert bob.texts(ALICE) == alice.texts(BOB) == ["hello"]


def test_what_is_refused_stays_with_the_reason(network: ChatNetwork, alice: Device) -> None:
    network[BOB].refuse(ALICE)
    sent = alice.send(BOB, "hello")
    assert [(it.outcome, it.reason) for it in sent.deliveries] == [(SendOutcome.REFUSED, "SenderNotWanted")]
    assert alice.pull()[1] == []
    assert alice.unsent() == [f"{BOB}: SenderNotWanted"] * 2
    assert alice.texts(BOB) == ["hello"]


def test_what_is_too_large_for_the_delivery_service_is_refused(network: ChatNetwork, alice: Device) -> None:
    network[BOB].service.size_limit = 3000
    assert [it.reason for it in alice.send(BOB, "x" * 2000).deliveries] == ["TooLarge"]


def test_what_a_receiver_does_not_take_by_its_type_goes_as_new(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    first = alice.send(BOB, "tea?")
    network[BOB].takes(MessageType.REPLY)
    alice.chats.react(BOB, first.id)
    alice.chats.edit(BOB, first.id, "tea!")
    bob.pull()
    types = [it.message.metadata.type_name for it in opened(bob, ALICE)]
    assert types == ["NEW"] * 4
    assert (bob.last(ALICE).text, bob.last(ALICE).reactions) == ("tea!", {ReactionKind.LOVE: (alice.chats.own,)})
    assert alice.unsent() == []


def test_a_message_that_is_deleted_before_it_is_delivered_is_deleted_at_its_receiver(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[BOB].service.is_down = True
    sent = alice.send(BOB, "regretted")
    alice.chats.delete(BOB, sent.id)
    network[BOB].service.is_down = False
    alice.pull()
    bob.pull()
    assert alice.texts(BOB) == bob.texts(ALICE) == ["(deleted)"]
    assert not any("regretted" in (it.message.message or "") for it in opened(bob, ALICE))


def test_what_was_taken_is_stored_although_nobody_asks_what_became_of_the_rest(
    network: ChatNetwork, alice: Device
) -> None:
    for name in (BOB, CAROL):
        network[name].service.is_down = True
        alice.send(name, "hello")
        network[name].service.is_down = False
    before = alice.unsent()
    deliveries = alice.chats.deliver_unsent()
    assert isinstance(deliveries, Generator)
    next(deliveries)
    deliveries.close()
    assert len(alice.unsent()) == len(before) - 1
    for _ in alice.chats.deliver_unsent():
        assert alice.chats.memory
    assert alice.chats.memory.unsent == {}


def test_what_was_taken_is_stored_when_a_second_has_passed_since_the_first_of_it(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[BOB].service.is_down = True
    for text in ("one", "two", "three", "four", "five"):
        alice.send(BOB, text)
    assert len(alice.unsent()) == 6  # her identity is among them
    network[BOB].service.is_down = False
    # Each delivery takes 0.6 seconds.
    network[BOB].service.after_filing = lambda: network.tick(600)
    left = [len(network.device(ALICE).unsent()) for _ in alice.chats.deliver_unsent()]
    assert [left[0] - each for each in left] == [0, 0, 2, 2, 4, 4]
    assert alice.unsent() == []


def test_who_gives_a_message_another_id_does_not_make_it_look_delivered(
    network: ChatNetwork, alice: Device, carol: Device
) -> None:
    alice.chats.join("tea", [BOB, CAROL])
    network[BOB].service.is_down = True
    sent = alice.send("#tea", "hello")
    carol.chats.join("tea", [])
    carol.pull()
    carol.chats.refresh()
    [carried] = carol.chats.memory.wrappers.values()
    others = (carried.wrapper + bytes([0x48, number]) for number in range(128))
    smaller = next(other for other in others if message_id(network[ALICE].key, other) < sent.id)
    network[CAROL].pass_on(ALICE, smaller, PayloadType.CHAT_MESSAGE)
    alice.pull()
    alice.chats.refresh()
    view = alice.chats.view()
    chat = view.chat(alice.chats.find("#tea").ref)
    [state] = find_undelivered(alice.chats.memory, chat, view.messages(chat.ref)).values()
    assert [each.to for each in state.unsent] == [BOB]
