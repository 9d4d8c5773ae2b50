"""Zones that do not answer: how often they are asked, what their claims cost, and whom they hold up (decision "Silent
zones")."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from tests.aws import new_clients
from tests.fakes.pipeline import FakeHideQueue
from tests.pipeline.stack import DAY, HORIZON, NOW, SENDER, SENDER_KEY, SENDER_KEY_NAME, PipelineStack, calls_of

from postroom.core.errors import NotNowError, OurError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE, TOO_LATE
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.http.response import HttpResponse
from postroom.outbound.ports import Clock
from postroom.pipeline import silent_zones
from postroom.pipeline.look_ups import LookUps
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.ports import SenderKey
from postroom.pipeline.silence import ZoneSilentError
from postroom.pipeline.silent_zones import (
    LONGEST_SECONDS,
    LOOK_UP_SECONDS,
    PROVEN_SECONDS,
    PROVEN_SILENT_SECONDS,
    PatientKeys,
    seconds_silent,
)
from postroom.pipeline.waiting import UNKNOWN_SECONDS, WaitingRecord
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY, KEY_LOOKUP_FAILED, KEY_NOT_FOUND, SENDER_DNS_SILENT
from postroom.storage.limits.sender_zones import DomainProof, SenderZones, ZoneState
from postroom.storage.limits.waiting_periods import PERIOD_SECONDS, period_of

WEEK = 7 * DAY
assert WEEK == HORIZON
ONE = {period_of(NOW): 1}
"""The counts of a zone for which a claim began to wait."""


@dataclass
class HiddenMessages(FakeHideQueue):
    """The waiting queue, with the times at which its messages are visible again."""

    clock: Clock = field(kw_only=True)
    visible_at: dict[str, float] = field(default_factory=dict)

    def hide(self, seconds: Mapping[str, int]) -> None:
        super().hide(seconds)
        self.visible_at |= {receipt: self.clock() + hidden for receipt, hidden in seconds.items()}


@pytest.fixture
def silent(stack: PipelineStack) -> PipelineStack:
    """Below sender.com, no name answers."""
    stack.silent_zone = lambda _: SENDER
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    return stack


def name(number: int) -> str:
    return f"d{number}.{SENDER}"


def silence(stack: PipelineStack, *domains: str) -> None:
    for domain in domains:
        stack.keys.published[f"nlweb._domainkey.{domain}"] = NotNowError(KEY_LOOKUP_FAILED)


def counted(stack: PipelineStack, zone: str = SENDER) -> int:
    """The claims that wait for a zone, by its counts."""
    return stack.parts().storage.sender_zones.read(zone).waiting(stack.clock.now)


def waiting(stack: PipelineStack) -> list[WaitingRecord]:
    return [
        WaitingRecord(f"w{number}", body, f"r{number}")
        for number, body in enumerate(stack.deployed.bodies("WaitingQueue"))
    ]


def play(stack: PipelineStack, until: float) -> HiddenMessages:
    """Deliver the claims of the waiting queue when they are visible, until a time or until none is left."""
    queue = HiddenMessages(clock=stack.clock)
    records = {record.receipt: record for record in waiting(stack)}
    made = stack.parts()
    look_again = replace(made.pipeline.waiting_claims, waiting=queue, jitter=lambda: 0.5).look_again
    queue.visible_at = dict.fromkeys(records, stack.clock.now + 5)
    while queue.visible_at and min(queue.visible_at.values()) < until:
        stack.clock.now = max(stack.clock.now, min(queue.visible_at.values()))
        batch = [record for record in records.values() if queue.visible_at.get(record.receipt, 1e12) <= stack.clock.now]
        queue.requests += len(batch)
        stay = look_again(batch[:10])
        for record in batch[:10]:
            if record.message_id not in stay:
                queue.requests += 2  # it is sent to the retry queue, and deleted here
                del queue.visible_at[record.receipt]
    return queue


# ---- waiting -------------------------------------------------------------------------------------------------


def test_a_claim_of_a_silent_zone_waits_in_a_queue_of_its_own(silent: PipelineStack) -> None:
    record = silent.queued(silent.envelope())
    outcome = silent.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, KEY_LOOKUP_FAILED)
    assert outcome.detail == f"the zone {SENDER} does not answer"
    assert silent.deployed.bodies("RetryQueue") == []
    [body] = silent.deployed.bodies("WaitingQueue")
    added = {"key": SENDER_KEY_NAME, "received_at_ms": int(NOW * 1000)}
    assert json.loads(body) == json.loads(record.body) | added
    assert silent.deployed.delays("WaitingQueue") == [5]


def test_a_zone_that_never_answers_is_asked_40_times_in_a_week_at_most_and_its_claim_is_discarded(
    silent: PipelineStack,
) -> None:
    silent.settle(silent.queued(silent.envelope()))
    queue = play(silent, NOW + 2 * WEEK)
    assert 20 < len(silent.keys.lookups) <= 40
    assert queue.requests <= 200
    assert silent.clock.now - NOW < WEEK + LONGEST_SECONDS + 60
    [body] = silent.deployed.bodies("RetryQueue")
    outcome = silent.settle(silent.record(body))
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)


def test_look_ups_grow_to_hours_apart() -> None:
    times = [seconds_silent(failed) for failed in range(1, 12)]
    assert times == [5, 15, 45, 135, 405, 1215, 3645, 10_935, 21_600, 21_600, 21_600]


def test_all_claims_of_a_zone_share_its_look_ups_whatever_their_names(silent: PipelineStack) -> None:
    silence(silent, *map(name, range(5)))
    for number in range(5):
        silent.settle(silent.queued(silent.envelope(sender=name(number))))
    assert len(silent.keys.lookups) == 1
    play(silent, NOW + WEEK - DAY)
    assert len(silent.keys.lookups) <= 40
    assert counted(silent) == 5


def test_when_the_zone_answers_its_claims_are_judged(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    silent.settle(silent.queued(silent.envelope()))
    silent.clock.now += 5
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    assert play(silent, NOW + WEEK).visible_at == {}
    fates = {silent.settle(silent.record(body)).fate for body in silent.deployed.bodies("RetryQueue")}
    assert fates == {ClaimOutcome.ACCEPTED}
    assert len(silent.listed()) == 2


def test_when_the_zone_says_that_there_is_no_key_its_claims_are_judged(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    silent.keys.published[SENDER_KEY_NAME] = TheirError(KEY_NOT_FOUND)
    play(silent, NOW + WEEK)
    [body] = silent.deployed.bodies("RetryQueue")
    assert silent.settle(silent.record(body)).reason is KEY_NOT_FOUND


def test_a_zone_that_answers_for_some_names_only_is_not_asked_more_often_for_the_others(silent: PipelineStack) -> None:
    silence(silent, name(1))
    zones = silent.parts().storage.sender_zones
    silent.settle(silent.queued(silent.envelope(sender=name(1))))
    for failed in range(1, 5):
        state = zones.read(SENDER)
        assert state.failed == 2 * failed - 1
        assert state.due is not None
        silent.clock.now = state.due
        # Each of these has no key: the zone answers.
        silent.settle(silent.queued(silent.envelope(sender=name(100 + failed))))
        assert not zones.read(SENDER).is_silent
        silent.settle(silent.queued(silent.envelope(sender=name(1))))
    last = zones.read(SENDER)
    assert last.due == int(silent.clock.now) + seconds_silent(last.failed)


def test_a_look_up_counts_before_it_is_made(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    silent.clock.now += 5
    zones = silent.parts().storage.sender_zones

    class KilledError(BaseException):
        pass

    class Kills:
        def find(self, name: str, *, fresh: bool = False) -> object:
            raise KilledError

        def remembered(self, name: str) -> None:
            return None

    with pytest.raises(KilledError):
        PatientKeys(
            keys=Kills(),  # type: ignore[arg-type]
            zones=zones, zones_of=lambda _: [SENDER], silent_zone=lambda _: SENDER, is_silent=lambda _: True,
            look_ups=LookUps(silent.clock), clock=silent.clock,
        ).find(SENDER_KEY_NAME)  # fmt: skip
    assert zones.read(SENDER) == ZoneState(2, int(NOW) + 5 + LOOK_UP_SECONDS, ONE)


def test_while_a_zone_is_asked_its_other_claims_wait_for_the_result_and_not_for_the_next_look_up(
    silent: PipelineStack,
) -> None:
    for _ in range(9):
        silent.clock.now += LONGEST_SECONDS
        with pytest.raises(ZoneSilentError):
            silent.parts().pipeline.patient_keys.find(SENDER_KEY_NAME)
    zones = silent.parts().storage.sender_zones
    silent.clock.now += LONGEST_SECONDS
    seen: list[int] = []

    class Answers:
        """The key, and what another worker is told meanwhile."""

        def find(self, name: str, *, fresh: bool = False) -> SenderKey:
            with pytest.raises(ZoneSilentError) as told:
                silent.parts().pipeline.patient_keys.find(SENDER_KEY_NAME)
            seen.append(told.value.silence.due - int(silent.clock.now))
            silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
            return silent.keys.find(name)

        def remembered(self, name: str) -> None:
            return None

    PatientKeys(
        keys=Answers(),
        zones=zones,
        zones_of=lambda _: [SENDER],
        silent_zone=lambda _: SENDER,
        is_silent=lambda _: True,
        look_ups=LookUps(silent.clock),
        clock=silent.clock,
    ).find(SENDER_KEY_NAME)
    assert seen == [LOOK_UP_SECONDS]
    assert not zones.read(SENDER).is_silent


def test_a_failed_look_up_puts_off_the_next_one_unless_the_zone_answered_or_was_asked_meanwhile(
    silent: PipelineStack,
) -> None:
    zones, now = silent.parts().storage.sender_zones, int(NOW)
    first, _ = zones.silence(SENDER, ZoneState(), now, now + 5)
    zones.put_off(SENDER, first, 1, now + 15)
    assert zones.read(SENDER) == ZoneState(1, now + 15)
    second, _ = zones.silence(SENDER, first, now + 15, now + 20)
    zones.put_off(SENDER, first, 1, now + 900)
    assert zones.read(SENDER) == second == ZoneState(2, now + 20)
    zones.answered(SENDER)
    zones.put_off(SENDER, second, 2, now + 900)
    assert not zones.read(SENDER).is_silent


def test_of_two_workers_one_makes_the_look_up_that_is_due(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    zones, known = silent.parts().storage.sender_zones, ZoneState(1, int(NOW) + 5)
    now = int(NOW) + 5
    assert zones.silence(SENDER, known, now, now + 15) == (ZoneState(2, now + 15, ONE), True)
    assert zones.silence(SENDER, known, now, now + 15) == (ZoneState(2, now + 15, ONE), False)


def test_a_claim_is_hidden_for_a_while_if_nothing_can_be_said_of_its_zone(silent: PipelineStack) -> None:
    silent.silent_zone = lambda _: None
    queue = HiddenMessages(clock=silent.clock)
    pipeline = silent.parts().pipeline
    waiting_claims = replace(pipeline.waiting_claims, waiting=queue)
    body = json.dumps({"key": SENDER_KEY_NAME, "received_at_ms": int(NOW * 1000)})
    assert waiting_claims.look_again([WaitingRecord("w", body, "r")]) == ["w"]
    assert queue.visible_at == {"r": NOW + UNKNOWN_SECONDS}


def test_the_claims_of_a_silent_zone_take_one_request_a_batch(silent: PipelineStack) -> None:
    silence(silent, *map(name, range(10)))
    silent.settle(silent.queued(silent.envelope()))
    clients = new_clients()
    waiting_claims = silent.parts(clients).pipeline.waiting_claims
    bodies = [
        json.dumps({"key": f"nlweb._domainkey.{name(number)}", "received_at_ms": int(NOW * 1000)})
        for number in range(10)
    ]
    records = [WaitingRecord(f"w{number}", body, f"r{number}") for number, body in enumerate(bodies)]
    calls = calls_of(clients)
    assert len(waiting_claims.look_again(records)) == 10
    # One of them reads what is known of its domain and its zones.
    assert calls == Counter(GetItem=3, ChangeMessageVisibilityBatch=1)


def test_what_is_no_claim_stays_and_does_not_hold_up_others(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    silent.clock.now += 5
    [record] = waiting(silent)
    stay = silent.parts().pipeline.waiting_claims.look_again([WaitingRecord("bad", "{", "r"), record])
    assert stay == ["bad"]


@pytest.mark.parametrize("error", [NotNowError(STORE_UNAVAILABLE), OurError("access is denied")])
def test_if_claims_cannot_be_hidden_those_that_were_sent_on_are_done(silent: PipelineStack, error: Exception) -> None:
    class Refusing(FakeHideQueue):
        def hide(self, seconds: Mapping[str, int]) -> None:
            raise error

    answers = "nlweb._domainkey.answers.com"
    silent.keys.published[answers] = SENDER_KEY.public
    records = [
        WaitingRecord(key_name, json.dumps({"key": key_name, "received_at_ms": int(NOW * 1000)}), key_name)
        for key_name in (SENDER_KEY_NAME, answers)
    ]
    waiting_claims = replace(silent.parts().pipeline.waiting_claims, waiting=Refusing())
    assert waiting_claims.look_again(records) == [SENDER_KEY_NAME]
    assert len(silent.deployed.bodies("RetryQueue")) == 1


def test_the_turn_of_a_zone_is_not_taken_while_a_zone_below_it_is_silent(silent: PipelineStack) -> None:
    silence(silent, f"a.{name(1)}")
    zones = silent.parts().storage.sender_zones
    now = int(NOW)
    zones.silence(SENDER, ZoneState(), now - 10, now - 5)
    zones.silence(name(1), ZoneState(), now, now + 900)
    with pytest.raises(ZoneSilentError) as error:
        silent.parts().pipeline.patient_keys.find(f"nlweb._domainkey.a.{name(1)}")
    assert error.value.silence.zone == name(1)
    assert zones.read(SENDER) == ZoneState(1, now - 5)
    assert silent.keys.lookups == []


def test_a_failure_is_charged_to_the_zone_that_did_not_answer_and_not_to_those_above_it(silent: PipelineStack) -> None:
    silence(silent, f"a.{name(1)}")
    silent.silent_zone = lambda _: name(1)
    zones = silent.parts().storage.sender_zones
    now = int(NOW)
    zones.silence(SENDER, ZoneState(), now - 10, now - 5)
    with pytest.raises(ZoneSilentError):
        silent.parts().pipeline.patient_keys.find(f"nlweb._domainkey.a.{name(1)}")
    assert not zones.read(SENDER).is_silent
    assert zones.read(name(1)) == ZoneState(1, now + 5)


def test_a_claim_that_begins_to_wait_again_is_counted_once(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    [body] = silent.deployed.bodies("WaitingQueue")
    silent.settle(silent.record(body))
    assert len(silent.deployed.bodies("WaitingQueue")) == 2
    assert counted(silent) == 1


# ---- the counts of zones ---------------------------------------------------------------------------------------


def test_a_claim_is_counted_once_in_each_period_in_which_it_waits(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    play(silent, NOW + 2 * DAY)
    counts = silent.parts().storage.sender_zones.read(SENDER).counts
    assert period_of(silent.clock.now) - 1 in counts
    assert set(counts.values()) == {1}
    assert counted(silent) == 1


def test_the_count_of_a_zone_falls_when_its_claims_have_left(silent: PipelineStack) -> None:
    for _ in range(3):
        silent.settle(silent.queued(silent.envelope()))
    play(silent, NOW + DAY)
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    assert play(silent, NOW + WEEK).visible_at == {}
    assert counted(silent) == 3
    silent.clock.now += 2 * PERIOD_SECONDS
    assert counted(silent) == 0


def test_a_zone_that_answers_for_one_name_does_not_empty_its_count_or_that_of_the_zone_above(
    silent: PipelineStack,
) -> None:
    """Whoever holds the zone could otherwise fill the queue by themselves."""
    below = f"a.{name(1)}"
    silence(silent, below)
    silent.silent_zone = lambda _: name(1)
    silent.settle(silent.queued(silent.envelope(sender=below)))
    assert (counted(silent, name(1)), counted(silent)) == (1, 1)
    silent.clock.now += 5
    silent.settle(silent.queued(silent.envelope(sender=f"b.{name(1)}")))
    assert not silent.parts().storage.sender_zones.read(name(1)).is_silent
    assert (counted(silent, name(1)), counted(silent)) == (1, 1)


def test_the_claims_of_a_batch_that_wait_for_a_zone_are_counted_in_one_write(silent: PipelineStack) -> None:
    silent.settle(silent.queued(silent.envelope()))
    silent.clock.now = PERIOD_SECONDS * (period_of(NOW) + 1) - 60
    clients = new_clients()
    waiting_claims = silent.parts(clients).pipeline.waiting_claims
    with pytest.raises(ZoneSilentError):
        waiting_claims.keys.find(SENDER_KEY_NAME)
    body = json.dumps({"key": SENDER_KEY_NAME, "received_at_ms": int(NOW * 1000)})
    records = [WaitingRecord(f"w{number}", body, f"r{number}") for number in range(10)]
    calls = calls_of(clients)
    assert len(waiting_claims.look_again(records)) == 10
    # It is hidden for less than a minute: the period does not end meanwhile.
    assert calls == Counter(ChangeMessageVisibilityBatch=1)
    silent.clock.now += 58
    calls.clear()
    with pytest.raises(ZoneSilentError):
        waiting_claims.keys.find(SENDER_KEY_NAME)
    calls.clear()
    assert len(waiting_claims.look_again(records)) == 10
    assert calls == Counter(ChangeMessageVisibilityBatch=1, UpdateItem=1)
    silent.clock.now += 60
    assert counted(silent) == 10


@pytest.mark.parametrize("error", [NotNowError(STORE_UNAVAILABLE), OurError("access is denied")])
def test_claims_that_cannot_be_counted_wait_and_those_that_were_sent_on_are_done(
    silent: PipelineStack, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    answers = "nlweb._domainkey.answers.com"
    silent.keys.published[answers] = SENDER_KEY.public
    silent.clock.now = PERIOD_SECONDS * (period_of(NOW) + 1) - 2
    records = [
        WaitingRecord(key_name, json.dumps({"key": key_name, "received_at_ms": int(NOW * 1000)}), key_name)
        for key_name in (SENDER_KEY_NAME, answers)
    ]
    monkeypatch.setattr(SenderZones, "count", refuse)
    queue = HiddenMessages(clock=silent.clock)
    waiting_claims = replace(silent.parts().pipeline.waiting_claims, waiting=queue)
    assert waiting_claims.look_again(records) == [SENDER_KEY_NAME]
    assert list(queue.visible_at) == [SENDER_KEY_NAME]
    assert len(silent.deployed.bodies("RetryQueue")) == 1


def test_claims_that_could_not_be_hidden_are_not_counted(silent: PipelineStack) -> None:
    class Refusing(FakeHideQueue):
        def hide(self, seconds: Mapping[str, int]) -> None:
            raise NotNowError(STORE_UNAVAILABLE)

    silent.clock.now = PERIOD_SECONDS * (period_of(NOW) + 1) - 2
    body = json.dumps({"key": SENDER_KEY_NAME, "received_at_ms": int(NOW * 1000)})
    waiting_claims = replace(silent.parts().pipeline.waiting_claims, waiting=Refusing())
    assert waiting_claims.look_again([WaitingRecord("w", body, "r")]) == ["w"]
    silent.clock.now += 2
    assert counted(silent) == 0


def test_a_new_claim_that_cannot_be_counted_waits(silent: PipelineStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    monkeypatch.setattr(SenderZones, "count", refuse)
    silent.settle(silent.queued(silent.envelope()))
    assert len(silent.deployed.bodies("WaitingQueue")) == 1
    assert silent.deployed.bodies("RetryQueue") == []


def test_a_zones_row_keeps_no_counts_that_nobody_reads(stack: PipelineStack) -> None:
    zones = stack.parts().storage.sender_zones
    for day in range(30):
        now = int(NOW) + day * DAY
        zones.count(SENDER, period_of(now), 1, now)
        zones.count(SENDER, period_of(now) + 1, 1, now)
    assert sorted(zones.read(SENDER).counts) == [period_of(now), period_of(now) + 1]


# ---- proven domains, and faults of our own ---------------------------------------------------------------------


def test_a_domain_with_a_proven_key_is_looked_up_for_each_of_its_retries(silent: PipelineStack) -> None:
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    silent.settle(silent.queued(silent.envelope()))
    silent.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    silent.keys.cached.clear()
    assert silent.settle(silent.queued(silent.envelope())).fate is ClaimOutcome.RETRIED
    assert len(silent.deployed.bodies("RetryQueue")) == 1
    assert silent.deployed.bodies("WaitingQueue") == []
    assert not silent.parts().storage.sender_zones.read(SENDER).is_silent


def test_a_claim_that_waits_is_tried_again_by_itself_once_its_domain_is_proven(silent: PipelineStack) -> None:
    """Another selector of the domain proved it; that of the claim is never answered for."""
    silent.settle(silent.queued(silent.envelope()))
    silent.parts().storage.sender_zones.prove(SENDER, int(NOW) + PROVEN_SECONDS)
    assert play(silent, NOW + 3600).visible_at == {}
    assert len(silent.deployed.bodies("RetryQueue")) == 1


@pytest.mark.usefixtures("limits")
def test_beyond_the_limit_the_inbox_takes_messages_of_a_proven_domain_only_if_its_key_is_found(
    silent: PipelineStack,
) -> None:
    """Its server may answer for the domain, and for none of its keys: then it never falls silent."""
    storage = silent.parts().storage
    storage.sender_zones.prove(SENDER, int(NOW) + PROVEN_SECONDS)
    for _ in range(3):
        assert silent.post(silent.envelope()).status == 200
        silent.settle(silent.queued(silent.envelope()))
    assert (counted(silent), storage.retry_queue.length()) == (3, 3)
    assert silent.post(silent.envelope()).reason is SENDER_DNS_SILENT
    # A claim that is tried again is not counted again.
    retried = [silent.record(body) for body in silent.deployed.bodies("RetryQueue")]
    silent.work(*retried)
    assert counted(silent) == 3
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    assert silent.post(silent.envelope()).status == 200


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize(("others", "refused"), [(4, False), (5, True)])
def test_very_many_claims_below_its_registrable_domain_keep_a_proven_domain_out_unless_its_key_is_found(
    silent: PipelineStack, others: int, refused: bool
) -> None:
    """Whoever has a domain proves any number of names below it."""
    zones = silent.parts().storage.sender_zones
    zones.prove(name(1), int(NOW) + DAY)
    zones.count(SENDER, period_of(NOW), others, int(NOW))
    for _ in range(3):
        silent.parts().storage.retry_queue.send("{}")
    assert silent.post(silent.envelope(sender=name(1))).status == (503 if refused else 200)


@pytest.mark.usefixtures("limits")
def test_near_what_sqs_can_hide_no_key_admits_a_proven_domain_for_which_too_many_claims_wait(
    silent: PipelineStack,
) -> None:
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    silent.parts().storage.sender_zones.prove(SENDER, int(NOW) + DAY)
    fill(silent, "one.com", 10)
    silent.parts().storage.sender_zones.count(SENDER, period_of(NOW), 3, int(NOW))
    assert silent.post(silent.envelope()).status == 200
    silent.parts().storage.waiting_queue.send("{}")
    silent.clock.now += 11
    assert silent.post(silent.envelope()).reason is SENDER_DNS_SILENT


def test_a_proven_domain_that_is_silent_for_an_hour_waits_as_others_do(silent: PipelineStack) -> None:
    zones = silent.parts().storage.sender_zones
    zones.prove(SENDER, int(NOW) + PROVEN_SECONDS)
    for second in (0, 900, PROVEN_SILENT_SECONDS - 1):
        silent.clock.now = NOW + second
        silent.settle(silent.queued(silent.envelope()))
        assert silent.deployed.bodies("WaitingQueue") == []
    assert not zones.read(SENDER).is_silent
    silent.clock.now = NOW + PROVEN_SILENT_SECONDS
    silent.settle(silent.queued(silent.envelope()))
    assert len(silent.deployed.bodies("WaitingQueue")) == 1
    assert zones.read(SENDER).is_silent


@pytest.mark.parametrize("answer", [SENDER_KEY.public, TheirError(KEY_NOT_FOUND)], ids=["key", "no key"])
def test_a_proven_domain_that_answers_again_is_not_silent(
    silent: PipelineStack, answer: PublicKey | TheirError
) -> None:
    zones = silent.parts().storage.sender_zones
    proven_until = int(NOW) + PROVEN_SECONDS
    zones.prove(SENDER, proven_until)
    silent.settle(silent.queued(silent.envelope()))
    assert zones.proof(SENDER) == DomainProof(proven_until, int(NOW))
    silent.clock.now += 2 * PROVEN_SILENT_SECONDS
    silent.keys.published[SENDER_KEY_NAME] = answer
    silent.settle(silent.queued(silent.envelope()))
    proof = zones.proof(SENDER)
    assert proof.silent_since is None
    assert proof.until >= proven_until


@pytest.mark.parametrize(
    ("reason", "silent_zone"),
    [(KEY_LOOKUP_FAILED, None), (DNSSEC_TOO_COSTLY, SENDER)],
    ids=["the domain answers", "too costly"],
)
def test_a_name_that_fails_does_not_make_its_proven_domain_silent(
    silent: PipelineStack, reason: Reason, silent_zone: str | None
) -> None:
    """A stranger chooses the selector."""
    zones = silent.parts().storage.sender_zones
    zones.prove(SENDER, int(NOW) + PROVEN_SECONDS)
    silent.silent_zone = lambda _: silent_zone
    silent.keys.published[SENDER_KEY_NAME] = NotNowError(reason)
    for hour in range(3):
        silent.clock.now = NOW + 3600 * hour
        silent.settle(silent.queued(silent.envelope()))
    assert silent.deployed.bodies("WaitingQueue") == []
    assert zones.proof(SENDER).silent_since is None


def test_a_look_up_that_fails_because_of_our_own_resolvers_is_taken_back(silent: PipelineStack) -> None:
    zones, now = silent.parts().storage.sender_zones, int(NOW)
    zones.silence(SENDER, ZoneState(), now - 10, now - 5)
    silent.silent_zone = lambda _: None
    silent.settle(silent.queued(silent.envelope()))
    assert zones.read(SENDER) == ZoneState(1, now + LOOK_UP_SECONDS)


def test_that_a_domain_is_silent_is_recorded_only_of_a_proven_one_and_once(silent: PipelineStack) -> None:
    zones, now = silent.parts().storage.sender_zones, int(NOW)
    zones.fall_silent(SENDER, now)
    assert zones.proof(SENDER) == DomainProof()
    zones.prove(SENDER, now + DAY)
    zones.fall_silent(SENDER, now)
    zones.fall_silent(SENDER, now + 900)
    assert zones.proof(SENDER) == DomainProof(now + DAY, now)


def test_a_proof_is_recorded_with_one_write_in_45_days(stack: PipelineStack) -> None:
    clients = new_clients()
    calls = calls_of(clients)
    for day in range(60):
        stack.clock.now = NOW + day * DAY
        stack.keys.cached.clear()
        stack.parts(clients).pipeline.patient_keys.find(SENDER_KEY_NAME)
    assert calls == Counter(GetItem=60 + 1, UpdateItem=2)  # the first look-up also reads the zone
    assert stack.parts().storage.sender_zones.proof(SENDER).until > NOW + PROVEN_SECONDS


def test_a_key_in_memory_takes_no_request(stack: PipelineStack) -> None:
    clients = new_clients()
    keys = stack.parts(clients).pipeline.patient_keys
    keys.find(SENDER_KEY_NAME)
    calls = calls_of(clients)
    assert keys.find(SENDER_KEY_NAME).cached
    assert calls == {}


def test_a_fault_of_our_own_resolvers_makes_no_zone_silent(silent: PipelineStack) -> None:
    silent.silent_zone = lambda _: None
    silent.settle(silent.queued(silent.envelope()))
    assert len(silent.deployed.bodies("RetryQueue")) == 1
    assert silent.parts().storage.sender_zones.read(SENDER) == ZoneState()


def test_a_domain_that_is_too_costly_waits_as_a_silent_one_does(silent: PipelineStack) -> None:
    silent.silent_zone = lambda _: None
    silent.keys.published[SENDER_KEY_NAME] = NotNowError(DNSSEC_TOO_COSTLY)
    assert silent.settle(silent.queued(silent.envelope())).reason is DNSSEC_TOO_COSTLY
    play(silent, NOW + 2 * WEEK)
    assert len(silent.keys.lookups) <= 40


# ---- the inbox -------------------------------------------------------------------------------------------------


def fill(stack: PipelineStack, zone: str, number: int) -> None:
    """So many claims wait for a zone, which was looked up just now."""
    storage, now = stack.parts().storage, int(stack.clock.now)
    storage.sender_zones.silence(zone, ZoneState(), now, now + LONGEST_SECONDS)
    storage.sender_zones.count(zone, period_of(now), number, now)
    for _ in range(number):
        storage.waiting_queue.send("{}")


@pytest.fixture
def limits(silent: PipelineStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones, in the same order. What was accepted before a message has been judged, and does not wait."""
    post, sqs, queue = silent.post, silent.deployed.clients.sqs, silent.deployed.queues["ClaimsQueue"]

    def post_after_others(body: bytes) -> HttpResponse:
        while claims := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            for claim in claims:
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=claim["ReceiptHandle"])
        return post(body)

    monkeypatch.setattr(silent, "post", post_after_others)
    monkeypatch.setattr(silent_zones, "MAX_WAITING_OF_ZONE", 3)
    monkeypatch.setattr(silent_zones, "MAX_WAITING", 5)
    monkeypatch.setattr(silent_zones, "SCARCE_WAITING", 7)
    monkeypatch.setattr(silent_zones, "MAX_WAITING_OF_NEW_ZONES", 9)
    monkeypatch.setattr(silent_zones, "MOST_WAITING", 11)


