"""The findings of an audit: the end of every row and claim, and the problems. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.storage.audit.evidence import Evidence, Standing
from postroom.storage.audit.problems import Problem
from postroom.storage.mail.register import ACKED, EXPIRED, FORWARDED


class End(StrEnum):
    """What became of an accepted message."""

    FILED = "filed"
    ACKNOWLEDGED = "acknowledged"
    FORWARDED = "forwarded"
    EXPIRED = "expired"
    """It had its time, or its mailbox was closed long ago. Or its row is live, and has a time that is over: nobody is
    shown it, and somebody else than us gave it that time."""
    DISCARDED = "discarded"
    COPY = "copy"
    """Its message has the row of another claim, or was answered as a synchronous request."""
    FORGOTTEN = "forgotten"
    """So long ago that its row may be gone for good."""
    WAITING = "waiting"
    LOST = "lost"


ENDS_OF_ROWS: Final = (End.FILED, End.ACKNOWLEDGED, End.FORWARDED, End.EXPIRED, End.DISCARDED)
_GONE: Final = {ACKED: End.ACKNOWLEDGED, FORWARDED: End.FORWARDED, **dict.fromkeys(EXPIRED, End.EXPIRED)}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem; `where`: the row, claim or key; `detail`: what was seen there."""

    problem: Problem
    where: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What an audit found.

    `accepted`: the ends of the claims in the ledger; None: there was none. `rows`: those of all rows, `discarded`:
    of the discarded ones by reason. `answered`, `unanswered`: synchronous requests (they are in no ledger) whose reply
    is remembered, and those that failed or died: who asks again is answered anew. `told`: discards that need no
    Feedback any more, `telling`: those whose Feedback was begun and is not known to have arrived. `untold`: rows that
    no line of the ledger tells of, those from before and after it, too.
    """

    evidence: Evidence
    accepted: Mapping[End, int] | None
    rows: Mapping[End, int]
    discarded: Mapping[str, int]
    answered: int
    unanswered: int
    told: int
    telling: int
    untold: int
    problems: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong; there may be notes."""
        return not self.wrong

    @property
    def wrong(self) -> int:
        """How many problems there are, without the notes."""
        return sum(finding.problem.grave for finding in self.problems)

    def count(self, problem: Problem) -> int:
        """How many there are of one problem."""
        return sum(finding.problem is problem for finding in self.problems)


def end_of(evidence: Evidence, standing: Standing) -> End:
    """The end that a row tells of."""
    if standing.row.live:
        return End.EXPIRED if evidence.is_over(standing.ttl) else End.FILED
    return _GONE.get(standing.row.why, End.DISCARDED)
