"""Chats for asyncio: the same as in programs without it, in a thread of their own."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event

import pytest
from tests.client.chat.network import ALICE, BOB, ChatNetwork, Device, Mailbox, Waiting
from tests.client.chat.test_changes import Unavailable
from tests.client.unasync_chats import AIO, async_chats, read_classes

from postroom.client.chat import AsyncChats, ChatError, SentTo, in_thread
from postroom.client.chat.watching import PAUSE_SECONDS
from postroom.client.mailbox import UnavailableError


@dataclass
class Slow(Mailbox):
    """A mailbox in which nothing comes until `comes` is set."""

    comes: Event = field(default_factory=Event)
    waits: list[float | bool] = field(default_factory=list)

    def unread(self, *, wait: float | bool = False) -> Iterator[Waiting]:
        if wait is not False:
            self.waits.append(wait)
            self.comes.wait(wait)
        yield from super().unread()


def slow(device: Device) -> Slow:
    return Slow(device.person.service, device.points)


def test_the_module_is_generated_from_that_of_the_other_programs() -> None:
    assert AIO.read_text() == async_chats(read_classes()), "a class of chats was changed, or aio.py: run `make unasync`"


def test_what_is_sent_is_shown(alice: Device, bob: Device) -> None:
    async def chat() -> list[str]:
        ours, theirs = AsyncChats(alice.chats), AsyncChats(bob.chats)
        await asyncio.gather(*(ours.send(BOB, f"text {number}") for number in range(3)))
        await theirs.pull(bob.person.service)
        assert await theirs.deliver_unsent() == []
        return [message.text for message in await theirs.messages(ALICE)]

    assert asyncio.run(chat()) == ["text 0", "text 1", "text 2"]
    assert (AsyncChats(bob.chats).own, AsyncChats(bob.chats).name) == (bob.chats.own, BOB)


def test_errors_are_the_same(alice: Device) -> None:
    async def chat() -> None:
        with pytest.raises(ChatError, match="no dm3 name"):
            await AsyncChats(alice.chats).send("no name", "hello")

    asyncio.run(chat())


def test_changes_are_seen_as_they_come_and_messages_can_be_sent_meanwhile(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    async def chat() -> list[str]:
        chats, mail, texts = AsyncChats(bob.chats), slow(bob), []
        alice.send(BOB, "first")
        async for change in chats.watch(mail):
            texts.append(change.message.text)
            if len(texts) == 1:
                alice.send(BOB, "second")
                # No mail comes before it is sent.
                third = asyncio.ensure_future(chats.send(ALICE, "third"))
                third.add_done_callback(lambda _: mail.comes.set())
            if len(texts) == 3:
                break
        return texts

    assert sorted(asyncio.run(chat())) == ["first", "second", "third"]


def test_it_ends_when_nothing_came_for_so_long(bob: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_thread, "_MOST_SECONDS", 0.02)
    mail = slow(bob)

    async def watch() -> list[object]:
        return [change async for change in AsyncChats(bob.chats).watch(mail, wait=0.05)]

    assert asyncio.run(watch()) == []
    assert mail.waits[:2] == [0.02, 0.02]
    assert len(mail.waits) == 3


def test_what_is_refused_is_said(network: ChatNetwork, alice: Device) -> None:
    network[BOB].service.is_down = True
    alice.chats.create_group("Lunch", [BOB])
    network[BOB].service.is_down = False
    network[BOB].refuse(ALICE)

    async def watch() -> list[str]:
        refused: list[SentTo] = []
        assert [change async for change in AsyncChats(alice.chats).watch(slow(alice), 0.01, refused.append)] == []
        return [f"{it.to}: {it.reason}" for it in refused]

    assert asyncio.run(watch()) == [f"{BOB}: SenderNotWanted"]


def test_it_may_go_on_while_the_post_office_does_not_answer(
    alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_thread, "PAUSE_SECONDS", 0)
    errors: list[UnavailableError] = []

    async def watch() -> str:
        alice.send(BOB, "hello")
        mail = Unavailable(bob.person.service, bob.points, failures=2)
        async for change in AsyncChats(bob.chats).watch(mail, unavailable=errors.append):
            return change.message.text
        return ""

    assert asyncio.run(watch()) == "hello"
    assert len(errors) == 2


def test_who_is_cancelled_waits_no_longer_than_a_short_time(bob: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_thread, "_MOST_SECONDS", 0.02)
    mail = slow(bob)

    async def watch() -> None:
        async for _ in AsyncChats(bob.chats).watch(mail):
            pass

    async def cancelled() -> int:
        task = asyncio.ensure_future(watch())
        while len(mail.waits) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(mail.waits)

    waits = asyncio.run(cancelled())
    assert len(mail.waits) == waits


def test_while_messages_stay_it_does_not_pull_again_and_again(
    network: ChatNetwork, alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.send(BOB, "hello")
    # The sender cannot be verified now.
    network.tick(3_600_000)
    network.registry.down = True
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        network.registry.down = False

    monkeypatch.setattr(in_thread.asyncio, "sleep", sleep)
    mail = slow(bob)
    mail.comes.set()

    async def first() -> str:
        async for change in AsyncChats(bob.chats).watch(mail):
            return change.message.text
        return ""

    assert asyncio.run(first()) == "hello"
    assert pauses == [PAUSE_SECONDS]
