"""The findings of an audit: the end of every row and claim, and the problems. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.storage.audit.evidence import AuditEvidence, PostRow
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.mail.register import ACKED, DUPLICATE, EXPIRED, FORWARDED


class AuditOutcome(StrEnum):
    """The end of an accepted message."""

    FILED = "filed"
    ACKNOWLEDGED = "acknowledged"
    FORWARDED = "forwarded"
    EXPIRED = "expired"
    """It expired, or its mailbox was closed long ago.

    Also a live row whose TTL is over: nobody is shown it, and this TTL was set by somebody else.
    """
    DISCARDED = "discarded"
    COPY = "copy"
    """Its message has the row of another claim, or was answered as a synchronous request."""
    FORGOTTEN = "forgotten"
    """It is so old that its row may have been deleted."""
    WAITING = "waiting"
    LOST = "lost"


ENDS_OF_ROWS: Final = (
    AuditOutcome.FILED,
    AuditOutcome.ACKNOWLEDGED,
    AuditOutcome.FORWARDED,
    AuditOutcome.EXPIRED,
    AuditOutcome.DISCARDED,
    AuditOutcome.COPY,
)
_GONE: Final = {
    ACKED: AuditOutcome.ACKNOWLEDGED,
    FORWARDED: AuditOutcome.FORWARDED,
    DUPLICATE: AuditOutcome.COPY,
    **dict.fromkeys(EXPIRED, AuditOutcome.EXPIRED),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem. `where`: the row, claim or key; `detail`: what was found there."""

    problem: AuditProblem
    where: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What an audit found.

    `accepted`: the ends of the claims in the ledger; None: there was no ledger. `rows`: the ends of all rows;
    `discarded`: of the discarded ones, by reason. `answered`, `unanswered`: synchronous requests (which are in no
    ledger) whose reply is remembered, and those that failed or died, and are executed again if they are repeated.
    `feedback_settled`: discards that need no more Feedback; `feedback_begun`: whose Feedback may not have arrived.
    `not_in_ledger`: rows without a line in the ledger, including those from before and after its time.
    """

    evidence: AuditEvidence
    accepted: Mapping[AuditOutcome, int] | None
    rows: Mapping[AuditOutcome, int]
    discarded: Mapping[str, int]
    answered: int
    unanswered: int
    feedback_settled: int
    feedback_begun: int
    not_in_ledger: int
    problems: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Whether there are no problems; there may be notes."""
        return not self.wrong

    @property
    def wrong(self) -> int:
        """The number of problems, without the notes."""
        return sum(finding.problem.grave for finding in self.problems)

    def count(self, problem: AuditProblem) -> int:
        """The number of findings of one problem."""
        return sum(finding.problem is problem for finding in self.problems)


def end_of(evidence: AuditEvidence, standing: PostRow) -> AuditOutcome:
    """The end that a row shows."""
    if standing.row.live:
        return AuditOutcome.EXPIRED if evidence.is_over(standing.ttl) else AuditOutcome.FILED
    return _GONE.get(standing.row.why, AuditOutcome.DISCARDED)
