"""Groups by dm3: each message goes to each member, at a name whose profile has the member's key."""

from dataclasses import replace

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, MALLORY, ChatNetwork, Device, wrapped

from postroom.client.chat import ChatError
from postroom.client.chat.targets import groups_named_by_id
from postroom.client.sending import SendOutcome
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.status import sending
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import ChatKind, MembershipEventType, PayloadType
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.messages import MembershipUpdateEvent, MembershipUpdateMessage
from postroom.protocols.status.verify import ChatRef

GROUP = "tea at four"


@pytest.fixture
def group(alice: Device, bob: Device, carol: Device) -> str:
    """A group of Alice, its admin, Bob and Carol; its ID."""
    alice.chats.create_group(GROUP, [BOB, CAROL])
    bob.pull()
    carol.pull()
    [chat] = alice.chats.chats()
    return chat.ref.id


def test_everybody_sees_what_each_member_does(
    network: ChatNetwork, group: str, alice: Device, bob: Device, carol: Device
) -> None:
    first = alice.send(GROUP, "hello")
    bob.pull()
    sent = bob.send(GROUP, "hi", reply_to=first.id)
    assert {it.to: it.outcome for it in sent.deliveries} == dict.fromkeys((ALICE, CAROL), SendOutcome.TAKEN)
    assert sent.unreached == ()
    carol.pull()
    carol.chats.react(GROUP, first.id)
    alice.chats.edit(GROUP, first.id, "hello!")
    for device in (alice, bob, carol):
        device.pull()
    shown = [
        [(it.id, it.author, it.text, it.response_to, it.reactions) for it in device.shown(group)]
        for device in (alice, bob, carol)
    ]
    assert shown[0] == shown[1] == shown[2]
    assert [it[2] for it in shown[0]] == ["hello!", "hi"]
    assert list(shown[0][0][4].values()) == [(network[CAROL].key,)]


def test_members_who_never_wrote_to_each_other_know_each_others_names(
    group: str, network: ChatNetwork, bob: Device
) -> None:
    target = bob.chats.find(group)
    assert sorted(target.receivers) == [ALICE, CAROL]


def test_what_others_say_of_names_is_not_passed_on(network: ChatNetwork, group: str, bob: Device) -> None:
    assert network[CAROL].key not in bob.chats.find(group).names
    bob.send(GROUP, "hello")
    bob.chats.refresh()
    assert bob.chats.memory.name_of(network[CAROL].key) == ""


def false_name(network: ChatNetwork) -> str:
    """A name of Mallory's whose profile has Carol's signing key, as anybody's can."""
    mallory, carol = network[MALLORY], network[CAROL]
    name = "a.eth"
    network.services[f"ds-{name}"] = replace(mallory.service, name=name)
    network.publish_service(name, f"https://ds-{name}")
    profile = UserProfile(mallory.keys.encryption.public, carol.keys.signing.public, (f"ds-{name}",))
    network.registry.put(name, PROFILE_KEY, data_uri(profile.as_json()))
    return name


def say(network: ChatNetwork, receiver: str, name: str) -> None:
    """Mallory says to somebody that this is Carol's name."""
    chat = ChatRef(ChatKind.ONE_TO_ONE, network[receiver].key)
    wrapper = wrapped(sending.text_message(chat, network.now_ms, network.now_ms, "psst"), network[MALLORY].author)
    network[MALLORY].pass_on(receiver, wrapper, PayloadType.CHAT_MESSAGE, "psst", names={network[CAROL].key: name})


def test_what_a_stranger_says_of_a_member_diverts_nothing(network: ChatNetwork, alice: Device, bob: Device) -> None:
    say(network, BOB, false_name(network))
    bob.pull()
    alice.chats.create_group(GROUP, [BOB, CAROL])
    bob.pull()
    assert sorted(bob.chats.find(GROUP).receivers) == [ALICE, CAROL]
    assert bob.chats.memory.name_of(network[CAROL].key) == ""