@pytest.mark.usefixtures("limits")
def test_beyond_the_limit_the_inbox_takes_no_message_of_a_silent_zone(silent: PipelineStack) -> None:
    silent.operators.put_wallet("125a5c75-cb72-43d2-9695-37026dfcaa48", SENDER_KEY.public.spki())
    fill(silent, SENDER, 2)
    assert silent.post(silent.envelope(sender=name(1))).status == 200
    fill(silent, SENDER, 1)
    refused = silent.post(silent.envelope(sender=name(1)))
    assert (refused.status, refused.reason) == (503, SENDER_DNS_SILENT)
    assert "Retry-After" in refused.headers
    # Others are not concerned: another zone, a proven domain below this one, a wallet.
    assert silent.post(silent.envelope(sender="other.com")).status == 200
    silent.parts().storage.sender_zones.prove(name(2), int(NOW) + DAY)
    assert silent.post(silent.envelope(sender=name(2))).status == 200
    assert silent.post(silent.envelope(sender="125a5c75-cb72-43d2-9695-37026dfcaa48")).status == 200
    # Once the zone is due, a message is accepted that asks it.
    silent.clock.now += LONGEST_SECONDS
    assert silent.post(silent.envelope(sender=name(1))).status == 200


@pytest.mark.usefixtures("limits")
def test_beyond_the_limit_for_all_the_inbox_takes_no_message_of_any_silent_zone(silent: PipelineStack) -> None:
    fill(silent, "one.com", 2)
    fill(silent, "two.com", 2)
    assert silent.post(silent.envelope(sender="one.com")).status == 200
    fill(silent, "three.com", 1)
    assert silent.post(silent.envelope(sender="one.com")).reason is SENDER_DNS_SILENT
    assert silent.post(silent.envelope(sender="four.com")).status == 200


