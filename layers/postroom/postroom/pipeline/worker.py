"""The worker: judges a batch of claims, files accepted messages, and tells the courier about discards.

A claim leaves the queue only when its message's home row is live, or is gone and (if the message was discarded) the
courier was told. A retry is sent to the retry queue with a growing delay; it is never delayed by a visibility timeout.

A batch is judged in passes. The first one takes only what is in memory, so no claim waits for the servers of another
one's sender. Claims that need longer look-ups than their run has time for are sent to a queue of their own, unchanged.
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.side_by_side import MAY_NOT_WAIT_SECONDS, side_by_side
from postroom.net.aws_errors import stack_of
from postroom.outbound.ports import Clock, SendQueue
from postroom.pipeline.claim_details import Protocol
from postroom.pipeline.claim_objects import ClaimObjects
from postroom.pipeline.claims import Claim, Pointer, QueuedClaim, unpack
from postroom.pipeline.discarding import Discarding
from postroom.pipeline.filing import Filing
from postroom.pipeline.look_ups import (
    A_SECOND,
    A_SECOND_SPARINGLY,
    MEMORY_ONLY,
    UNLIMITED,
    LookUpNeededError,
    LookUps,
    Patience,
)
from postroom.pipeline.notification_trigger import NotificationTrigger
from postroom.pipeline.outcomes import ClaimOutcome, Outcome, attempt
from postroom.pipeline.silence import Silence
from postroom.pipeline.verdicts import Accepted, Discarded, Judge, Retry, Verdict
from postroom.pipeline.waiting_counts import Wait, count_waits
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.aws.queue import LONGEST_DELAY_SECONDS
from postroom.storage.limits.sender_zones import SenderZones

SUSPECT_AFTER: Final = 3
"""A claim that was received this often without a result moves to a queue of its own, so that it cannot fail others."""
SLICE_BYTES: Final = 8 * 1024 * 1024
"""The bytes of envelopes that are read at once; usually the whole batch.

Hostile JSON takes 30 times its length in memory, and claims behind a pointer do not count towards Lambda's size limit
of a batch.
"""
BEGIN_SECONDS: Final = 60
"""After this time no further part of a batch is begun; what is left waits for another run.

A run that is killed finishes nothing, and all claims of its batch soon become suspects.
"""
_FIRST_DELAY_SECONDS: Final = 5
_log: Final = logging.getLogger(__name__)


class Source(Enum):
    """The queue of a batch. `CLAIMS`: that of claims, or of retries. Suspects come one by one."""

    CLAIMS = "claims"
    LOOK_UPS = "look-ups"
    SUSPECTS = "suspects"


PASSES: Final[Mapping[Source, Sequence[Patience]]] = {
    Source.CLAIMS: (MEMORY_ONLY, A_SECOND_SPARINGLY),
    Source.LOOK_UPS: (MEMORY_ONLY, A_SECOND, UNLIMITED),
    Source.SUSPECTS: (UNLIMITED,),
}
"""What each pass through a batch has for look-ups."""


@dataclass(frozen=True, slots=True)
class Record:
    """One queue message, as SQS delivers it. `received`: how many times it was delivered.

    `group`: its message group, chosen by the inbox (`storage.layout.sender_group`). It stays the same wherever the
    message is sent from here.
    """

    message_id: str
    body: str
    received: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch. `failed`: message ids that SQS must deliver again. `suspected`: moved to the suspects'
    queue.

    `postponed`: claims that wait for another run, unchanged. `to_look_up`: those that were sent to the queue of
    look-ups.
    """

    outcomes: tuple[Outcome, ...]
    failed: tuple[str, ...]
    suspected: int
    postponed: int
    to_look_up: int = 0


