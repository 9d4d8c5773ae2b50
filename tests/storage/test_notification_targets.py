"""Targets of notifications: slots, codes that count once, secrets that are derived; whose turn it is to tell them."""

import base64
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock

from postroom.api.states import TargetState
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.crypto.ethereum import Address
from postroom.runtime.system import System
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.debounce import Debounce
from postroom.storage.directory.notification_targets import (
    MAX_SESSIONS,
    MAX_TARGETS,
    NotificationRetry,
    NotificationTarget,
    NotificationTargets,
    TargetKind,
)
from postroom.storage.directory.watching_sessions import WatchingSession
from postroom.storage.secrets.webhook_keys import OVERLAP_SECONDS, WebhookKeys

NOW = 1_795_253_400
SHOP, URL = "shop.com", "https://hook.example/"


@pytest.fixture
def targets(deployed: Deployed) -> NotificationTargets:
    return deployed.storage.targets


@pytest.fixture
def turns(deployed: Deployed) -> Debounce:
    return deployed.storage.debounce


@pytest.fixture
def keys(deployed: Deployed) -> WebhookKeys:
    return WebhookKeys(deployed.clients.secrets, deployed.secrets["WebhookKeys"], lambda: NOW)


def added(targets: NotificationTargets, number: int = 1, mailbox: str = SHOP) -> NotificationTarget:
    target = targets.add(mailbox, TargetKind.WEBHOOK, f"{URL}{number}", random_id=f"{number:032x}", now_ms=NOW * 1000)
    assert target is not None
    return target


def now(targets: NotificationTargets, target: NotificationTarget) -> NotificationTarget:
    found = targets.find(target.mailbox, target.id)
    assert found is not None
    return found


# --- slots ------------------------------------------------------------------------------------------------------------


def test_a_target_is_found_as_it_was_put(targets: NotificationTargets) -> None:
    target = added(targets)
    assert (
        now(targets, target)
        == target
        == NotificationTarget(SHOP, f"0{1:032x}", TargetKind.WEBHOOK, f"{URL}1", NOW * 1000)
    )


def test_a_mailbox_has_a_limited_number_of_targets_however_many_are_added_at_once(targets: NotificationTargets) -> None:
    start = Barrier(8)

    def add(number: int) -> NotificationTarget | None:
        start.wait()
        return targets.add(SHOP, TargetKind.WEBHOOK, URL, random_id=f"{number:032x}", now_ms=0)

    with ThreadPoolExecutor(8) as pool:
        made = [target for target in pool.map(add, range(8)) if target]
    assert len(made) == MAX_TARGETS
    assert {target.id for target in targets.of(SHOP)} == {target.id for target in made}


def test_a_slot_that_is_free_again_has_another_id(targets: NotificationTargets) -> None:
    first, second = added(targets, 1), added(targets, 2)
    assert targets.remove(SHOP, first.id)
    third = added(targets, 3)
    assert third.id[0] == first.id[0]
    assert targets.find(SHOP, first.id) is None
    assert not targets.remove(SHOP, first.id), "what was said to the first does nothing to the third"
    assert not targets.verify(first)
    assert [target.id for target in targets.of(SHOP)] == [third.id, second.id]


@pytest.mark.parametrize("other", ["", "0", "9", "0" * 33, "x" * 33, "!turn", "🤝"])
def test_an_unknown_id_finds_no_target(targets: NotificationTargets, other: str) -> None:
    added(targets)
    assert targets.find(SHOP, other) is None
    assert not targets.remove(SHOP, other)


def test_a_target_of_another_mailbox_is_not_found(targets: NotificationTargets) -> None:
    theirs = added(targets, mailbox="other.com")
    assert targets.find(SHOP, theirs.id) is None
    assert not targets.remove(SHOP, theirs.id)
    assert targets.of(SHOP) == []


# --- sessions that wait for mail --------------------------------------------------------------------------------------


def session(number: int, request: str = "r") -> WatchingSession:
    return WatchingSession(f"connection{number}=", f"X{number}-Y{number}", request, Address("0" * 40))


def watch(targets: NotificationTargets, number: int, request: str = "r", at: int = 0) -> NotificationTarget | None:
    return targets.watch(SHOP, session(number, request), random_id=f"{number}{request}", now_ms=NOW * 1000 + at)


def watching(targets: NotificationTargets) -> list[WatchingSession]:
    return [WatchingSession.decode(each.to) for each in targets.of(SHOP) if each.kind is TargetKind.SESSION]