@pytest.mark.usefixtures("limits")
def test_claims_that_are_visible_delayed_or_hidden_wait(silent: PipelineStack) -> None:
    fill(silent, "one.com", 3)
    silent.parts().storage.waiting_queue.send("{}", 900)
    silent.deployed.clients.sqs.receive_message(QueueUrl=silent.deployed.queues["WaitingQueue"], VisibilityTimeout=99)
    assert silent.post(silent.envelope(sender=name(1))).status == 200
    fill(silent, SENDER, 1)
    assert silent.post(silent.envelope(sender=name(1))).reason is SENDER_DNS_SILENT


@pytest.mark.usefixtures("limits")
def test_new_senders_are_refused_only_until_the_forged_claims_have_left_the_queue(silent: PipelineStack) -> None:
    silence(silent, "new.com")
    fill(silent, "one.com", 9)
    clients = new_clients()
    inbox = silent.parts(clients).pipeline.silent_senders
    with pytest.raises(NotNowError):
        inbox.admit("nlweb._domainkey.new.com")
    silent.deployed.empty("WaitingQueue")
    silent.clock.now += 11
    inbox.admit("nlweb._domainkey.new.com")
    inbox.admit("nlweb._domainkey.one.com")


@pytest.mark.usefixtures("limits")
def test_a_queue_that_cannot_be_read_refuses_nobody_and_is_asked_again_in_ten_seconds(silent: PipelineStack) -> None:
    fill(silent, SENDER, 9)
    asked = [NotNowError(STORE_UNAVAILABLE)] * 2

    def length() -> int:
        if asked:
            raise asked.pop()
        return 9

    storage = silent.parts().storage
    inbox = silent_zones.SilentSenders(silent.keys, storage.sender_zones, length, lambda _: [SENDER], silent.clock)
    for second in range(20):
        silent.clock.now = NOW + second
        inbox.admit(SENDER_KEY_NAME)
    assert asked == []
    silent.clock.now += 1
    with pytest.raises(NotNowError) as error:
        inbox.admit(SENDER_KEY_NAME)
    assert error.value.reason is SENDER_DNS_SILENT


