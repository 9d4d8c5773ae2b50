"""Whom a look-up delays: a batch is judged in passes, and few look-ups below one domain wait (decision "Look-ups")."""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event

import pytest
from tests.aws import new_clients
from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import FakeSenderKeys
from tests.patience import PATIENCE
from tests.pipeline.delivery_service import BOB, MALLORY, DeliveryService
from tests.pipeline.stack import NOW, OTHER_KEY, SENDER, SENDER_KEY, SENDER_KEY_NAME, SHOP, PipelineStack

from postroom.core.errors import NotNowError, OurError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE, TOO_MANY_LOOK_UPS
from postroom.names.dns import Question
from postroom.pipeline.judges.dm3 import Dm3Judge
from postroom.pipeline.look_ups import (
    A_SECOND,
    A_SECOND_SPARINGLY,
    MEMORY_ONLY,
    MOST_SLOW,
    OF_A_DOMAIN,
    SECONDS_OF_A_DOMAIN,
    SLOW_FOR_SECONDS,
    SLOW_SECONDS,
    UNLIMITED,
    LookUpNeededError,
    LookUps,
)
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.ports import SenderKey
from postroom.pipeline.silence import Silence, ZoneSilentError
from postroom.pipeline.silent_zones import PROVEN_SECONDS, PUT_OFF_SECONDS
from postroom.pipeline.worker import SUSPECT_AFTER, Record, Source
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

EVIL = "evil.example"
LOOK_UP_SECONDS = 6.0


@dataclass
class SlowKeys(FakeSenderKeys):
    """Names below `silent` domains are looked up in vain, until the pass or the look-up ends. `meanwhile` is called."""

    look_ups: LookUps = field(kw_only=True)
    clock: FakeClock = field(kw_only=True)
    silent: tuple[str, ...] = (EVIL,)
    meanwhile: Callable[[], None] = lambda: None

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        if not name.endswith(self.silent):
            return super().find(name, fresh=fresh)
        self.lookups.append((name, fresh))
        self.meanwhile()
        began = self.clock.now

        def silence(seconds: float) -> Callable[[Question], object]:
            def ask(_: Question) -> object:
                self.clock.now = began + seconds
                raise NotNowError(KEY_LOOKUP_FAILED)

            return ask

        self.look_ups.asking(silence, LOOK_UP_SECONDS)(None)  # type: ignore[arg-type]
        raise OurError("it has no answer")


@pytest.fixture
def slow(stack: PipelineStack) -> SlowKeys:
    """Each name below evil.example is a zone of its own, which does not answer."""
    keys = SlowKeys({SENDER_KEY_NAME: SENDER_KEY.public}, look_ups=stack.look_ups, clock=stack.clock)
    stack.keys, stack.silent_zone = keys, lambda domain: domain
    return keys


def evil(stack: PipelineStack, number: int) -> Record:
    return stack.queued(stack.envelope(sender=f"s{number}.{EVIL}"))


def asked(keys: SlowKeys) -> list[str]:
    return [name.partition("._domainkey.")[2] for name, _ in keys.lookups]


# --- what is decided is filed first ----------------------------------------------------------------------------------
def test_claims_whose_keys_are_in_memory_are_filed_before_anybody_is_looked_up(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    slow.find(SENDER_KEY_NAME)
    filed: list[int] = []
    slow.meanwhile = lambda: filed.append(len(stack.listed()))
    report = stack.work(evil(stack, 1), stack.queued(stack.envelope()))
    assert filed == [1]
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]


def test_a_key_that_is_found_within_a_second_is_found_in_the_same_run(stack: PipelineStack) -> None:
    assert stack.work(stack.queued(stack.envelope())).to_look_up == 0
    assert stack.deployed.bodies("LookUpsQueue") == []


def test_all_look_ups_of_a_batch_have_one_second_together(stack: PipelineStack, slow: SlowKeys) -> None:
    slow.silent = (EVIL, "wicked.example")
    records = [evil(stack, 1), stack.queued(stack.envelope(sender="s.wicked.example")), stack.queued(stack.envelope())]
    began = stack.clock.now
    report = stack.work(*records)
    assert stack.clock.now == began + 1
    assert report.to_look_up == 3