def test_a_session_is_a_target_at_once_beside_those_that_the_owner_added(targets: NotificationTargets) -> None:
    for number in range(MAX_TARGETS):
        added(targets, number)
    watch(targets, 1)
    *_, made = targets.of(SHOP)
    assert (made.kind, made.state, WatchingSession.decode(made.to)) == (
        TargetKind.SESSION, TargetState.ACTIVE, session(1),
    )  # fmt: skip
    assert targets.find(SHOP, made.id) == made
    assert targets.remove(SHOP, made.id)
    assert len(targets.of(SHOP)) == MAX_TARGETS


def test_a_session_waits_by_its_last_request(targets: NotificationTargets) -> None:
    watch(targets, 1, "first")
    watch(targets, 2)
    watch(targets, 1, "second")
    assert watching(targets) == [session(1, "second"), session(2)]


def test_one_session_too_many_takes_the_place_of_the_one_that_waits_longest(targets: NotificationTargets) -> None:
    for number in range(MAX_SESSIONS):
        watch(targets, number, at=100 - number)
    replaced = watch(targets, MAX_SESSIONS, at=101)
    assert replaced is not None
    assert WatchingSession.decode(replaced.to) == session(4)
    assert {each.dcpsid for each in watching(targets)} == {f"X{number}-Y{number}" for number in (0, 1, 2, 3, 5)}


def test_a_session_in_a_free_place_replaces_none_and_in_its_own_its_earlier_watch(targets: NotificationTargets) -> None:
    """ "All requests require a response" (DCP: Overview): also a watch behind which the session sends another one."""
    for number in range(MAX_SESSIONS):
        assert watch(targets, number) is None
    replaced = watch(targets, 0, "again")
    assert replaced is not None
    assert WatchingSession.decode(replaced.to) == session(0)


def notified(targets: NotificationTargets, target: NotificationTarget) -> None:
    assert targets.begin_notifying(target, "n", now=NOW, until=NOW + 60)


def test_a_session_that_is_being_notified_is_not_told_too_that_it_was_replaced(targets: NotificationTargets) -> None:
    for number in range(MAX_SESSIONS):
        watch(targets, number, at=number)
    notified(targets, targets.of(SHOP)[0])
    assert watch(targets, MAX_SESSIONS, at=101) is None
    assert session(0) not in watching(targets)


