"""Groups by dm3: each message goes to each member, at a name whose profile has the member's key."""

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, MALLORY, ChatNetwork, Device, wrapped

from postroom.client.chat import ChatError
from postroom.client.sending import SendOutcome
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, PayloadType
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
    assert target.names[network[CAROL].key] == CAROL


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
    network: ChatNetwork, group: str, bob: Device
) -> None:
    false = network.add("a.eth", UserKeys.random())
    mallory = network[MALLORY]
    chat = ChatRef(ChatKind.ONE_TO_ONE, bob.chats.own)
    wrapper = wrapped(sending.text_message(chat, network.now_ms, network.now_ms, "psst"), mallory.author)
    mallory.pass_on(BOB, wrapper, PayloadType.CHAT_MESSAGE, "psst", names={network[CAROL].key: false.name})
    bob.pull()
    assert bob.chats.memory.names_of(network[CAROL].key) == ["a.eth", CAROL]
    assert bob.chats.find(group).names[network[CAROL].key] == CAROL
    network.registry.away = {"a.eth"}
    sent = bob.send(GROUP, "for members")
    network.registry.away = set()
    bob.pull()
    assert sorted(it.to for it in sent.deliveries) == [ALICE, CAROL]
    assert false.service.waiting == []


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