def test_a_claim_that_needs_longer_goes_to_a_queue_of_its_own_unchanged(stack: PipelineStack, slow: SlowKeys) -> None:
    record = evil(stack, 1)
    tried = json.loads(record.body) | {"tries": 4}
    record = Record(record.message_id, json.dumps(tried, separators=(",", ":")), 2, "its group")
    report = stack.work(record)
    assert (report.outcomes, report.failed, report.to_look_up) == ((), (), 1)
    assert stack.deployed.bodies("LookUpsQueue") == [record.body]
    assert stack.deployed.groups("LookUpsQueue") == ["its group"]
    assert stack.deployed.delays("LookUpsQueue") == [0]
    assert stack.deployed.bodies("RetryQueue") == stack.deployed.bodies("WaitingQueue") == []


def test_a_claim_that_could_not_be_sent_on_is_delivered_again_and_its_neighbours_are_done(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    slow.find(SENDER_KEY_NAME)
    bad, good = evil(stack, 1), stack.queued(stack.envelope())
    clients = new_clients()
    clients.sqs.meta.events.register("before-call.sqs.SendMessage", _refuse)
    report = stack.worker(clients).work([bad, good])
    assert report.failed == (bad.message_id,)
    assert len(stack.listed()) == 1


def _refuse(**_: object) -> None:
    raise ConnectionError


def test_copies_of_a_claim_in_both_queues_are_filed_once(stack: PipelineStack, slow: SlowKeys) -> None:
    """A run that ends after it has sent a claim on leaves two."""
    slow.silent = (SENDER,)
    record = stack.queued(stack.envelope())
    assert stack.work(record).to_look_up == 1
    slow.silent = ()
    assert [outcome.fate for outcome in stack.look_up().outcomes] == [ClaimOutcome.ACCEPTED]
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert len(stack.listed()) == 1


def test_there_a_look_up_has_all_its_time_after_the_others_are_filed(stack: PipelineStack, slow: SlowKeys) -> None:
    stack.work(evil(stack, 1))
    stack.clock.now += SLOW_FOR_SECONDS + 1
    began, filed = stack.clock.now, []
    slow.meanwhile = lambda: filed.append(len(stack.listed()))
    records = [stack.record(body) for body in stack.deployed.bodies("LookUpsQueue")]
    report = stack.worker().work([stack.queued(stack.envelope()), *records], Source.LOOK_UPS)
    assert Counter(outcome.fate for outcome in report.outcomes) == {ClaimOutcome.RETRIED: 1, ClaimOutcome.ACCEPTED: 1}
    assert (filed, stack.clock.now) == ([0, 1], began + 1 + LOOK_UP_SECONDS)
    assert len(stack.deployed.bodies("WaitingQueue")) == 1


def test_a_suspect_is_looked_up_where_it_is(stack: PipelineStack, slow: SlowKeys) -> None:
    """Sent on, it would come back, and never become a dead letter."""
    record = evil(stack, 1)
    suspect = Record(record.message_id, record.body, SUSPECT_AFTER)
    [outcome] = stack.worker().work([suspect], Source.SUSPECTS).outcomes
    assert outcome.reason is KEY_LOOKUP_FAILED
    assert stack.deployed.bodies("LookUpsQueue") == []


def test_a_forged_signature_of_a_cached_sender_makes_nobody_wait(stack: PipelineStack, slow: SlowKeys) -> None:
    """Its key is fetched again; the forger may own the domain, whose servers have fallen silent."""
    slow.cached[f"nlweb._domainkey.{EVIL}"] = SENDER_KEY.public
    slow.find(SENDER_KEY_NAME)
    filed: list[int] = []
    slow.meanwhile = lambda: filed.append(len(stack.listed()))
    forged = stack.envelope(sender=EVIL, key=OTHER_KEY)
    report = stack.work(stack.queued(forged), stack.queued(stack.envelope()))
    # In the first pass it ends before it asks anybody.
    assert (filed[-1], report.to_look_up) == (1, 1)
    assert stack.clock.now == NOW + 1


def test_the_profile_of_a_dm3_sender_is_looked_up_there_only(stack: PipelineStack) -> None:
    service = DeliveryService(stack)
    service.open(BOB, takes_unverified=True)
    record = service.queued(service.envelope(sender=MALLORY))
    assert stack.work(record).to_look_up == 1
    assert [outcome.fate for outcome in stack.look_up().outcomes] == [ClaimOutcome.ACCEPTED]


def test_profiles_of_dm3_senders_below_one_domain_are_looked_up_twice_in_a_minute(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, looked_up = DeliveryService(stack), []
    service.open(BOB, takes_unverified=True)
    names = [f"s{number}.{EVIL}" for number in range(5)]
    service.users |= dict.fromkeys(names, service.users[MALLORY])

    def fail(name: str, *, fresh: bool = False) -> object:
        looked_up.append(name)
        stack.clock.now += LOOK_UP_SECONDS
        raise NotNowError(PROFILE_LOOKUP_FAILED)

    records = [service.queued(service.envelope(sender=name)) for name in names]
    judge = stack.further_judges["dm3"]
    assert isinstance(judge, Dm3Judge)
    monkeypatch.setattr(judge.profiles, "find_user", fail)
    report = stack.worker().work(records, Source.LOOK_UPS)
    assert len(looked_up) == OF_A_DOMAIN
    reasons = Counter(outcome.reason for outcome in report.outcomes)
    assert reasons == {PROFILE_LOOKUP_FAILED: OF_A_DOMAIN, TOO_MANY_LOOK_UPS: 3}
    assert len(stack.deployed.bodies("RetryQueue")) == 5


# --- domains whose look-ups are slow ---------------------------------------------------------------------------------
def test_below_a_domain_whose_look_up_was_slow_a_run_looks_nothing_up_for_a_minute(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    stack.work(evil(stack, 1))
    began = stack.clock.now
    assert [stack.work(evil(stack, number)).to_look_up for number in range(2, 6)] == [1] * 4
    assert (stack.clock.now, asked(slow)) == (began, [f"s1.{EVIL}"])
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED
    stack.clock.now = began + SLOW_FOR_SECONDS + 1
    stack.work(evil(stack, 6))
    assert asked(slow)[-1] == f"s6.{EVIL}"


def test_after_slow_look_ups_of_six_domains_in_a_minute_a_run_looks_nothing_up(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    domains = [f"evil{number}.example" for number in range(MOST_SLOW)]
    slow.silent = tuple(domains)
    for domain in domains:
        assert stack.work(stack.queued(stack.envelope(sender=f"s.{domain}"))).to_look_up == 1
    began = stack.clock.now
    assert stack.work(stack.queued(stack.envelope())).to_look_up == 1
    assert stack.clock.now == began
    # In the queue of look-ups it has its second.
    assert ClaimOutcome.ACCEPTED in {outcome.fate for outcome in stack.look_up().outcomes}
    stack.clock.now += SLOW_FOR_SECONDS
    slow.cached.clear()
    assert stack.work(stack.queued(stack.envelope())).to_look_up == 0


def test_when_two_zones_below_a_domain_are_silent_no_other_is_asked_and_its_claim_waits(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    records = [evil(stack, number) for number in range(1, 6)]
    began = stack.clock.now
    report = stack.worker().work(records, Source.LOOK_UPS)
    reasons = [outcome.reason for outcome in report.outcomes]
    assert reasons == [KEY_LOOKUP_FAILED] * OF_A_DOMAIN + [TOO_MANY_LOOK_UPS] * 3
    assert stack.clock.now == began + 1 + OF_A_DOMAIN * LOOK_UP_SECONDS  # one after the other here
    assert len(stack.deployed.bodies("WaitingQueue")) == 5
    zones = stack.parts().storage.sender_zones
    assert [zones.read(f"s{number}.{EVIL}").failed for number in range(1, 6)] == [1, 1, 0, 0, 0]
    assert zones.read(EVIL).waiting(stack.clock.now) == 5
    assert report.outcomes[-1].detail == f"look-ups below {EVIL} take long"


def test_a_claim_that_is_put_off_waits_an_hour_and_nothing_is_said_of_its_zone(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    stack.worker().work([evil(stack, number) for number in (1, 2)], Source.LOOK_UPS)
    with pytest.raises(ZoneSilentError) as error:
        stack.parts().pipeline.patient_keys.find(f"pk1._domainkey.s3.{EVIL}")
    assert error.value.silence.due == int(stack.clock.now) + PUT_OFF_SECONDS
    slow.published[f"nlweb._domainkey.s3.{EVIL}"], slow.silent = SENDER_KEY.public, ()
    stack.clock.now += SLOW_FOR_SECONDS + 1
    assert stack.settle(stack.queued(stack.envelope(sender=f"s3.{EVIL}"))).fate is ClaimOutcome.ACCEPTED


def test_if_the_look_ups_found_out_that_the_domain_itself_is_silent_the_others_wait_for_that(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    stack.silent_zone = lambda _: EVIL
    report = stack.worker().work([evil(stack, number) for number in range(1, 5)], Source.LOOK_UPS)
    assert {outcome.reason for outcome in report.outcomes} == {KEY_LOOKUP_FAILED}
    assert {outcome.detail for outcome in report.outcomes} == {f"the zone {EVIL} does not answer"}


def test_a_proven_domain_is_looked_up_whatever_takes_long_beside_it(stack: PipelineStack, slow: SlowKeys) -> None:
    """As below a parent that delegates names to anybody."""
    proven = f"honest.{EVIL}"
    stack.parts().storage.sender_zones.prove(proven, int(stack.clock.now) + PROVEN_SECONDS)
    stack.worker().work([evil(stack, number) for number in (1, 2)], Source.LOOK_UPS)
    slow.silent = tuple(f"s{number}.{EVIL}" for number in range(9))
    slow.published[f"nlweb._domainkey.{proven}"] = SENDER_KEY.public
    assert stack.work(stack.queued(stack.envelope(sender=proven))).outcomes[0].fate is ClaimOutcome.ACCEPTED


def test_a_proven_domain_whose_look_ups_fail_is_looked_up_twice_in_a_minute_and_tried_again(
    stack: PipelineStack, slow: SlowKeys
) -> None:
    """Whoever has a domain proves any number of names below it, and lets them fall silent."""
    stack.parts().storage.sender_zones.prove(f"s1.{EVIL}", int(stack.clock.now) + PROVEN_SECONDS)
    worker, began = stack.worker(), stack.clock.now
    reasons = [worker.work([evil(stack, 1)], Source.LOOK_UPS).outcomes[0].reason for _ in range(6)]
    assert reasons == [KEY_LOOKUP_FAILED] * OF_A_DOMAIN + [TOO_MANY_LOOK_UPS] * 4
    assert stack.clock.now == began + 1 + OF_A_DOMAIN * LOOK_UP_SECONDS
    assert len(stack.deployed.bodies("RetryQueue")) == 6
    stack.clock.now += SLOW_FOR_SECONDS + 1
    assert worker.work([evil(stack, 1)], Source.LOOK_UPS).outcomes[0].reason is KEY_LOOKUP_FAILED


def test_a_key_in_memory_that_is_fetched_anew_in_vain_is_counted_as_well(stack: PipelineStack, slow: SlowKeys) -> None:
    """For a signature that it does not verify: anybody can forge one."""
    slow.cached[f"nlweb._domainkey.s1.{EVIL}"] = SENDER_KEY.public
    began = stack.clock.now
    for _ in range(5):
        stack.worker().work([stack.queued(stack.envelope(sender=f"s1.{EVIL}", key=OTHER_KEY))], Source.LOOK_UPS)
    assert stack.clock.now == began + 1 + OF_A_DOMAIN * LOOK_UP_SECONDS


@pytest.mark.parametrize(("seconds", "times"), [(5.9, OF_A_DOMAIN), (1.9, 7)])
@pytest.mark.parametrize("is_there", [True, False])
def test_servers_that_answer_slowly_are_asked_as_seldom_as_those_that_do_not(
    stack: PipelineStack, slow: SlowKeys, is_there: bool, seconds: float, times: int
) -> None:
    find, asked_for = slow.find, []
    slow.silent = ()

    def slowly(name: str, *, fresh: bool = False) -> SenderKey:
        stack.look_ups.check_unlimited()
        asked_for.append(name)
        stack.clock.now += seconds
        return find(name, fresh=fresh)

    slow.find = slowly  # type: ignore[method-assign]
    if is_there:
        slow.published |= {f"nlweb._domainkey.s{number}.{EVIL}": SENDER_KEY.public for number in range(9)}
    report = stack.worker().work([evil(stack, number) for number in range(9)], Source.LOOK_UPS)
    assert len(asked_for) == times
    assert [outcome.reason for outcome in report.outcomes].count(TOO_MANY_LOOK_UPS) == 9 - times


def test_while_our_own_resolvers_are_dead_no_domain_is_put_off(stack: PipelineStack, slow: SlowKeys) -> None:
    stack.silent_zone = lambda _: None
    report = stack.worker().work([evil(stack, number) for number in range(1, 5)], Source.LOOK_UPS)
    assert [(outcome.reason, outcome.silence) for outcome in report.outcomes] == [(KEY_LOOKUP_FAILED, None)] * 4
    assert len(stack.deployed.bodies("RetryQueue")) == 4


def test_of_a_part_behind_the_first_what_is_not_in_memory_is_sent_on(
    stack: PipelineStack, slow: SlowKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 1)
    slow.silent = (EVIL, "wicked.example")
    senders = (f"s.{EVIL}", "s.wicked.example", "s.bad.example")
    began = stack.clock.now
    report = stack.work(*(stack.queued(stack.envelope(sender=sender)) for sender in senders))
    assert (report.to_look_up, stack.clock.now) == (3, began + 1)


def test_domains_below_a_public_suffix_do_not_delay_each_other(stack: PipelineStack, slow: SlowKeys) -> None:
    slow.silent = ("evil.co.uk",)
    slow.published["nlweb._domainkey.good.co.uk"] = SENDER_KEY.public
    stack.work(stack.queued(stack.envelope(sender="s1.evil.co.uk")))
    assert stack.settle(stack.queued(stack.envelope(sender="good.co.uk"))).fate is ClaimOutcome.ACCEPTED


# --- the limits by themselves ----------------------------------------------------------------------------------------
def fail(look_ups: LookUps, meanwhile: Callable[[], None], *, ours: bool = False) -> Reason:
    """The reason why a look-up below evil.example fails that does not get an answer. `ours`: for one of our own."""
    silence = Silence("", EVIL, 0, EVIL)
    failure = NotNowError(STORE_UNAVAILABLE) if ours else ZoneSilentError(KEY_LOOKUP_FAILED, "", silence)

    def look_up() -> None:
        with look_ups.of(EVIL):
            meanwhile()
            raise failure

    with pytest.raises(NotNowError) as error:
        look_up()
    return error.value.reason


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def look_ups(clock: FakeClock) -> LookUps:
    return LookUps(clock)


def test_two_look_ups_of_a_domain_are_made_at_a_time_and_the_third_waits_for_its_turn(look_ups: LookUps) -> None:
    begun: list[int] = []
    go_on = Event()
    two = Event()

    def look_up(number: int) -> None:
        with look_ups.of(EVIL):
            begun.append(number)
            if len(begun) == OF_A_DOMAIN:
                two.set()
            assert go_on.wait(PATIENCE)

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(look_up, number) for number in range(3)]
        assert two.wait(PATIENCE)
        with look_ups.of(SENDER):  # another domain's has its turn at once
            assert len(begun) == OF_A_DOMAIN
        go_on.set()
        for each in running:
            each.result(PATIENCE)
    assert sorted(begun) == [0, 1, 2]


def test_who_waits_for_a_turn_when_the_others_fail_slowly_does_not_begin(look_ups: LookUps, clock: FakeClock) -> None:
    def pass_time() -> None:
        clock.now += LOOK_UP_SECONDS

    fail(look_ups, pass_time)  # so the one that ends first is the second that took long, whichever it is
    two, go_on = Event(), Event()
    begun: list[int] = []

    def look_up(number: int) -> Reason:
        def meanwhile() -> None:
            begun.append(number)
            if len(begun) == OF_A_DOMAIN:
                two.set()
            assert go_on.wait(PATIENCE)

        return fail(look_ups, meanwhile)

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(look_up, number) for number in range(3)]
        assert two.wait(PATIENCE)
        clock.now += LOOK_UP_SECONDS
        go_on.set()
        reasons = Counter(each.result(PATIENCE) for each in running)
    assert reasons == {KEY_LOOKUP_FAILED: OF_A_DOMAIN, TOO_MANY_LOOK_UPS: 1}
    assert len(begun) == OF_A_DOMAIN


@pytest.mark.parametrize("seconds", [0.0, SLOW_SECONDS / 2])
def test_a_look_up_that_fails_at_once_is_not_slow(look_ups: LookUps, clock: FakeClock, seconds: float) -> None:
    def pass_time() -> None:
        clock.now += seconds

    reasons = [fail(look_ups, pass_time) for _ in range(5)]
    assert set(reasons) == {KEY_LOOKUP_FAILED}
    look_ups.allow(A_SECOND)
    with look_ups.of(EVIL):
        pass  # it is not left to the queue of look-ups


def test_what_fails_for_a_reason_of_our_own_is_not_slow(look_ups: LookUps, clock: FakeClock) -> None:
    def pass_time() -> None:
        clock.now += LOOK_UP_SECONDS

    assert {fail(look_ups, pass_time, ours=True) for _ in range(5)} == {STORE_UNAVAILABLE}
    look_ups.allow(A_SECOND)
    with look_ups.of(EVIL):
        pass  # it is not left to the queue of look-ups


@pytest.mark.parametrize("seconds", [0.05, 0.45, 1.9, 5.9])
@pytest.mark.parametrize("minutes", [1, 10])
def test_look_ups_of_a_domain_take_ten_seconds_in_a_minute_however_fast_each_is_answered(
    look_ups: LookUps, clock: FakeClock, seconds: float, minutes: int
) -> None:
    began, taken = clock.now, 0.0
    while clock.now < began + 60 * minutes:
        clock.now += 0.1
        with suppress(NotNowError), look_ups.of(EVIL):
            clock.now += seconds
            taken += seconds
    # A full bucket at the beginning, and one look-up that is made when it is almost full.
    most = SECONDS_OF_A_DOMAIN * (minutes + 1) + seconds
    assert SECONDS_OF_A_DOMAIN * minutes <= taken <= most


def test_a_domain_that_has_taken_its_seconds_is_left_to_the_queue_of_look_ups(
    look_ups: LookUps, clock: FakeClock
) -> None:
    """Another run may have some left."""

    def pass_time() -> None:
        clock.now += SLOW_SECONDS / 2

    while fail(look_ups, pass_time) is KEY_LOOKUP_FAILED:
        pass
    look_ups.allow(A_SECOND)
    with pytest.raises(LookUpNeededError), look_ups.of(EVIL):
        pass
    with look_ups.of(SENDER):
        pass


def test_one_slow_domain_does_not_end_the_look_ups_of_others(look_ups: LookUps, clock: FakeClock) -> None:
    """A run processes batches of the queue of look-ups, too, where a domain may be slow several times in a minute."""
    for _ in range(MOST_SLOW):
        with look_ups.of(EVIL):
            clock.now += SLOW_SECONDS
    look_ups.allow(A_SECOND_SPARINGLY)
    with look_ups.of(SENDER):
        pass


def test_no_look_up_begins_when_the_time_of_a_pass_is_over(look_ups: LookUps, clock: FakeClock) -> None:
    for patience in (MEMORY_ONLY, A_SECOND, A_SECOND_SPARINGLY):
        look_ups.allow(patience)
        clock.now += 1
        with pytest.raises(LookUpNeededError):
            look_ups.check()
        with pytest.raises(LookUpNeededError):
            look_ups.check_unlimited()
    look_ups.allow(UNLIMITED)
    clock.now += 1e9
    look_ups.check()
    look_ups.check_unlimited()


def test_a_look_up_takes_no_longer_than_what_is_left_of_the_pass(look_ups: LookUps, clock: FakeClock) -> None:
    given: list[float] = []

    def asking(seconds: float) -> Callable[[Question], object]:
        given.append(round(seconds, 3))
        return lambda _: None

    look_ups.allow(A_SECOND)
    clock.now += 0.25
    look_ups.asking(asking, LOOK_UP_SECONDS)  # type: ignore[arg-type]
    look_ups.asking(asking, 0.5)  # type: ignore[arg-type]
    look_ups.allow(UNLIMITED)
    look_ups.asking(asking, LOOK_UP_SECONDS)  # type: ignore[arg-type]
    assert given == [0.75, 0.5, LOOK_UP_SECONDS]


def test_nothing_is_left_of_domains_that_are_not_looked_up_any_more(look_ups: LookUps) -> None:
    """Strangers choose them."""
    for number in range(100):
        with look_ups.of(f"s.evil{number}.example"):
            pass
    assert not look_ups._running
    assert SHOP not in look_ups._running
