"""The handler of dead letters of the claims queue, which SQS would delete silently after 14 days.

It runs on a schedule and reads the dead letters. It discards those near the horizon with the reason `Undeliverable`.
Younger ones stay in the queue, for an operator to look at and to redrive.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.reasons import UNDELIVERABLE
from postroom.net.aws_errors import our_own_fault
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_objects import ClaimObjects
from postroom.pipeline.claims import Claim, QueuedClaim, describe, unpack
from postroom.pipeline.discarding import Discarding
from postroom.pipeline.outcomes import Outcome, attempt
from postroom.pipeline.verdicts import Discarded, given_up
from postroom.storage.aws.object_store import ObjectStore

ROUND_SECONDS: Final = 40
"""A round ends before the function's time-out. The next round reads what is left."""
DEAD_LETTERS_AT_ONCE: Final = 10
LOOKED_AT_SECONDS: Final = 300
"""A dead letter that stays is not received again in the same round, and is visible again before the next one."""
_DEAD_LETTER: Final = "it became a dead letter"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter, as SQS hands it out."""

    receipt_handle: str
    body: str


@dataclass(frozen=True, slots=True)
class DecidedDeadLetters:
    """The result of a round. `decided`: receipt handles that may be deleted. `waiting`: claims that stay, if readable.

    `unreadable`: dead letters that are not claims; they stay, too.
    """

    decided: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    waiting: tuple[Claim, ...]
    unreadable: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeadLetterHandler:
    """Discards dead letters whose claims are near the horizon."""

    discarding: Discarding
    objects: ObjectStore
    claim_objects: ClaimObjects
    clock: Clock
    horizon_seconds: int
    margin_seconds: int

    def keep(self, dead_letters: Sequence[DeadLetter]) -> DecidedDeadLetters:
        """Discard the dead letters that are near the horizon, and keep the others."""
        decided, outcomes, waiting, unreadable = [], [], [], 0
        for dead_letter in dead_letters:
            try:
                queued = self.read(dead_letter.body)
            except NotNowError:
                continue
            except Exception as error:
                if our_own_fault(error):
                    continue
                _log.exception("a dead letter could not be read")
                unreadable += 1
                continue
            claim = queued.claim
            if self.clock() * 1000 - claim.received_at_ms < (self.horizon_seconds - self.margin_seconds) * 1000:
                waiting.append(claim)
                continue
            outcome = self.discard(queued)
            if not outcome.is_decided:
                waiting.append(claim)
                continue
            outcomes.append(outcome)
            decided.append(dead_letter.receipt_handle)
        return DecidedDeadLetters(tuple(decided), tuple(outcomes), tuple(waiting), unreadable)

    def read(self, body: str) -> QueuedClaim:
        """The claim in a dead letter; its object is not read.

        Raises NotNowError(STORE_UNAVAILABLE), and ValueError or KeyError if it is not a claim.
        """
        # An object is not read: S3 may deny it, which must not be taken for its absence.
        return describe(body) or unpack(body, self.objects)

    def complete(self, queued: QueuedClaim) -> QueuedClaim:
        """The claim with its envelope, which stays empty if its object is gone.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        return unpack(queued.body(), self.objects)

    def discard(self, queued: QueuedClaim) -> Outcome:
        """Discard a claim that is not decided yet as Undeliverable, and tell its sender if it asked for Feedback."""
        verdict = _undeliverable(queued)
        outcome = attempt(queued.claim, lambda: self.discarding.discard(queued.claim, verdict))
        if outcome.is_decided:
            self.claim_objects.delete(queued, outcome)
        return outcome


def _undeliverable(queued: QueuedClaim) -> Discarded:
    pointer = queued.pointer
    if pointer is None or pointer.is_bare:
        return given_up(queued.claim, UNDELIVERABLE, _DEAD_LETTER)
    request = pointer.feedback_request
    return Discarded(UNDELIVERABLE, _DEAD_LETTER, request.correlation if request else "", request)
