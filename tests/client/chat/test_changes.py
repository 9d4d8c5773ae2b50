"""What changes in chats, as `watch` yields it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tests.client.chat.nameless_member import add_without_name
from tests.client.chat.network import ALICE, BOB, MALLORY, ChatNetwork, Device, Mailbox, Waiting

from postroom.client.chat import ChangeKind, ChatChange, SentTo, chats
from postroom.client.chat.undelivered import DeliveryState, UnsentPart
from postroom.client.chat.watching import PAUSE_SECONDS, ChatWatch
from postroom.client.mailbox import UnavailableError
from postroom.client.sending import SendOutcome


@dataclass
class Unavailable(Mailbox):
    """A mailbox that does not answer so many times."""

    failures: int = 1

    def unread(self, *, wait: float | bool = False) -> Iterator[Waiting]:
        self.failures -= 1
        if self.failures >= 0:
            raise UnavailableError("it does not answer")
        yield from super().unread()


@dataclass
class Watched:
    """What changes for a device from one pull to the next one."""

    device: Device
    refused: list[SentTo] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._watch = ChatWatch(self.device.chats, Mailbox(self.device.person.service, self.device.points))

    def pull(self) -> list[ChatChange]:
        pulled = self._watch.pull()
        self.refused = pulled.refused
        return pulled.changes


def test_what_comes_is_added_changed_and_removed(alice: Device, bob: Device) -> None:
    alice.send(BOB, "there at first")
    bob.pull()
    watched = Watched(bob)
    sent = alice.send(BOB, "hello")
    assert [(str(it.kind), it.message.text) for it in watched.pull()] == [("added", "hello")]
    alice.chats.edit(BOB, sent.id, "hello all")
    assert [(str(it.kind), it.message.text) for it in watched.pull()] == [("changed", "hello all")]
    assert watched.pull() == []
    bob.chats.clear(ALICE)
    assert [str(it.kind) for it in watched.pull()] == ["removed", "removed"]


def test_a_change_says_who_has_not_got_the_message(network: ChatNetwork, alice: Device) -> None:
    watched = Watched(alice)
    network[BOB].service.is_down = True
    alice.send(BOB, "hello")
    waits, delivered = DeliveryState((UnsentPart("message", BOB),)), DeliveryState()
    assert [(it.kind, it.delivery) for it in watched.pull()] == [(ChangeKind.ADDED, waits)]
    assert watched.refused == []
    network[BOB].service.is_down = False
    assert [(it.kind, it.delivery) for it in watched.pull()] == [(ChangeKind.CHANGED, delivered)]
    assert watched.refused == []


def test_that_a_message_is_refused_is_a_change(network: ChatNetwork, alice: Device) -> None:
    network[BOB].service.is_down = True
    alice.send(BOB, "hello")
    watched = Watched(alice)
    network[BOB].service.is_down = False
    network[BOB].refuse(ALICE)
    # With the text, one's own name is refused.
    refused = DeliveryState((UnsentPart("message", BOB, "SenderNotWanted"),))
    assert [(it.kind, it.delivery) for it in watched.pull()] == [(ChangeKind.CHANGED, refused)]
    assert [(it.to, it.outcome, it.reason) for it in watched.refused] == [(BOB, SendOutcome.REFUSED, "SenderNotWanted")]


def test_what_was_refused_and_is_shown_in_no_chat_is_said(network: ChatNetwork, alice: Device) -> None:
    network[BOB].service.is_down = True
    alice.chats.create_group("Lunch", [BOB])
    watched = Watched(alice)
    network[BOB].service.is_down = False
    network[BOB].refuse(ALICE)
    refused: list[SentTo] = []
    watch = alice.chats.watch(Mailbox(alice.person.service, alice.points), 0, refused.append)
    assert [*watch] == []
    assert [(it.to, it.reason) for it in refused] == [(BOB, "SenderNotWanted")]
    assert watched.pull() == watched.refused == []


def test_who_is_not_reached_is_said_of_a_message_that_is_new(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB])
    add_without_name(alice, network[MALLORY].key)
    watched = Watched(alice)
    network.device(ALICE).send("Lunch", "who is there?")
    [change] = watched.pull()
    assert change.delivery == DeliveryState(unreached=(network[MALLORY].key,))


def test_a_watch_yields_each_change_until_nothing_came_for_so_long(alice: Device, bob: Device) -> None:
    alice.send(BOB, "there at first")
    bob.pull()
    alice.send(BOB, "hello")
    watch = bob.chats.watch(Mailbox(bob.person.service, bob.points), 0)
    assert [change.message.text for change in watch] == ["hello"]


def test_while_messages_stay_a_watch_does_not_pull_again_and_again(
    network: ChatNetwork, alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.send(BOB, "hello")
    # The sender cannot be verified now.
    network.tick(3_600_000)
    network.registry.down = True
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        network.registry.down = False

    monkeypatch.setattr(chats.time, "sleep", sleep)
    change = next(bob.chats.watch(Mailbox(bob.person.service, bob.points)))
    assert change.message.text == "hello"
    assert pauses == [PAUSE_SECONDS]


def test_a_watch_may_go_on_while_the_post_office_does_not_answer(
    network: ChatNetwork, alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    network[ALICE].service.is_down = True
    bob.send(ALICE, "one")
    network[ALICE].service.is_down = False
    alice.send(BOB, "two")
    errors: list[UnavailableError] = []
    pauses: list[float] = []
    monkeypatch.setattr(chats.time, "sleep", pauses.append)
    mail = Unavailable(bob.person.service, bob.points, failures=2)
    watch = bob.chats.watch(mail, unavailable=errors.append)
    changes = [next(watch), next(watch)]
    # What waited was sent meanwhile.
    assert [(str(it.kind), it.message.text) for it in changes] == [("changed", "one"), ("added", "two")]
    assert [error.detail for error in errors] == ["it does not answer"] * 2
    assert pauses == [PAUSE_SECONDS]


def test_otherwise_a_watch_ends_when_the_post_office_does_not_answer(bob: Device) -> None:
    with pytest.raises(UnavailableError):
        next(bob.chats.watch(Unavailable(bob.person.service, bob.points)))