@pytest.mark.usefixtures("limits")
def test_a_server_that_is_silent_for_each_name_as_for_a_zone_fills_the_limit_of_all_for_its_own_names(
    silent: PipelineStack,
) -> None:
    fill(silent, "other.com", 2)
    for number in range(3):
        silence(silent, name(number))
        silent.silent_zone = lambda domain: domain
        assert silent.post(silent.envelope(sender=name(number))).status == 200
        silent.settle(silent.queued(silent.envelope(sender=name(number))))
    zones = silent.parts().storage.sender_zones
    assert (counted(silent), silent.parts().storage.waiting_queue.length()) == (3, 5)
    silence(silent, name(99))
    refused = silent.post(silent.envelope(sender=name(99)))
    assert (refused.status, refused.reason) == (503, SENDER_DNS_SILENT)
    # The domain itself is not silent, and others are not concerned.
    assert silent.post(silent.envelope(sender=SENDER)).status == 200
    assert silent.post(silent.envelope(sender="below.third.com")).status == 200
    zones.prove(name(98), int(NOW) + DAY)
    assert silent.post(silent.envelope(sender=name(98))).status == 200


@pytest.mark.usefixtures("limits")
def test_far_beyond_the_limit_the_inbox_takes_messages_only_of_domains_that_are_proven_or_answer(
    silent: PipelineStack,
) -> None:
    fill(silent, "one.com", 8)
    assert silent.post(silent.envelope(sender="new.com")).status == 200
    fill(silent, "two.com", 1)
    silence(silent, "new.com")
    assert silent.post(silent.envelope(sender="new.com")).reason is SENDER_DNS_SILENT
    silent.parts().storage.sender_zones.prove("new.com", int(NOW) + DAY)
    assert silent.post(silent.envelope(sender="new.com")).status == 200


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("others", [{SENDER: 3, "one.com": 2}, {"one.com": 9}], ids=["below its domain", "in all"])
def test_a_new_sender_whose_key_is_found_at_once_is_not_refused_because_of_the_claims_of_others(
    silent: PipelineStack, others: dict[str, int]
) -> None:
    """Forged claims whose zones never answer wait for a week."""
    for zone, number in others.items():
        fill(silent, zone, number)
    silent.clock.now += LONGEST_SECONDS
    for new, found in ((name(1), SENDER_KEY.public), (name(2), TheirError(KEY_NOT_FOUND))):
        silent.keys.published[f"nlweb._domainkey.{new}"] = found
    assert silent.post(silent.envelope(sender=name(1))).status == 200
    # This one would be discarded, if its DNS still answers when the worker asks.
    assert silent.post(silent.envelope(sender=name(2))).reason is SENDER_DNS_SILENT