def test_what_a_member_has_said_does_not_count_when_the_member_is_removed(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    name = false_name(network)
    say(network, BOB, name)
    alice.chats.create_group(GROUP, [BOB, CAROL, MALLORY])
    bob.pull()
    assert name in bob.chats.find(GROUP).receivers
    bob.send(GROUP, "Mallory gets it anyway")
    alice.chats.remove_member(GROUP, MALLORY)
    bob.pull()
    assert sorted(bob.chats.find(GROUP).receivers) == [ALICE, CAROL]


def test_the_name_with_which_the_owner_added_a_member_counts_even_if_it_cannot_be_looked_up(
    network: ChatNetwork, alice: Device
) -> None:
    alice.chats.create_group(GROUP, [BOB, CAROL, MALLORY])
    say(network, ALICE, false_name(network))
    alice.pull()
    network.registry.away = {CAROL}
    network.tick(3_600_000)
    sent = alice.send(GROUP, "for members")
    assert sorted(it.to for it in sent.deliveries) == [BOB, CAROL, MALLORY]
    assert set(alice.unsent()) == {CAROL}


def test_a_message_that_an_admin_deletes_is_deleted_for_all_whatever_they_take(
    network: ChatNetwork, group: str, alice: Device, bob: Device, carol: Device
) -> None:
    network[CAROL].takes(MessageType.REPLY)
    one = bob.send(GROUP, "one")
    two = bob.send(GROUP, "two")
    for device in (alice, carol):
        device.pull()
    with pytest.raises(ChatError, match="an admin of its group can delete it"):
        carol.chats.delete(GROUP, two.id)
    alice.chats.delete(GROUP, two.id)
    bob.chats.delete(GROUP, one.id)
    for device in (alice, bob, carol):
        device.pull()
        assert device.texts(group) == ["(deleted)", "(deleted)"]
        assert [it.id for it in device.shown(group)] == [one.id, two.id]


def test_a_name_that_another_says_gets_nothing_unless_its_profile_has_the_members_key(
    network: ChatNetwork, group: str, alice: Device, bob: Device
) -> None:
    false = network.add("a.eth", UserKeys.random())
    say(network, BOB, false.name)
    alice.chats.add_members(group, [MALLORY])
    bob.pull()
    key = network[CAROL].key
    assert sorted(bob.chats.memory.names_said(key, lambda _: True)) == [false.name, CAROL]
    assert CAROL in bob.chats.find(group).receivers
    network.registry.away = {"a.eth"}
    sent = bob.send(GROUP, "for members")
    network.registry.away = set()
    bob.pull()
    assert sorted(it.to for it in sent.deliveries) == [ALICE, CAROL, MALLORY]
    assert false.service.waiting == []


def test_a_strangers_events_change_no_group_and_make_none_that_the_user_is_in(
    network: ChatNetwork, group: str, alice: Device, bob: Device
) -> None:
    mallory, now_ms = network[MALLORY].author, network.tick()
    for to in (group, group_id("00000000-0000-4000-8000-000000000000", network[ALICE].key)):
        events = (
            sign_event(to, MembershipUpdateEvent(now_ms + number, kind, (network[BOB].key,), "Mine"), mallory)
            for number in range(60)
            for kind in (MembershipEventType.NAME_CHANGED, MembershipEventType.MEMBERS_ADDED)
        )
        network[MALLORY].carry(BOB, MembershipUpdateMessage(to, tuple(events)))
    alice.chats.rename_group(GROUP, "Dinner")
    bob.pull()
    assert [chat.name for chat in bob.chats.view().groups()] == ["Dinner"]
    assert bob.send("Dinner", "yes").unreached == ()


def test_a_member_whose_name_nobody_knows_is_named(network: ChatNetwork, group: str, bob: Device) -> None:
    new = UserKeys.random()
    network[CAROL].keys = UserKeys(new.signing, network[CAROL].keys.encryption)
    key = network.device(ALICE).chats.find(CAROL).ref.id
    network[CAROL].publish()
    sent = bob.send(group, "hello")
    assert sent.unreached == (key,)
    assert [it.to for it in sent.deliveries] == [ALICE]


def test_who_left_writes_no_more_and_still_reads(
    network: ChatNetwork, group: str, alice: Device, bob: Device, carol: Device
) -> None:
    alice.send(GROUP, "before")
    bob.pull()
    bob.chats.leave_group(GROUP)
    with pytest.raises(ChatError, match="not in this group any more"):
        bob.send(group, "still here")
    alice.pull()
    assert [it.to for it in alice.send(GROUP, "after").deliveries] == [CAROL]
    assert bob.texts(group) == ["before"]


def test_who_is_alone_in_a_group_can_leave_it(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.create_group("two", [BOB])
    bob.pull()
    bob.chats.leave_group("two")
    alice.pull()
    with pytest.raises(ChatError, match="would go to nobody"):
        alice.send("two", "anybody?")
    alice.chats.leave_group("two")
    assert [chat.members for chat in network.device(ALICE).chats.chats()] == [()]


def test_a_group_that_has_the_id_of_another_as_its_name_is_not_found_by_it(
    group: str, alice: Device, bob: Device, carol: Device
) -> None:
    bob.chats.create_group(group, [ALICE])
    alice.pull()
    assert {chat.name for chat in alice.chats.chats()} == {GROUP, group}
    assert alice.chats.find(group).ref.id == group
    [decoy] = [chat.ref.id for chat in alice.chats.chats() if chat.name == group]
    assert groups_named_by_id(alice.chats.view().groups()) == {decoy}


def test_two_groups_with_one_name_are_named_by_their_ids(alice: Device) -> None:
    for _ in range(2):
        alice.chats.create_group("tea", [BOB])
    with pytest.raises(ChatError, match="2 groups are called 'tea'"):
        alice.send("tea", "hello")
    assert [it.to for it in alice.send(alice.chats.chats()[0].ref.id, "hello").deliveries] == [BOB]


def test_who_is_added_gets_the_group_with_its_members_and_who_is_removed_learns_it(
    network: ChatNetwork, group: str, alice: Device, bob: Device
) -> None:
    mallory = network.device(MALLORY)
    alice.chats.add_members(GROUP, [MALLORY])
    mallory.pull()
    [chat] = mallory.chats.view().groups()
    assert (chat.ref.id, set(chat.members)) == (group, {network[name].key for name in (ALICE, BOB, CAROL, MALLORY)})
    alice.chats.remove_member(GROUP, MALLORY)
    for device in (mallory, bob):
        device.pull()
        [chat] = device.chats.view().groups()
        assert network[MALLORY].key not in chat.members
