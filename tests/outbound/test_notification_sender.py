"""Whoever wants to know is told that something waits: at least once, coalesced, never from whom or what."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.stack import DAY, INTERVAL, NOW, PAUSE, SHOP, UNKNOWN, PipelineStack
from tests.pipeline.stage import Choose, Died, Stage, all_schedules, gate_of
from tests.tiers import amount

from postroom.api.states import TargetState
from postroom.core.errors import NotNowError
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE, STORE_UNAVAILABLE
from postroom.crypto.ethereum import Address
from postroom.outbound.notification_messages import MailWaiting, Notification
from postroom.outbound.notification_sender import NOTIFYING_SECONDS, RETRY_LATE_SECONDS, NotificationOutcome
from postroom.outbound.pausing import CODE_SECONDS
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.storage.directory.notification_targets import MAX_SESSIONS, SESSION_SECONDS, NotificationTarget
from postroom.storage.directory.watching_sessions import WatchingSession
from postroom.storage.layout import notify_group

URL, OTHER = "https://hook.example/a", "https://hook.example/b"
Json = Any


def come_to_rest(stack: PipelineStack, *, for_seconds: float = 3 * INTERVAL) -> None:
    """The courier works its queue off, as time goes by."""
    until = stack.clock.now + for_seconds
    while stack.clock.now < until:
        carried = stack.take_notifications()
        for each in carried:
            if isinstance(each, MailWaiting):
                stack.notification_sender().fan_out(each)
            else:
                stack.notification_sender().notify(each)
        if not stack.deployed.bodies("CourierQueue"):
            return
        stack.clock.now += 15


def told(stack: PipelineStack, to: str = URL) -> list[Json]:
    """What a target was told, so far."""
    return [json.loads(content) for where, _, content in stack.carrier.carried if where == to]


def one_notification(stack: PipelineStack) -> Notification:
    """A notification of a target, on its way."""
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.SPREAD
    [notification] = stack.take_notifications()
    assert isinstance(notification, Notification)
    return notification


def one_follower(stack: PipelineStack) -> MailWaiting:
    """Of a burst the first was told, the last was filed: the message for the interval's end, which is now."""
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.SPREAD
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.LATER
    queued = stack.take_notifications()
    for each in queued:
        if isinstance(each, Notification):
            stack.notification_sender().notify(each)
    stack.carrier.carried.clear()
    stack.clock.now += INTERVAL
    [follower] = [each for each in queued if isinstance(each, MailWaiting)]
    return follower


# --- the worker says that something came in ---------------------------------------------------------------------------


