"""The AWS calls at which a process can die, and which of these deaths are equal.

Two deaths are equal if nothing happened between them: nothing was stored, nothing was logged, and nothing was sent to
anyone but AWS. This is determined from the record of a run. Also, a call only counts as a read if its operation is
known as one, because the effects of a call on an operator's function or an event bus are not recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.tap import CallRecord

READING = {"GetItem", "Query", "GetObject", "GetSecretValue", "GetQueueAttributes", "GetQueueUrl"}
"""Operations that change nothing."""


@dataclass(frozen=True, order=True)
class Moment:
    """A moment before call `number`, or after its effect."""

    number: int
    after: bool

    def __str__(self) -> str:
        return f"die {'after' if self.after else 'before'} {self.number}"


@dataclass(frozen=True)
class Death:
    """A death at `moment`. `same`: the moments of equal deaths."""

    moment: Moment
    same: list[Moment] = field(default_factory=list)


def deaths(calls: Sequence[CallRecord]) -> list[Death]:
    """The different deaths in a run with these calls, in order."""
    found: list[Death] = []
    for number, record in enumerate(calls, start=1):
        before, after = Moment(number, after=False), Moment(number, after=True)
        if found and record.before == calls[number - 2].after:
            found[-1].same.append(before)
        else:
            found.append(Death(before))
        if _only_reads(record):
            found[-1].same.append(after)
        else:
            found.append(Death(after))
    return found


def _only_reads(record: CallRecord) -> bool:
    return record.call.split()[1] in READING and record.before == record.after