@pytest.mark.parametrize("meanwhile", ["notified", "removed"])
def test_what_happens_to_a_session_after_it_was_read_is_read_before_it_is_replaced(
    targets: NotificationTargets, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    for number in range(MAX_SESSIONS):
        watch(targets, number, at=number)
    [first, *_] = targets.of(SHOP)
    put, done = DynamoTable.put, []

    def put_late(*arguments: Any) -> Any:
        if not done:
            done.append(True)
            notified(targets, first) if meanwhile == "notified" else targets.remove(SHOP, first.id)
        return put(*arguments)

    monkeypatch.setattr(DynamoTable, "put", put_late)
    assert watch(targets, MAX_SESSIONS, at=101) is None
    assert watching(targets) == [session(MAX_SESSIONS), *map(session, range(1, MAX_SESSIONS))]


def fail_behind_its_effect(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    call = getattr(DynamoTable, name)

    def lost(*arguments: Any) -> None:
        call(*arguments)
        raise NotNowError(STORE_UNAVAILABLE)

    monkeypatch.setattr(DynamoTable, name, lost)


@pytest.mark.parametrize("number", [0, MAX_SESSIONS], ids=["its own earlier watch", "another session"])
def test_a_session_whose_row_was_put_waits_and_what_it_replaced_is_told_also_if_the_answer_was_lost(
    targets: NotificationTargets, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    for each in range(MAX_SESSIONS):
        watch(targets, each, at=each)
    fail_behind_its_effect(monkeypatch, "put")
    replaced = watch(targets, number, "late", at=101)
    assert replaced is not None
    assert WatchingSession.decode(replaced.to) == session(0)
    assert session(number, "late") in watching(targets)


def test_a_session_whose_row_was_not_put_is_refused_and_replaces_nothing(
    targets: NotificationTargets, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(targets, 1)
    with monkeypatch.context() as broken:
        broken.setattr(DynamoTable, "put", lambda *_: (_ for _ in ()).throw(NotNowError(STORE_UNAVAILABLE)))
        with pytest.raises(NotNowError):
            watch(targets, 1, "late")
    assert watching(targets) == [session(1)]


def test_a_session_whose_row_may_have_been_put_is_taken_out_before_its_owner_is_refused(
    targets: NotificationTargets, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        fail_behind_its_effect(broken, "put")
        fail_behind_its_effect(broken, "get")
        with pytest.raises(NotNowError):
            watch(targets, 1)
    assert watching(targets) == []


def test_sessions_that_begin_to_wait_at_once_have_slots_of_their_own(targets: NotificationTargets) -> None:
    start = Barrier(MAX_SESSIONS)

    def begin(number: int) -> None:
        start.wait()
        watch(targets, number)

    with ThreadPoolExecutor(MAX_SESSIONS) as pool:
        list(pool.map(begin, range(MAX_SESSIONS)))
    assert len(watching(targets)) == MAX_SESSIONS


# --- codes ------------------------------------------------------------------------------------------------------------


def test_each_code_has_a_limited_number_of_attempts(targets: NotificationTargets) -> None:
    target = added(targets)
    assert [targets.take_try(target, 2) for _ in range(3)] == [True, True, False]
    assert targets.challenge(target)
    assert not targets.take_try(target, 2), "the code from before counts no more"
    assert targets.take_try(now(targets, target), 2)


def test_concurrent_guesses_have_no_more_attempts(targets: NotificationTargets) -> None:
    target, start = added(targets), Barrier(8)

    def guess(_: int) -> bool:
        start.wait()
        return targets.take_try(target, 5)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(guess, range(8))) == 5


def test_a_target_is_verified_once_and_has_no_code_afterwards(targets: NotificationTargets) -> None:
    target = added(targets)
    assert targets.verify(target)
    assert now(targets, target).state is TargetState.ACTIVE
    assert not targets.verify(target)
    assert not targets.challenge(target)
    assert not targets.take_try(target, 5)


def test_the_codes_of_a_mailbox_are_limited_by_day(deployed: Deployed) -> None:
    codes = deployed.storage.code_limits
    assert [codes.take(SHOP, NOW, 2) for _ in range(3)] == [True, True, False]
    assert codes.take("other.com", NOW, 2)
    assert codes.take(SHOP, NOW + 86_400, 2)


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_is_one_of_standard_webhooks_and_each_target_has_its_own(
    targets: NotificationTargets, keys: WebhookKeys
) -> None:
    one, two = added(targets, 1), added(targets, 2)
    assert keys.secret(one) == keys.secret(one) != keys.secret(two)
    assert keys.secret(one).startswith("whsec_")
    assert len(base64.b64decode(keys.secret(one).removeprefix("whsec_"), validate=True)) == 32


def test_after_a_rotation_both_secrets_sign_for_a_day(targets: NotificationTargets, keys: WebhookKeys) -> None:
    target = added(targets)
    old = keys.secret(target)
    assert keys.signing(target, NOW * 1000) == [old]
    assert targets.rotate(target, NOW * 1000)
    assert not targets.rotate(target, NOW * 1000), "two who rotate at once make one new secret"
    rotated = now(targets, target)
    assert keys.secret(rotated) != old
    over_ms = (NOW + OVERLAP_SECONDS) * 1000
    assert keys.signing(rotated, over_ms - 1) == [keys.secret(rotated), old]
    assert keys.signing(rotated, over_ms) == [keys.secret(rotated)]


def test_codes_differ_between_requests_and_between_targets(targets: NotificationTargets, keys: WebhookKeys) -> None:
    one, two = added(targets, 1), added(targets, 2)
    assert targets.challenge(one)
    codes = {keys.code(one), keys.code(now(targets, one)), keys.code(two)}
    assert len(codes) == 3
    assert all(len(code) == 8 and code.isalnum() for code in codes)


def test_neither_secret_nor_code_is_stored(deployed: Deployed, targets: NotificationTargets, keys: WebhookKeys) -> None:
    target = added(targets)
    stored = str(deployed.rows("DirectoryTable"))
    assert keys.secret(target) not in stored
    assert keys.code(target) not in stored


def test_another_deployment_derives_other_secrets(
    deployed: Deployed, targets: NotificationTargets, keys: WebhookKeys
) -> None:
    target = added(targets)
    before = keys.secret(target), keys.code(target)
    deployed.clients.secrets.put_secret_value(SecretId=deployed.secrets["WebhookKeys"], SecretString='{"0": "other"}')
    other = WebhookKeys(deployed.clients.secrets, deployed.secrets["WebhookKeys"], lambda: NOW)
    assert not {other.secret(target), other.code(target)} & set(before)


@pytest.mark.parametrize("stored", ["{}", "[]", '{"0": 1}'])
def test_without_a_secret_nothing_is_derived(deployed: Deployed, targets: NotificationTargets, stored: str) -> None:
    deployed.clients.secrets.put_secret_value(SecretId=deployed.secrets["WebhookKeys"], SecretString=stored)
    keys = WebhookKeys(deployed.clients.secrets, deployed.secrets["WebhookKeys"], lambda: NOW)
    with pytest.raises(NotNowError, match="a secret here is not of the form that it must have"):
        keys.secret(added(targets))


# --- what is noted of tries -------------------------------------------------------------------------------------------


def test_a_failure_is_recorded_and_removed_after_a_success(targets: NotificationTargets) -> None:
    target = added(targets)
    assert targets.verify(target)
    target = now(targets, target)
    targets.failed(target, "it answered 500", NOW, NotificationRetry("n1", NOW + 10))
    failing = now(targets, target)
    assert (failing.detail, failing.failing_since_ms, failing.retry) == (
        "it answered 500",
        NOW,
        NotificationRetry("n1", NOW + 10),
    )
    targets.begin_retry(target, "n2")
    assert now(targets, target).retry is not None, "it is another's"
    targets.begin_retry(target, "n1")
    targets.went_well(target)
    assert now(targets, target) == target


def test_a_paused_target_stays_paused_until_the_owner_resumes_it(targets: NotificationTargets) -> None:
    target = added(targets)
    targets.pause(target, "early")
    assert now(targets, target).state is TargetState.UNVERIFIED, "nobody is verified by failing"
    assert targets.verify(target)
    active = now(targets, target)
    targets.failed(active, "it answered 500", NOW, NotificationRetry("n1", NOW))
    targets.pause(active, "it answered 500")
    paused = now(targets, target)
    assert (paused.state, paused.detail, paused.retry) == (TargetState.PAUSED, "it answered 500", None)
    targets.failed(active, "late", NOW, NotificationRetry("n1", NOW))
    targets.went_well(active)
    assert now(targets, target) == paused, "a try that was begun before says nothing of it"
    targets.resume(target)
    assert now(targets, target) == active


def test_resuming_does_not_verify_a_target(targets: NotificationTargets) -> None:
    target = added(targets)
    targets.resume(target)
    assert now(targets, target).state is TargetState.UNVERIFIED


def test_a_mailbox_is_notified_while_one_of_its_targets_is_active(
    deployed: Deployed, targets: NotificationTargets
) -> None:
    clock = FakeClock(NOW)
    directory = deployed.parts(system=System(clock=clock)).storage.directory

    def notified() -> bool:
        clock.now += 30
        return directory.is_notified(SHOP)

    assert not notified()
    target = added(targets)
    assert not notified(), "not before it is verified"
    targets.verify(target)
    assert notified()
    targets.pause(target, "")
    assert not notified()
    targets.resume(target)
    assert notified()
    deployed.storage.mailboxes.close(SHOP, 1)
    assert not notified(), "who may not pick it up is not told of it"
    deployed.storage.mailboxes.set_keys(SHOP, ["a key"])
    assert notified()
    targets.remove(SHOP, target.id)
    assert not notified()


# --- turns ------------------------------------------------------------------------------------------------------------


def test_there_is_one_notification_in_an_interval(turns: Debounce) -> None:
    first = turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark="a")
    assert (first.at_ms, first.ours) == (1000, True)
    second = turns.take(SHOP, now_ms=60_999, interval_ms=60_000, mark="b")
    assert (second.at_ms, second.ours, second.followed) == (1000, False, False)
    assert turns.take(SHOP, now_ms=61_000, interval_ms=60_000, mark="c").ours
    assert turns.take("other.com", now_ms=61_000, interval_ms=60_000, mark="d").ours


def test_one_of_many_couriers_at_once_may_notify(turns: Debounce) -> None:
    start = Barrier(8)

    def take(number: int) -> bool:
        start.wait()
        return turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark=str(number)).ours

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == 1


def test_a_follow_up_is_recorded_until_the_next_notification(turns: Debounce) -> None:
    first = turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark="a")
    turns.followed(SHOP, first)
    assert turns.take(SHOP, now_ms=2000, interval_ms=60_000, mark="b").followed
    assert turns.take(SHOP, now_ms=61_000, interval_ms=60_000, mark="c").ours
    turns.followed(SHOP, first)
    assert not turns.take(SHOP, now_ms=62_000, interval_ms=60_000, mark="d").followed, "it followed another turn"


def test_a_repeated_request_for_the_same_notification_succeeds(turns: Debounce) -> None:
    """The SDK's second try of a call whose answer was lost meets its own effect."""
    assert turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark="a").ours
    assert turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark="a").ours


def test_a_clock_that_was_an_hour_ahead_does_not_stop_notifications(turns: Debounce) -> None:
    turns.take(SHOP, now_ms=3_600_000, interval_ms=60_000, mark="a")
    assert turns.take(SHOP, now_ms=1000, interval_ms=60_000, mark="b").ours