def test_a_mailbox_is_announced_once_for_a_batch_that_was_filed(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.work(*(stack.queued(stack.envelope(body=number)) for number in range(3)))
    assert stack.deployed.groups("CourierQueue") == [notify_group(SHOP)]
    assert stack.take_notifications() == [MailWaiting(SHOP)]


def test_without_targets_nothing_is_announced_and_nothing_read_twice(stack: PipelineStack) -> None:
    queries: list[object] = []
    events = stack.deployed.clients.dynamodb.meta.events

    def count(params: Json, **_: object) -> None:
        queries.append(params["ExpressionAttributeValues"][":pk"])

    events.register("before-parameter-build.dynamodb.Query", count)
    try:
        for number in range(3):
            stack.settle(stack.queued(stack.envelope(body=number)))
    finally:
        events.unregister("before-parameter-build.dynamodb.Query", count)
    assert queries.count({"S": f"notify#{SHOP}"}) == 1
    assert stack.take_notifications() == []


@pytest.mark.parametrize("state", ["unverified", "paused", "removed"])
def test_the_worker_ignores_targets_that_are_not_active(stack: PipelineStack, state: str) -> None:
    target = stack.target(URL, verified=state != "unverified")
    if state == "paused":
        stack.targets.pause(target, "")
    if state == "removed":
        stack.targets.remove(SHOP, target.id)
    stack.settle(stack.queued(stack.envelope()))
    assert stack.take_notifications() == []


def test_what_was_filed_by_a_worker_that_died_is_announced_by_the_next(stack: PipelineStack) -> None:
    stack.target(URL)
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.take_notifications()
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert stack.take_notifications() == [MailWaiting(SHOP)]


def test_what_a_worker_filed_and_another_would_discard_is_announced_too(stack: PipelineStack) -> None:
    stack.target(URL)
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.take_notifications()
    stack.keys.published.clear()
    stack.keys.cached.clear()
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert stack.take_notifications() == [MailWaiting(SHOP)]


def test_neither_what_is_discarded_nor_what_was_acknowledged_is_announced(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.deployed.empty("CourierQueue")
    stack.register.acknowledge(stack.claim(record).row, int(NOW) + DAY)
    stack.settle(record)
    assert stack.take_notifications() == []


def test_if_a_mailbox_cannot_be_announced_one_of_its_claims_waits_and_the_others_are_done(
    stack: PipelineStack,
) -> None:
    stack.target(URL)
    worker = stack.worker()
    records = [stack.queued(stack.envelope(body=number)) for number in range(3)]

    def away(*_: object, **__: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    worker.notification_trigger.trigger = away  # type: ignore[method-assign]
    report = worker.work(records)
    assert report.failed == ()
    assert sorted(outcome.fate for outcome in report.outcomes) == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.RETRIED,
    ]
    [retried] = stack.deployed.bodies("RetryQueue")
    stack.work(stack.record(retried))
    assert stack.take_notifications() == [MailWaiting(SHOP)]


# --- what is said -----------------------------------------------------------------------------------------------------


def test_each_active_target_is_notified_that_mail_waits_and_of_nothing_else(stack: PipelineStack) -> None:
    stack.target(URL), stack.target(OTHER)
    stack.target("https://hook.example/unverified", verified=False)
    stack.settle(stack.queued(stack.envelope(body="a secret")))
    come_to_rest(stack)
    waiting = {"type": "postroom.waiting", "timestamp": "2026-11-21T09:30:00.000Z", "data": {"mailbox": SHOP}}
    assert told(stack, URL) == told(stack, OTHER) == [waiting]
    assert len(stack.carrier.carried) == 2
    assert len({notification for _, notification, _ in stack.carrier.carried}) == 2


def test_every_attempt_has_the_same_id_and_content(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.carrier.failures[URL] = "it answered 500"
    stack.settle(stack.queued(stack.envelope()))
    come_to_rest(stack)
    del stack.carrier.failures[URL]
    come_to_rest(stack)
    assert len(stack.carrier.carried) > 2
    assert len(set(stack.carrier.carried)) == 1


# --- coalesced --------------------------------------------------------------------------------------------------------


def test_the_first_of_a_burst_is_notified_at_once_and_the_last_at_the_end_of_the_interval(stack: PipelineStack) -> None:
    stack.target(URL)
    became = []
    for _ in range(20):
        became.append(stack.notification_sender().fan_out(MailWaiting(SHOP)))
        stack.clock.now += 1
    assert became == [NotificationOutcome.SPREAD, NotificationOutcome.LATER, *[NotificationOutcome.COVERED] * 18]
    first, follow = stack.take_notifications()
    assert isinstance(first, Notification)
    stack.notification_sender().notify(first)
    assert isinstance(follow, MailWaiting)
    assert follow == MailWaiting(SHOP, int(NOW * 1000), follow.mark)
    stack.clock.now = NOW + INTERVAL
    assert stack.notification_sender().fan_out(follow) is NotificationOutcome.SPREAD
    come_to_rest(stack)
    assert len(told(stack)) == 2
    assert stack.deployed.bodies("CourierQueue") == [], "and then no more"


def test_mail_within_the_interval_is_notified_at_its_end(stack: PipelineStack) -> None:
    stack.target(URL)
    one_notification(stack)
    stack.clock.now += 20
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.LATER
    assert stack.deployed.delays("CourierQueue") == [INTERVAL - 20 + 1]
    [follow] = stack.take_notifications()
    assert isinstance(follow, MailWaiting)
    assert replace(follow, mark="") == MailWaiting(SHOP, int(NOW * 1000))


def test_a_follow_up_that_comes_early_waits_for_the_rest(stack: PipelineStack) -> None:
    stack.target(URL)
    one_notification(stack)
    follow = MailWaiting(SHOP, int(NOW * 1000), stack.new_id())
    stack.clock.now += INTERVAL - 2
    assert stack.notification_sender().fan_out(follow) is NotificationOutcome.LATER
    assert stack.deployed.delays("CourierQueue") == [3]
    [later] = stack.take_notifications()
    assert isinstance(later, MailWaiting)
    assert (later.after_ms, later.mark != "") == (follow.after_ms, True)


def test_a_follow_up_is_covered_by_a_later_notification(stack: PipelineStack) -> None:
    stack.target(URL)
    one_notification(stack)
    stack.clock.now += INTERVAL
    one_notification(stack)
    assert (
        stack.notification_sender().fan_out(MailWaiting(SHOP, int(NOW * 1000), stack.new_id()))
        is NotificationOutcome.COVERED
    )
    assert stack.take_notifications() == []


def test_if_a_follow_up_cannot_be_recorded_another_follows_too(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.target(URL)
    one_notification(stack)
    notification_sender = stack.notification_sender()

    def away(*_: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    monkeypatch.setattr(notification_sender.debounce, "followed", away)
    assert [notification_sender.fan_out(MailWaiting(SHOP)) for _ in range(2)] == [NotificationOutcome.LATER] * 2
    come_to_rest(stack)
    assert len(told(stack)) == 1, "they take one turn between them"


def test_without_a_target_nobody_is_notified(stack: PipelineStack) -> None:
    target = stack.target(URL)
    notification = one_notification(stack)
    stack.targets.remove(SHOP, target.id)
    assert stack.notification_sender().notify(notification) is NotificationOutcome.SILENT
    stack.clock.now += INTERVAL
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.SILENT
    assert stack.carrier.carried == []


def test_an_announcement_waits_while_the_store_is_unavailable(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.target(URL)
    notification_sender = stack.notification_sender()

    def away(*_: object, **__: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    with monkeypatch.context() as patch:
        patch.setattr(notification_sender.debounce, "take", away)
        patch.setattr(notification_sender.targets, "find", away)
        assert notification_sender.fan_out(MailWaiting(SHOP)) is NotificationOutcome.WAITING
        assert notification_sender.notify(Notification(SHOP, "0", "n", 1)) is NotificationOutcome.WAITING
    assert stack.deployed.delays("CourierQueue") == [7, 7]
    assert stack.take_notifications() == [MailWaiting(SHOP, tries=1), Notification(SHOP, "0", "n", 1, tries=1)]


def test_a_notification_costs_a_write_and_a_read_and_a_message_and_a_read_for_each_target(stack: PipelineStack) -> None:
    stack.target(URL), stack.target(OTHER)
    called: list[str] = []

    def count(model: Any, **_: object) -> None:
        called.append(model.name)

    clients = stack.deployed.clients
    for client in (clients.dynamodb, clients.sqs):
        client.meta.events.register("before-call.*.*", count)
    try:
        stack.notification_sender().fan_out(MailWaiting(SHOP))
        for each in stack.take_notifications():
            assert isinstance(each, Notification)
            stack.notification_sender().notify(each)
    finally:
        for client in (clients.dynamodb, clients.sqs):
            client.meta.events.unregister("before-call.*.*", count)
    assert Counter(called) == {"UpdateItem": 1, "Query": 1, "SendMessage": 2, "GetItem": 2}


# --- two couriers, and deaths -----------------------------------------------------------------------------------------


def test_two_couriers_at_once_notify_once(stack: PipelineStack) -> None:
    stack.target(URL)
    start = Barrier(2)

    def call(_: int) -> NotificationOutcome:
        start.wait()
        return stack.notification_sender().fan_out(MailWaiting(SHOP))

    with ThreadPoolExecutor(2) as pool:
        became = sorted(pool.map(call, range(2)))
    assert became == sorted([NotificationOutcome.SPREAD, NotificationOutcome.LATER])
    queued = stack.take_notifications()
    assert sum(isinstance(each, Notification) for each in queued) == 1


@pytest.fixture(scope="module")
def casts() -> list[Clients]:
    return [new_clients() for _ in range(2)]


@pytest.mark.parametrize("deaths", [0, 1])
def test_in_every_schedule_of_two_couriers_a_target_is_notified_after_the_last_message_was_filed(
    stack: PipelineStack, casts: list[Clients], deaths: int, pytestconfig: pytest.Config
) -> None:
    """Whatever dies: what SQS hands out again, or the end of the interval, tells it."""
    target, openings = stack.target(URL), 6 if deaths else 2

    def play(choose: Choose) -> None:
        options: list[int] = []

        def noted(many: int) -> int:
            options.append(many)
            return choose(many)

        stage = Stage(noted, deaths=deaths)
        actors = []
        for clients in casts:
            # Each has a message in hand that was filed before.
            notification_sender = stack.notification_sender(clients)
            actor = stage.enter(
                "courier",
                lambda notification_sender=notification_sender: notification_sender.fan_out(MailWaiting(SHOP)),
            )  # type: ignore[misc]
            gate_calls(clients, gate_of(lambda actor=actor: None if actor.ended else actor))  # type: ignore[misc]
            actors.append(actor)
        stage.play(lambda: None)
        queued = stack.take_notifications()
        queued += [MailWaiting(SHOP) for actor in actors if actor.died]
        stack.carrier.carried.clear()
        for _ in range(4):
            for each in queued:
                stack.notification_sender().fan_out(each) if isinstance(
                    each, MailWaiting
                ) else stack.notification_sender().notify(each)
            queued = stack.take_notifications()
            stack.clock.now += INTERVAL + 1
        assert queued == []
        assert 1 <= len(told(stack)) <= 2 + 2 * deaths, stage.story
        assert options[0] == openings
        stack.clock.now += DAY

    every = list(range(openings))
    # The first two openings are most of it. In them one courier or the other begins, and the couriers are alike.
    one = [pytestconfig.option.rotation % 2, *every[2:]] if deaths else every
    assert sum(all_schedules(play, first) for first in amount(quick=one, all=every, proof=every)) >= 4
    assert stack.target_now(target).retry is None


# --- the last of a burst ----------------------------------------------------------------------------------------------

CALLS_OF_A_TURN = ["UpdateItem", "Query", "SendMessage", "SendMessage"]


@pytest.fixture(scope="module")
def struck() -> Clients:
    """Those of a courier whom something befalls."""
    return new_clients()


def befall(
    stack: PipelineStack, clients: Clients, follower: MailWaiting, number: int, strike: BaseException, when: str
) -> None:
    """Of the calls of a courier who has `follower` in hand this one fails; what comes again lies in the queue then."""
    calls: list[str] = []

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        if len(calls) == number + 1 and when == "before":
            raise strike
        yield
        if len(calls) == number + 1:
            raise strike

    gate_calls(clients, gate)
    try:
        stack.notification_sender(clients).fan_out(follower)
    except Died:
        stack.deployed.storage.courier_queue.send(follower.encode())
    assert calls[: number + 1] == CALLS_OF_A_TURN[: number + 1]


@pytest.mark.parametrize("late", [7, INTERVAL + 7], ids=["soon", "after the next interval"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("strike", [Died(), NotNowError(STORE_UNAVAILABLE)], ids=["death", "fault"])
@pytest.mark.parametrize("number", range(len(CALLS_OF_A_TURN)))
def test_the_last_of_a_burst_is_notified_whatever_happens_to_the_follow_up(
    stack: PipelineStack, struck: Clients, number: int, strike: BaseException, when: str, late: int
) -> None:
    stack.target(URL), stack.target(OTHER)
    befall(stack, struck, one_follower(stack), number, strike, when)
    stack.clock.now += late
    come_to_rest(stack)
    assert {to for to, _, _ in stack.carrier.carried} == {URL, OTHER}
    if late < INTERVAL:
        assert len(set(stack.carrier.carried)) == 2, "who is told twice is told under one id"


def test_another_notification_has_another_id(stack: PipelineStack, struck: Clients) -> None:
    """What came between the two is told by the second alone."""
    stack.target(URL)
    befall(stack, struck, one_follower(stack), 2, Died(), "after")
    stack.clock.now += INTERVAL
    come_to_rest(stack)
    assert len({notification for _, notification, _ in stack.carrier.carried}) == 2


def test_two_couriers_with_the_same_follow_up_notify_under_one_id(
    stack: PipelineStack,
) -> None:
    stack.target(URL)
    follower = one_follower(stack)
    start = Barrier(2)

    def call(_: int) -> NotificationOutcome:
        start.wait()
        return stack.notification_sender().fan_out(follower)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(call, range(2)))
    come_to_rest(stack)
    assert len(set(stack.carrier.carried)) == 1


# --- tries ------------------------------------------------------------------------------------------------------------


def test_a_failed_notification_is_retried_with_back_off_and_the_owner_sees_the_failure(stack: PipelineStack) -> None:
    target = stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    notification = one_notification(stack)
    delays = []
    for _ in range(9):
        assert stack.notification_sender().notify(notification) is NotificationOutcome.WAITING
        delays += stack.deployed.delays("CourierQueue")
        [again] = stack.take_notifications()
        assert isinstance(again, Notification)
        notification = again
    assert delays == [7, 15, 30, 60, 120, 240, 480, 675, 675]
    failing = stack.target_now(target)
    assert (failing.detail, failing.failing_since_ms) == ("it answered 503", int(NOW * 1000))
    del stack.carrier.failures[URL]
    assert stack.notification_sender().notify(notification) is NotificationOutcome.DELIVERED
    assert stack.target_now(target) == target


def test_one_notification_of_a_target_that_is_down_is_retried(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    first = one_notification(stack)
    stack.notification_sender().notify(first)
    [retry] = stack.take_notifications()
    for _ in range(3):
        stack.clock.now += INTERVAL
        assert stack.notification_sender().notify(one_notification(stack)) is NotificationOutcome.COVERED
    assert stack.take_notifications() == []
    assert len(told(stack)) == 1
    assert isinstance(retry, Notification)
    stack.notification_sender().notify(retry)
    assert len(told(stack)) == 2


def test_mail_that_arrives_during_an_attempt_is_not_covered_by_it(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    stack.notification_sender().notify(one_notification(stack))
    [retry] = stack.take_notifications()
    assert isinstance(retry, Notification)
    stack.clock.now += INTERVAL
    late = one_notification(stack)
    became = []
    carry = stack.carrier.carry

    def meanwhile(*arguments: Any) -> bool:
        stack.carrier.carry = carry  # type: ignore[method-assign]
        became.append(stack.notification_sender().notify(late))
        return True

    stack.carrier.failures.clear()
    stack.carrier.carry = meanwhile  # type: ignore[method-assign]
    stack.notification_sender().notify(retry)
    assert became == [NotificationOutcome.DELIVERED]


def test_a_lost_retry_does_not_stop_later_notifications(stack: PipelineStack) -> None:
    stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    stack.notification_sender().notify(one_notification(stack))
    stack.deployed.empty("CourierQueue")
    stack.carrier.failures.clear()
    stack.clock.now += 7 + RETRY_LATE_SECONDS + 1
    assert stack.notification_sender().notify(one_notification(stack)) is NotificationOutcome.DELIVERED


def test_a_target_is_paused_after_days_of_failure_and_notified_no_more(stack: PipelineStack) -> None:
    target = stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    notification = one_notification(stack)
    stack.notification_sender().notify(notification)
    stack.clock.now += PAUSE
    assert stack.notification_sender().notify(notification) is NotificationOutcome.WAITING
    stack.clock.now += 0.001
    assert stack.notification_sender().notify(notification) is NotificationOutcome.PAUSED
    paused = stack.target_now(target)
    assert (paused.state, paused.detail) == (TargetState.PAUSED, "it answered 503")
    stack.carrier.carried.clear()
    assert stack.notification_sender().notify(notification) is NotificationOutcome.SILENT
    assert stack.carrier.carried == []


def test_a_success_restarts_the_days_of_failure(stack: PipelineStack) -> None:
    target = stack.target(URL)
    for trouble in ("it answered 503", True, "it answered 503"):
        stack.carrier.failures[URL] = trouble
        stack.clock.now += PAUSE - 1
        stack.notification_sender().notify(one_notification(stack))
        stack.take_notifications()
    assert stack.target_now(target).state is TargetState.ACTIVE


def test_a_target_that_is_gone_is_notified_no_more(stack: PipelineStack) -> None:
    target = stack.target(URL)
    stack.carrier.failures[URL] = False
    assert stack.notification_sender().notify(one_notification(stack)) is NotificationOutcome.PAUSED
    assert stack.target_now(target).detail == "it answered 410 Gone"
    assert stack.take_notifications() == []


def test_if_a_failure_cannot_be_recorded_its_retry_continues_and_is_not_doubled(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.target(URL)
    stack.carrier.failures[URL] = "it answered 503"
    notification, notification_sender = one_notification(stack), stack.notification_sender()

    def away(*_: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    monkeypatch.setattr(notification_sender.targets, "failed", away)
    assert notification_sender.notify(notification) is NotificationOutcome.WAITING
    assert stack.take_notifications() == [notification.again()]


def test_our_own_faults_pause_no_target(stack: PipelineStack, monkeypatch: pytest.MonkeyPatch) -> None:
    target = stack.target(URL)
    notification = one_notification(stack)

    def keyless(*_: object) -> bool:
        raise NotNowError(SIGNING_KEY_UNAVAILABLE)

    monkeypatch.setattr(stack.carrier, "carry", keyless)
    for _ in range(2):
        assert stack.notification_sender().notify(notification) is NotificationOutcome.WAITING
        stack.clock.now += PAUSE + 1
    assert stack.target_now(target) == target
    assert stack.take_notifications() == [notification.again()] * 2


# --- codes ------------------------------------------------------------------------------------------------------------


def challenged(stack: PipelineStack, number: int = 1) -> tuple[NotificationTarget, Notification]:
    target = stack.target(URL, verified=False)
    return target, Notification(SHOP, target.id, stack.new_id(), int(NOW * 1000), number)


def test_an_unverified_target_is_sent_its_code(stack: PipelineStack) -> None:
    target, challenge = challenged(stack)
    assert stack.notification_sender().notify(challenge) is NotificationOutcome.DELIVERED
    data = {"mailbox": SHOP, "target": target.id, "code": stack.webhook_keys.code(target)}
    assert told(stack) == [{"type": "postroom.verify", "timestamp": "2026-11-21T09:30:00.000Z", "data": data}]


def test_an_unverified_target_is_sent_nothing_else(stack: PipelineStack) -> None:
    target, challenge = challenged(stack)
    for other in (0, 2):
        assert (
            stack.notification_sender().notify(Notification(SHOP, target.id, "n", 1, other))
            is NotificationOutcome.SILENT
        )
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.SILENT
    stack.targets.challenge(target)
    assert stack.notification_sender().notify(challenge) is NotificationOutcome.SILENT, "another code counts by now"
    assert stack.carrier.carried == []


def test_a_verified_target_is_sent_no_code(stack: PipelineStack) -> None:
    target = stack.target(URL)
    assert stack.notification_sender().notify(Notification(SHOP, target.id, "n", 1, 1)) is NotificationOutcome.SILENT


@pytest.mark.parametrize("trouble", ["it answered 503", False])
def test_a_code_is_retried_for_an_hour_and_the_owner_sees_the_failure(
    stack: PipelineStack, trouble: str | bool
) -> None:
    target, challenge = challenged(stack)
    stack.carrier.failures[URL] = trouble
    stack.clock.now += CODE_SECONDS
    assert stack.notification_sender().notify(challenge) is (
        NotificationOutcome.WAITING if trouble else NotificationOutcome.GIVEN_UP
    )
    stack.clock.now += 1
    assert stack.notification_sender().notify(challenge) is NotificationOutcome.GIVEN_UP
    failed = stack.target_now(target)
    assert (failed.state, failed.detail) == (TargetState.UNVERIFIED, trouble or "it answered 410 Gone")


# --- in the queue -----------------------------------------------------------------------------------------------------

texts, numbers = st.text(max_size=50), st.integers(0, 2**53)


@given(
    st.builds(MailWaiting, texts, numbers, texts, tries=numbers)
    | st.builds(Notification, texts, texts, texts, numbers, numbers, tries=numbers)
)
def test_a_queue_message_is_read_as_it_was_written(sent: MailWaiting | Notification) -> None:
    assert sent.encode().isascii()
    assert read_queue_message(sent.encode()) == sent


@pytest.mark.parametrize(
    "body",
    [
        '{"form": 2, "waiting": "shop.com", "after": 0, "mark": "", "tries": 0}',
        '{"form": 1, "waiting": 7, "after": 0, "mark": "", "tries": 0}',
        '{"form": 1, "waiting": "shop.com", "after": true, "mark": "", "tries": 0}',
        '{"form": 1, "waiting": "shop.com", "after": 0, "mark": 7, "tries": 0}',
        '{"form": 1, "waiting": "shop.com", "after": 0, "mark": ""}',
        '{"form": 1, "notification": {}, "tries": 0}',
        '{"form": 1, "notification": {"mailbox": "a", "target": 1, "id": "b", "at": 1, "challenge": 0}, "tries": 0}',
        '{"form": 1, "notification": {"mailbox": "a", "target": "t", "id": [], "at": 1, "challenge": 0}, "tries": 0}',
        '{"form": 1, "notification": {"mailbox": "a", "target": "", "id": "", "at": 1.5, "challenge": 0}, "tries": 0}',
        '{"form": 1, "notification": 1, "tries": 0}',
    ],
)
def test_a_foreign_queue_message_is_not_read(body: str) -> None:
    with pytest.raises(ValueError):
        read_queue_message(body)


# --- sessions that wait for mail --------------------------------------------------------------------------------------


def watch(stack: PipelineStack) -> str:
    """A session waits for mail; returns what its target is told by."""
    session = WatchingSession("connection=", "X-Y", "request", Address("0" * 40))
    stack.targets.watch(SHOP, session, random_id=stack.new_id(), now_ms=int(NOW * 1000))
    return session.encode()


def test_a_session_that_waits_is_told_once_of_mail_that_is_filed(stack: PipelineStack) -> None:
    to = watch(stack)
    stack.target(URL)
    for number in range(2):
        stack.settle(stack.queued(stack.envelope(body=number)))
        come_to_rest(stack)
    assert (len(told(stack, to)), len(told(stack))) == (1, 2)
    assert [each.to for each in stack.targets.of(SHOP)] == [URL]


def test_a_session_whose_websocket_is_closed_waits_no_more(stack: PipelineStack) -> None:
    stack.carrier.failures[watch(stack)] = False
    assert stack.notification_sender().notify(one_notification(stack)) is NotificationOutcome.SILENT
    assert stack.targets.of(SHOP) == []


def test_a_session_that_cannot_be_told_is_retried_and_given_up_in_the_end(stack: PipelineStack) -> None:
    stack.carrier.failures[watch(stack)] = "API Gateway answered 503"
    notification = one_notification(stack)
    assert stack.notification_sender().notify(notification) is NotificationOutcome.WAITING
    assert len(stack.targets.of(SHOP)) == 1
    stack.clock.now += SESSION_SECONDS + 1
    assert stack.notification_sender().notify(notification) is NotificationOutcome.GIVEN_UP
    assert stack.targets.of(SHOP) == []


def test_a_session_is_told_of_each_new_mail_without_waiting_for_the_interval_to_end(stack: PipelineStack) -> None:
    stack.target(URL)
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.SPREAD
    stack.take_notifications()
    to = watch(stack)
    assert stack.notification_sender().fan_out(MailWaiting(SHOP)) is NotificationOutcome.LATER
    for each in stack.take_notifications():
        if isinstance(each, Notification):
            stack.notification_sender().notify(each)
    assert (len(told(stack, to)), len(told(stack))) == (1, 0)


def test_a_session_that_is_being_told_is_not_told_by_another_notification_meanwhile(stack: PipelineStack) -> None:
    to = watch(stack)
    [first, second] = [replace(one_notification(stack), id="first"), replace(one_again(stack), id="second")]
    outcomes = []
    carry = stack.carrier.carry

    def meanwhile(*arguments: Any) -> bool:
        outcomes.append(stack.notification_sender().notify(second))
        return carry(*arguments)

    stack.carrier.carry = meanwhile  # type: ignore[method-assign]
    assert stack.notification_sender().notify(first) is NotificationOutcome.DELIVERED
    assert outcomes == [NotificationOutcome.COVERED]
    assert len(told(stack, to)) == 1


def one_again(stack: PipelineStack) -> Notification:
    """A notification of the same session, of mail that was filed soon after."""
    stack.notification_sender().fan_out(MailWaiting(SHOP))
    [again] = [each for each in stack.take_notifications() if isinstance(each, Notification)]
    return again


def test_a_courier_that_died_while_it_told_a_session_is_followed_by_another(stack: PipelineStack) -> None:
    to = watch(stack)
    [target] = stack.targets.of(SHOP)
    first, now = one_notification(stack), int(stack.clock.now)
    assert stack.targets.begin_notifying(target, first.id, now=now, until=now + NOTIFYING_SECONDS)
    other = replace(first, id="other")
    assert stack.notification_sender().notify(other) is NotificationOutcome.COVERED
    stack.clock.now += NOTIFYING_SECONDS + 1
    assert stack.notification_sender().notify(other) is NotificationOutcome.DELIVERED
    assert len(told(stack, to)) == 1


def test_a_session_whose_notification_failed_is_told_that_its_place_was_taken(stack: PipelineStack) -> None:
    def watch_by(number: int) -> tuple[str, NotificationTarget | None]:
        session = WatchingSession(f"{number}=", f"X{number}-Y", "request", Address("0" * 40))
        now_ms = int(stack.clock.now * 1000) + number
        return session.encode(), stack.targets.watch(SHOP, session, random_id=f"{number}", now_ms=now_ms)

    first, _ = watch_by(0)
    stack.carrier.failures[first] = "throttled"
    assert stack.notification_sender().notify(one_notification(stack)) is NotificationOutcome.WAITING
    for number in range(1, MAX_SESSIONS):
        watch_by(number)
    _, replaced = watch_by(MAX_SESSIONS)
    assert replaced is not None
    assert replaced.to == first


def test_a_session_that_is_being_told_of_mail_is_told_nothing_else(stack: PipelineStack) -> None:
    watch(stack)
    [target] = stack.targets.of(SHOP)
    now = int(stack.clock.now)
    assert stack.targets.begin_notifying(target, "first", now=now, until=now + NOTIFYING_SECONDS)
    replaced = [
        stack.targets.watch(
            SHOP, WatchingSession(f"{number}=", f"X{number}-Y", "request", Address("0" * 40)),
            random_id=f"{number}", now_ms=now * 1000 + number,
        )
        for number in range(1, MAX_SESSIONS + 1)
    ]  # fmt: skip
    assert replaced == [None] * MAX_SESSIONS
