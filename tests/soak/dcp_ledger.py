"""The ledger of what is done over DCP: what each stamp was answered, and the comparison with its effects. Pure.

What is done is signing a mailbox out, which a mailbox counts. Each stamp has a mailbox of its own.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from tests.soak.mix import DcpKind

from postroom.api.reasons import NOT_THE_OWNER
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.reasons import DCP_AUTHORIZATION_REVOKED


class DcpProblem(StrEnum):
    """A problem that a run may find."""

    TWICE = "stamp that took effect twice"
    ANSWERED_TWICE = "stamp that was answered as done twice"
    LOST = "answered as done, and not done"
    UNTOLD = "done, and answered as refused"
    UNEXPECTED = "done by another, or as a revoked or changed cheque"
    WRONGLY_REFUSED = "refused over DCP, and valid"
    WRONG_CODE = "refused over DCP with a wrong code"
    UNFINISHED = "begun over DCP, and never finished"


class Outcome(Enum):
    """What is known of a presentation."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """It may have been done, or not."""


_NOTHING: Final = frozenset({DcpKind.REVOKED, DcpKind.CHANGED})
"""The kinds that have no effect."""
_DONE_BEFORE: Final = frozenset({str(ErrorCode.EDUP), str(DCP_AUTHORIZATION_REVOKED)})
"""The codes of what was done before, also after an unknown outcome: what it did was to sign out."""
_CODES: Final = {
    DcpKind.REQUEST: frozenset[str](),
    DcpKind.BATCH: frozenset[str](),
    DcpKind.CHEQUE: _DONE_BEFORE,
    DcpKind.CONTESTED: _DONE_BEFORE,
    DcpKind.CARRIED: _DONE_BEFORE,
    DcpKind.REVOKED: frozenset({str(ErrorCode.EDUP)}),
    DcpKind.CHANGED: frozenset({str(NOT_THE_OWNER)}),
}
"""The codes of refusals."""
_CODES_OF_OTHERS: Final = frozenset({str(NOT_THE_OWNER)})


@dataclass
class _Stamp:
    """What was answered to those who may use a stamp."""

    kind: DcpKind
    outcomes: Counter[Outcome] = field(default_factory=Counter)


@dataclass
class DcpLedger:
    """The answers to all stamps, by the mailbox of each."""

    kinds: Counter[DcpKind] = field(default_factory=Counter)
    done: Counter[DcpKind] = field(default_factory=Counter)
    unknown: Counter[DcpKind] = field(default_factory=Counter)
    problems: Counter[DcpProblem] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    _stamps: dict[str, _Stamp] = field(default_factory=dict)

    @property
    def mailboxes(self) -> list[str]:
        """The mailboxes of all stamps."""
        return list(self._stamps)

    def begin(self, kind: DcpKind, mailbox: str) -> None:
        """Record a stamp before it is used."""
        self._stamps[mailbox] = _Stamp(kind)

    def answered(self, mailbox: str, outcome: Outcome, code: str = "") -> None:
        """Record an answer to somebody who may use the stamp. `code`: of a refusal."""
        stamp = self._stamps[mailbox]
        stamp.outcomes[outcome] += 1
        if outcome is Outcome.REFUSED and code not in _CODES[stamp.kind]:
            self._found(DcpProblem.WRONG_CODE, f"{stamp.kind} {mailbox}: {code}")

    def answered_another(self, mailbox: str, outcome: Outcome, code: str = "") -> None:
        """Record an answer to somebody who may not use the stamp."""
        kind = self._stamps[mailbox].kind
        if outcome is Outcome.DONE:
            self._found(DcpProblem.UNEXPECTED, f"{kind} {mailbox}")
        elif outcome is Outcome.REFUSED and code not in _CODES_OF_OTHERS:
            self._found(DcpProblem.WRONG_CODE, f"{kind} {mailbox}: {code}")

    def audit(self, effects: Mapping[str, int], *, unfinished: int) -> None:
        """Compare the answers with how often each mailbox was signed out."""
        self.problems[DcpProblem.UNFINISHED] += unfinished
        for mailbox, stamp in self._stamps.items():
            done, unknown = stamp.outcomes[Outcome.DONE], stamp.outcomes[Outcome.UNKNOWN]
            self.kinds[stamp.kind] += 1
            self.done[stamp.kind] += effects[mailbox] > 0
            self.unknown[stamp.kind] += unknown > 0
            for problem in _problems(stamp.kind, effects[mailbox], done, unknown):
                self._found(problem, f"{stamp.kind} {mailbox}: {effects[mailbox]} times, {dict(stamp.outcomes)}")

    def _found(self, problem: DcpProblem, what: str) -> None:
        self.problems[problem] += 1
        if len(self.examples) < 20:
            self.examples.append(f"{problem}: {what}")


def _problems(kind: DcpKind, effects: int, done: int, unknown: int) -> list[DcpProblem]:
    found = {
        DcpProblem.TWICE: effects > 1,
        DcpProblem.ANSWERED_TWICE: done > 1,
        DcpProblem.LOST: done and not effects,
        DcpProblem.UNTOLD: effects and not done and not unknown and kind not in _NOTHING,
        DcpProblem.UNEXPECTED: (done or effects) and kind in _NOTHING,
        DcpProblem.WRONGLY_REFUSED: not (done or effects or unknown) and kind not in _NOTHING,
    }
    return [problem for problem, is_found in found.items() if is_found]