@pytest.mark.usefixtures("limits")
def test_a_key_that_is_found_does_not_admit_a_sender_whose_zone_is_silent(silent: PipelineStack) -> None:
    silent.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    fill(silent, SENDER, 5)
    assert silent.post(silent.envelope()).reason is SENDER_DNS_SILENT
    assert silent.keys.lookups == []


@pytest.mark.usefixtures("limits")
def test_near_what_sqs_can_hide_no_key_admits_a_domain_for_which_claims_wait(silent: PipelineStack) -> None:
    for domain in ("new.com", "third.com"):
        silent.keys.published[f"nlweb._domainkey.{domain}"] = SENDER_KEY.public
    fill(silent, "one.com", 11)
    silent.parts().storage.sender_zones.count("new.com", period_of(NOW), 1, int(NOW))
    assert silent.post(silent.envelope(sender="new.com")).reason is SENDER_DNS_SILENT
    assert silent.keys.lookups == []
    assert silent.post(silent.envelope(sender="third.com")).status == 200, "none waits for it"
    silent.parts().storage.sender_zones.prove("new.com", int(NOW) + DAY)
    assert silent.post(silent.envelope(sender="new.com")).status == 200


@pytest.mark.usefixtures("limits")
def test_when_room_is_scarce_one_waiting_claim_keeps_out_new_senders_below_its_domain(silent: PipelineStack) -> None:
    """So further claims take as many registered domains that do not answer."""
    silence(silent, name(1))
    fill(silent, SENDER, 1)
    fill(silent, "one.com", 5)
    silent.clock.now += LONGEST_SECONDS  # both zones are due
    assert silent.post(silent.envelope(sender=name(1))).status == 200
    fill(silent, "two.com", 1)
    assert silent.post(silent.envelope(sender=name(1))).reason is SENDER_DNS_SILENT
    # Those of other domains are taken, and what asks a zone that is due.
    assert silent.post(silent.envelope(sender="below.third.com")).status == 200
    assert silent.post(silent.envelope(sender=SENDER)).status == 200
    silent.parts().storage.sender_zones.prove(name(2), int(NOW) + DAY)
    assert silent.post(silent.envelope(sender=name(2))).status == 200


