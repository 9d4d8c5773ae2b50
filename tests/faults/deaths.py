"""At which of its calls of AWS a process can die, and which of these deaths are the same.

A death is the same as another if no state lies between them: nothing was stored, nothing was logged, and nothing was
sent to others than AWS. This is shown by what was recorded of a run, never assumed; and a call is taken for one that
only reads if it is known as one, too: what a function of an operator or an event bus does with a call is not recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.tap import CallRecord

READING = {"GetItem", "Query", "GetObject", "GetSecretValue", "GetQueueAttributes", "GetQueueUrl"}
"""Operations that change nothing."""


@dataclass(frozen=True, order=True)
class Moment:
    """Before call `number`, or after it took effect."""

    number: int
    after: bool

    def __str__(self) -> str:
        return f"die {'after' if self.after else 'before'} {self.number}"


@dataclass(frozen=True)
class Death:
    """At `moment`; `same`: those at which it would be the same."""

    moment: Moment
    same: list[Moment] = field(default_factory=list)


def deaths(calls: Sequence[CallRecord]) -> list[Death]:
    """Of the calls of a run: the deaths that differ, in order."""
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
