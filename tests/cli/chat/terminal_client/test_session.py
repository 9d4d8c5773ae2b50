"""What the client does with the network: one job after the other, errors as sentences, few pulls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from tests.cli.chat.client_screen import StepRunner
from tests.client.chat.network import BOB, CAROL, ChatNetwork, Device, Mailbox, Points
from tests.patience import PATIENCE

from postroom.cli.chat.terminal_client import session as session_module
from postroom.cli.chat.terminal_client.chat_work import ChatWork, FinishedWork, WorkResult
from postroom.cli.chat.terminal_client.session import BrokenSession, ChatSession, PulledMail, SessionEvent, ThreadRunner
from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.protocols.status.verify import ChatRef


def nothing() -> Mapping[ChatRef, int]:
    return {}


@dataclass
class Stopped(Exception):  # noqa: N818
    """The test has seen enough of a thread that never ends."""


@dataclass
class WaitedMail:
    """A mailbox at which one waits: each element is a message (a pull is due) or an error."""

    events: list[object]
    waited: list[float | bool] = field(default_factory=list)

    def unread(self, *, wait: float | bool = False) -> Iterator[object]:
        self.waited.append(wait)
        while self.events:
            event = self.events.pop(0)
            if isinstance(event, Exception):
                raise event
            yield event

    def acknowledge(self, messages: object) -> None:
        raise AssertionError


def session_of(device: Device, runner: StepRunner) -> ChatSession:
    return ChatSession(device.chats, Mailbox(device.person.service, Points()), runner, StepRunner())


def test_a_pull_brings_mail_and_sends_what_waits(network: ChatNetwork, alice: Device, bob: Device) -> None:
    network[BOB].service.is_down = True
    alice.send(BOB, "hello")
    runner, events = StepRunner(), list[SessionEvent]()
    session = session_of(alice, runner)
    session.pull(nothing, events.append)
    runner.run()
    network[BOB].service.is_down = False
    session.pull(nothing, events.append)
    runner.run()
    assert [event.status for event in events if isinstance(event, PulledMail)] == ["not delivered yet: bob.eth", ""]
    bob.pull()
    assert bob.texts("alice.eth") == ["hello"]


def test_a_pull_says_what_was_refused(network: ChatNetwork, alice: Device) -> None:
    """Also what is shown in no chat, such as a change of a group."""
    network[BOB].service.is_down = network[CAROL].service.is_down = True
    for name in ("Lunch", "Dinner"):
        alice.chats.create_group(name, [BOB, CAROL])
    network[BOB].service.is_down = False
    network[BOB].refuse("alice.eth")
    runner, events = StepRunner(), list[SessionEvent]()
    session = session_of(alice, runner)
    for _ in range(2):
        session.pull(nothing, events.append)
        runner.run()
    assert [event.status for event in events if isinstance(event, PulledMail)] == [
        "not delivered yet: carol.eth; refused by bob.eth: SenderNotWanted",
        "not delivered yet: carol.eth",
    ]


def test_pulls_that_have_not_begun_are_one(alice: Device) -> None:
    runner, events = StepRunner(), list[SessionEvent]()
    session = session_of(alice, runner)
    for _ in range(3):
        session.pull(nothing, events.append)
    assert len(runner.jobs) == 1
    runner.run()
    session.pull(nothing, events.append)
    assert len(runner.jobs) == 1


def test_an_error_of_the_mailbox_is_a_sentence_and_what_waits_is_sent_all_the_same(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    network[BOB].service.is_down = True
    alice.send(BOB, "hello")
    network[BOB].service.is_down = False
    runner, events = StepRunner(), list[SessionEvent]()
    mail = WaitedMail([NotNowError(OUTBOUND_FAILED, "no mail today")])
    ChatSession(alice.chats, mail, runner, StepRunner()).pull(nothing, events.append)
    runner.run()
    [event] = events
    assert isinstance(event, PulledMail)
    assert "no mail today" in event.status
    bob.pull()
    assert bob.texts("alice.eth") == ["hello"]


def test_work_that_fails_says_why_and_what_is_shown_then(alice: Device) -> None:
    runner, events = StepRunner(), list[SessionEvent]()
    work = ChatWork(7, lambda chats: WorkResult(chats.send("nobody.eth", "hello")))
    session_of(alice, runner).do(work, nothing, events.append)
    runner.run()
    [event] = events
    assert isinstance(event, FinishedWork)
    assert (event.number, event.result, bool(event.error)) == (7, WorkResult(), True)
    assert event.snapshot is not None


def test_an_archive_that_cannot_be_read_makes_no_work_undone(
    alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the home is away")

    runner, events = StepRunner(), list[SessionEvent]()
    monkeypatch.setattr(session_module, "read_snapshot", fail)
    work = ChatWork(1, lambda chats: WorkResult(chats.send(BOB, "hello")))
    session_of(alice, runner).do(work, nothing, events.append)
    runner.run()
    [event] = events
    assert isinstance(event, FinishedWork)
    assert (event.error, event.snapshot, event.status) == ("", None, "the home is away")


def test_an_error_of_a_file_is_its_name_and_what_is_wrong(alice: Device) -> None:
    def work(_: object) -> WorkResult:
        raise FileNotFoundError(2, "No such file or directory", "holiday.jpg")

    runner, events = StepRunner(), list[SessionEvent]()
    session_of(alice, runner).do(ChatWork(7, work), nothing, events.append)
    runner.run()
    [event] = events
    assert isinstance(event, FinishedWork)
    assert event.error == "holiday.jpg: No such file or directory"


def test_any_other_error_ends_the_session(alice: Device) -> None:
    def fail(_: object) -> WorkResult:
        raise ZeroDivisionError

    runner, events = StepRunner(), list[SessionEvent]()
    session_of(alice, runner).do(ChatWork(1, fail), nothing, events.append)
    runner.run()
    assert isinstance(events[0], BrokenSession)
    assert isinstance(events[0].error, ZeroDivisionError)


def test_mail_is_pulled_when_it_comes_and_waited_for_again_after_an_error(
    alice: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, waiter, events = StepRunner(), StepRunner(), list[SessionEvent]()
    mail = WaitedMail([NotNowError(OUTBOUND_FAILED, "down"), "a message", "another", Stopped()])
    monkeypatch.setattr(session_module, "REST_SECONDS", 0.0)
    ChatSession(alice.chats, mail, runner, waiter).wait_for_mail(nothing, events.append)
    with pytest.raises(Stopped):
        waiter.run()
    assert mail.waited == [True, True]
    assert len(runner.jobs) == 1


def test_jobs_of_a_thread_run_in_their_order() -> None:
    from queue import SimpleQueue

    done: SimpleQueue[int] = SimpleQueue()
    runner = ThreadRunner("test")
    for number in range(5):
        runner.submit(lambda number=number: done.put(number))
    assert [done.get(timeout=PATIENCE) for _ in range(5)] == list(range(5))
