"""Devices that die between any two steps of sending and of pulling: another one completes the work.

Nothing is lost, nothing is shown twice, and both sides show the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, ChatNetwork, Device, DiedError, Points

from postroom.client.archive import verify
from postroom.client.chat.unsent import read_unsent
from postroom.protocols.dm3.stored import StoredEnvelope

Act = Callable[[Device], object]


def die() -> None:
    raise DiedError


def deaths(network: ChatNetwork, name: str, act: Act) -> Iterator[int]:
    """Let a device of somebody die at every second point while it acts, from one state; the last one does not die.

    What is after one step is before the next.
    """
    state = network.state()
    for at in count(step=2):
        network.restore(state)
        device = network[name].device(points=Points(at, die))
        try:
            act(device)
        except DiedError:
            yield at
        else:
            yield at
            return


def check_settled(network: ChatNetwork, *names: str) -> None:
    """Let everybody pull until nothing waits, and check the archives."""
    devices = {name: network.device(name) for name in names}
    for name in (*names, *names):
        devices[name].pull()
    for name, device in devices.items():
        assert read_unsent(device.archive) == []
        assert network[name].service.waiting == []
        found = verify(device.archive, network.known_keys())
        assert found.flaws == []
        for partner in device.archive.conversations():
            copies = Counter(
                entry.message.encode() for entry in device.archive.open(partner) if isinstance(entry, StoredEnvelope)
            )
            assert set(copies.values()) <= {1}


def shown(network: ChatNetwork, name: str, to: str) -> list[object]:
    """What a chat shows, on both sides alike."""
    return [
        (it.id, it.author, it.text, it.response_to, it.is_edited, it.is_pinned, it.deleted_by, it.reactions)
        for it in network.device(name).shown(to)
    ]


@pytest.fixture
def talk(network: ChatNetwork, alice: Device, bob: Device) -> ChatNetwork:
    """Alice and Bob have written to each other once."""
    alice.send(BOB, "first")
    bob.pull()
    bob.send(ALICE, "second")
    alice.pull()
    bob.pull()
    return network


def first_id(device: Device) -> str:
    return device.shown(BOB)[0].id


ACTIONS: dict[str, Act] = {
    "a reply": lambda alice: alice.send(BOB, "third", reply_to=alice.last(BOB).id),
    "a reaction": lambda alice: alice.chats.react(BOB, alice.last(BOB).id),
    "an edit": lambda alice: alice.chats.edit(BOB, first_id(alice), "changed"),
    "a deletion": lambda alice: alice.chats.delete(BOB, first_id(alice)),
}


@pytest.mark.parametrize("takes_all", [True, False], ids=["all types", "new ones only"])
@pytest.mark.parametrize("what", ACTIONS)
def test_who_dies_while_sending(talk: ChatNetwork, what: str, takes_all: bool) -> None:
    if not takes_all:
        talk[BOB].takes()
    before = shown(talk, ALICE, BOB)
    outcomes = []
    for at in deaths(talk, ALICE, ACTIONS[what]):
        left = shown(talk, ALICE, BOB)
        check_settled(talk, ALICE, BOB)
        after = shown(talk, ALICE, BOB)
        assert after == shown(talk, BOB, ALICE), at
        assert after == left, at
        outcomes.append(after != before)
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-1] is True
    assert len(outcomes) > 8


def test_who_dies_while_sending_a_first_message(network: ChatNetwork, alice: Device) -> None:
    for _ in deaths(network, ALICE, lambda device: device.send(BOB, "hello")):
        check_settled(network, ALICE, BOB)
        assert shown(network, ALICE, BOB) == shown(network, BOB, ALICE)
        assert len(shown(network, ALICE, BOB)) <= 1


def test_who_dies_while_sending_what_could_not_be_encrypted_before(talk: ChatNetwork, alice: Device) -> None:
    talk.registry.down = True
    alice.send(BOB, "on a train")
    talk.registry.down = False
    for _ in deaths(talk, ALICE, lambda device: list(device.chats.deliver_unsent())):
        check_settled(talk, ALICE, BOB)
        assert [it.text for it in talk.device(BOB).shown(ALICE)] == ["first", "second", "on a train"]


def test_who_dies_while_a_message_is_refused(talk: ChatNetwork) -> None:
    talk[BOB].refuse(ALICE)
    for _ in deaths(talk, ALICE, lambda device: device.chats.react(BOB, device.last(BOB).id)):
        alice = talk.device(ALICE)
        alice.pull()
        assert alice.unsent() in ([], [f"{BOB}: SenderNotWanted"])
        assert bool(alice.unsent()) == bool(alice.last(BOB).reactions)


def test_who_dies_while_pulling(talk: ChatNetwork, alice: Device) -> None:
    alice.send(BOB, "third")
    alice.chats.delete(BOB, first_id(alice))
    alice.chats.react(BOB, alice.last(BOB).id)
    for _ in deaths(talk, BOB, Device.pull):
        check_settled(talk, BOB, ALICE)
        assert shown(talk, ALICE, BOB) == shown(talk, BOB, ALICE)
        assert talk.device(BOB).texts(ALICE) == ["(deleted)", "second", "third"]


def test_who_dies_while_passing_messages_on(network: ChatNetwork) -> None:
    for name, receivers, relays in ((ALICE, [BOB], False), (BOB, [CAROL], True), (CAROL, [], False)):
        network.device(name).chats.join("tea", receivers, relays=relays)
    alice = network.device(ALICE)
    sent = alice.send("#tea", "hello")
    alice.chats.edit("#tea", sent.id, "hello!")
    for _ in deaths(network, BOB, Device.pull):
        check_settled(network, BOB, CAROL, ALICE)
        assert shown(network, CAROL, "#tea") == shown(network, ALICE, "#tea") == shown(network, BOB, "#tea")
        assert len(network[CAROL].service.seen) == 3


def test_who_dies_while_clearing_a_history(talk: ChatNetwork) -> None:
    outcomes = []
    for _ in deaths(talk, ALICE, lambda device: device.chats.clear(BOB)):
        check_settled(talk, ALICE, BOB)
        outcomes.append(talk.device(ALICE).texts(BOB))
        assert talk.device(BOB).texts(ALICE) == ["first", "second"]
    assert [len(each) for each in outcomes] == sorted((len(each) for each in outcomes), reverse=True)
    assert outcomes[-1] == []