@pytest.mark.usefixtures("limits")
def test_a_proven_domain_that_is_silent_for_an_hour_is_refused_as_others_are(silent: PipelineStack) -> None:
    zones = silent.parts().storage.sender_zones
    zones.prove(SENDER, int(NOW) + DAY)
    zones.fall_silent(SENDER, int(NOW) - PROVEN_SILENT_SECONDS)
    fill(silent, SENDER, 3)
    assert silent.post(silent.envelope()).reason is SENDER_DNS_SILENT


def test_usually_the_inbox_asks_each_of_four_queues_once_in_ten_seconds_and_reads_no_row(stack: PipelineStack) -> None:
    clients = new_clients()
    inbox = stack.parts(clients).pipeline.silent_senders
    calls = calls_of(clients)
    for second in range(30):
        stack.clock.now = NOW + second
        inbox.admit(SENDER_KEY_NAME)
    assert calls == Counter(GetQueueAttributes=12)


def test_claims_that_are_not_judged_yet_count_because_they_may_be_about_to_wait(
    silent: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forged ones come faster than the worker judges them."""
    monkeypatch.setattr(silent_zones, "MAX_WAITING_OF_ZONE", 1)
    monkeypatch.setattr(silent_zones, "MAX_WAITING_OF_NEW_ZONES", 3)
    silence(silent, "new.com")
    for number in range(3):
        assert silent.post(silent.envelope(sender=f"a{number}.com")).status == 200
    silent.clock.now += 11
    assert silent.post(silent.envelope(sender="new.com")).reason is SENDER_DNS_SILENT


def test_a_queue_that_cannot_be_asked_for_good_refuses_nobody(silent: PipelineStack) -> None:
    """The right or the queue is missing."""
    silent.deployed.clients.sqs.delete_queue(QueueUrl=silent.deployed.queues["WaitingQueue"])
    assert silent.post(silent.envelope(sender="new.com")).status == 200