@dataclass(frozen=True, slots=True)
class _ReceivedClaim:
    record: Record
    queued: QueuedClaim

    @property
    def claim(self) -> Claim:
        return self.queued.claim


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worker:
    """Processes claims. `monotonic`: a clock in seconds that is never set back; `clock`: epoch seconds."""

    judges: Mapping[Protocol, Judge]
    filing: Filing
    discarding: Discarding
    notification_trigger: NotificationTrigger
    objects: ObjectStore
    claim_objects: ClaimObjects
    retry: SendQueue
    suspects: SendQueue
    waiting: SendQueue
    to_look_up: SendQueue
    zones: SenderZones
    look_ups: LookUps
    pool: Executor
    clock: Clock
    monotonic: Clock

    def work(self, records: Sequence[Record], source: Source = Source.CLAIMS) -> BatchReport:
        """Process one batch.

        Raises nothing that concerns a single claim: such a claim is reported as failed, and delivered again.
        """
        failed: list[str] = []
        outcomes: list[Outcome] = []
        part: list[_ReceivedClaim] = []
        suspected = postponed = held = to_look_up = 0
        passes = PASSES[source]
        until = self.monotonic() + BEGIN_SECONDS
        for record in records:
            try:
                # Sent on unread: even a claim that cannot be read must not fail the others.
                if record.received >= SUSPECT_AFTER and source is not Source.SUSPECTS:
                    self.suspects.send(record.body, group=record.group)
                    suspected += 1
                    continue
                if not part and self.monotonic() > until:
                    self.retry.send(record.body, group=record.group)
                    postponed += 1
                    continue
                part.append(_ReceivedClaim(record, unpack(record.body, self.objects)))
                held += _memory_of(part[-1])
            except Exception as error:
                # It is unreadable for now, or not ours: SQS delivers it again, and in the end moves it to the dead
                # letters.
                _log.error("message %s could not be read, or sent on", record.message_id, exc_info=stack_of(error))
                failed.append(record.message_id)
            if held > SLICE_BYTES:
                to_look_up += self._finish(part, passes, outcomes, failed)
                part, held = [], 0
                if source is Source.CLAIMS:
                    # The second is the batch's: of a later part, what is not in memory is sent on.
                    passes = (MEMORY_ONLY,)
        to_look_up += self._finish(part, passes, outcomes, failed)
        return BatchReport(tuple(outcomes), tuple(failed), suspected, postponed, to_look_up)

    def _finish(
        self,
        part: Sequence[_ReceivedClaim],
        passes: Sequence[Patience],
        outcomes: list[Outcome],
        failed: list[str],
    ) -> int:
        """Process a part of a batch, and keep only the results, without the envelopes.

        Returns how many claims were sent to the queue of look-ups.
        """
        undecided = part
        for patience in passes:
            self.look_ups.allow(patience)
            settled = self._settle(undecided)
            done = [item for item in undecided if item.claim.id in settled]
            undecided = [item for item in undecided if item.claim.id not in settled]
            self._report(done, settled, outcomes, failed)
            if not undecided:
                break
        self.look_ups.allow(UNLIMITED)
        unsent = [item for item in undecided if not self._send_to_look_up(item)]
        failed += [item.record.message_id for item in unsent]
        return len(undecided) - len(unsent)

    def _report(
        self,
        done: Sequence[_ReceivedClaim],
        settled: Mapping[str, Outcome],
        outcomes: list[Outcome],
        failed: list[str],
    ) -> None:
        large = list({item.claim.id: item.queued for item in done if item.queued.pointer}.values())
        side_by_side(self.pool, lambda queued: self.claim_objects.delete(queued, settled[queued.claim.id]), large)
        for item in done:
            outcome = settled[item.claim.id]
            outcomes.append(replace(outcome, claim=replace(outcome.claim, envelope="")))
            if not self._retry(item, outcome):
                failed.append(item.record.message_id)

    def _send_to_look_up(self, item: _ReceivedClaim) -> bool:
        """Send a claim on, unchanged; False: that failed, so that SQS must deliver it again."""
        try:
            self.to_look_up.send(item.record.body, group=item.record.group)
        except Exception as error:
            # Whatever the error is, it must not fail the other claims, which are done.
            _log.error("claim %s could not be sent to the queue of look-ups", item.claim.id, exc_info=stack_of(error))
            return False
        return True

    def _settle(self, part: Sequence[_ReceivedClaim]) -> dict[str, Outcome]:
        """The outcome of each claim that can be judged in this pass, by its id. A claim that is in the batch twice is
        processed once.
        """
        queued = list({item.claim.id: item.queued for item in part}.values())
        # Few claims have to wait: most keys are in memory.
        verdicts = side_by_side(self.pool, self._verdict, queued, patience_seconds=MAY_NOT_WAIT_SECONDS)
        judged = [(each.claim, verdict) for each, verdict in zip(queued, verdicts, strict=True)]
        outcomes = self.filing.file([(c, v) for c, v in judged if isinstance(v, Accepted)])
        bad = [(c, v) for c, v in judged if isinstance(v, Discarded)]
        outcomes += side_by_side(self.pool, self._discard, bad)
        outcomes += [v for _, v in judged if isinstance(v, Outcome)]
        # One claim of each mailbox is enough: if its notification fails, that claim is delivered again, and tries
        # again.
        listed = {outcome.listed_in: outcome for outcome in outcomes if outcome.listed_in}
        outcomes += side_by_side(self.pool, self._trigger, list(listed.values()))
        return {outcome.claim.id: outcome for outcome in outcomes}

    def _verdict(self, queued: QueuedClaim) -> Accepted | Discarded | Outcome | None:
        """The verdict on a claim; None: this pass has no time for a look-up that it needs."""
        claim, pointer = queued.claim, queued.pointer
        if pointer and pointer.is_gone:
            return attempt(claim, lambda: self._decide_by_row(claim, pointer))
        verdict = attempt(claim, lambda: self._judge(claim))
        if isinstance(verdict, Retry):
            return Outcome(claim, ClaimOutcome.RETRIED, verdict.reason, verdict.detail, silence=verdict.silence)
        return verdict

    def _judge(self, claim: Claim) -> Verdict | None:
        try:
            return self.judges[claim.protocol].judge(claim)
        except LookUpNeededError:
            return None

    def _decide_by_row(self, claim: Claim, pointer: Pointer) -> Outcome:
        """The outcome of a claim whose object is gone, because it was decided before."""
        outcome = self.filing.decide_by_row(claim, pointer.feedback_request)
        if outcome is None:
            # Only after its row is written is an object deleted. So this is an error: S3 says which one.
            self.objects.get(pointer.name)
            raise NotNowError(STORE_UNAVAILABLE)
        return outcome

    def _discard(self, discarded: tuple[Claim, Discarded]) -> Outcome:
        return attempt(discarded[0], lambda: self.discarding.discard(*discarded))

    def _trigger(self, outcome: Outcome) -> Outcome:
        def triggered() -> Outcome:
            self.notification_trigger.trigger(outcome.listed_in)
            return outcome

        return attempt(outcome.claim, triggered, outcome.correlation)

    def _retry(self, item: _ReceivedClaim, outcome: Outcome) -> bool:
        """Send the claim to the retry queue if it is to be retried.

        False: that failed, or the fault is ours, so that SQS must deliver the claim again.
        """
        if outcome.fate is not ClaimOutcome.RETRIED:
            return outcome.fate is not ClaimOutcome.STUCK
        try:
            if outcome.silence and not outcome.silence.is_proven:
                self._let_wait(item, outcome.silence)
            else:
                delay = retry_delay(item.queued.tries)
                self.retry.send(item.queued.again().body(), delay, group=item.record.group)
                if outcome.silence:
                    self._count(Wait(outcome.silence, delay, begins=not item.queued.tries))
        except Exception as error:
            # Whatever the error is, it must not fail the other claims, which are done.
            _log.error("claim %s could not be sent to another try", item.claim.id, exc_info=stack_of(error))
            return False
        return True

    def _let_wait(self, item: _ReceivedClaim, silence: Silence) -> None:
        """Send the claim to the waiting queue, counted among those that wait for its sender's zone."""
        body = item.queued.awaiting(silence.key_name).body()
        delay = min(max(silence.due - int(self.clock()), 0), LONGEST_DELAY_SECONDS)
        self.waiting.send(body, delay, group=item.record.group)
        self._count(Wait(silence, delay, begins=not item.queued.awaited_key))

    def _count(self, wait: Wait) -> None:
        count_waits(self.zones, self.pool, [wait], self.clock())


def _memory_of(item: _ReceivedClaim) -> int:
    """The bytes of memory that an envelope takes: one character beyond ASCII may make the string four times larger."""
    return sys.getsizeof(item.claim.envelope)


def retry_delay(tries: int) -> int:
    """Seconds to wait before the next attempt: 5, 15, 45 … at most the longest delay of SQS."""
    return int(min(_FIRST_DELAY_SECONDS * 3 ** min(tries, 10), LONGEST_DELAY_SECONDS))
