"""The ledger of a soak: the final answer of the inbox to each message, and the comparison with what is stored. Pure.

Each kind of problem is a member of `Problem`; a good run has none.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.soak.messages import SoakMessage
from tests.soak.mix import Kind
from tests.soak.posting import Answer

from postroom.core.reasons import TOO_LARGE
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID, TIMESTAMP_TOO_NEW, TIMESTAMP_TOO_OLD


class Problem(StrEnum):
    """A problem that a run may find."""

    LOST = "accepted, and neither filed nor discarded"
    TWICE = "filed twice"
    ALTERED = "filed with other bytes than those sent"
    UNREADABLE = "a live row whose bytes cannot be read"
    UNEXPECTED = "filed instead of discarded, refused or answered"
    UNKNOWN = "filed, and never sent"
    WRONG_REASON = "discarded for a wrong reason"
    WRONGLY_DISCARDED = "discarded, and valid"
    NO_FEEDBACK = "discarded, and no Feedback sent to the sender's buffer"
    FEEDBACK_TWICE = "more than one Feedback about one discarded claim"
    WRONG_FEEDBACK = "Feedback about a message that was not discarded"
    WRONGLY_REFUSED = "refused, and valid"
    WRONGLY_TAKEN = "accepted instead of refused"
    WRONG_ANSWER = "wrong answer"
    NOT_REMEMBERED = "answered at once, and the reply neither stored nor logged as not stored"
    UNANSWERED = "sent, and never answered"
    WAITING = "still in a queue at the end"
    DIED = "process that ended by itself"


FILED: Final = frozenset({Kind.VALID, Kind.REPLAYED, Kind.DM3, Kind.LARGE})
_REFUSALS: Final = {
    Kind.STALE: {str(TIMESTAMP_TOO_OLD), str(TIMESTAMP_TOO_NEW)},
    Kind.TOO_LARGE: {str(TOO_LARGE)},
}


@dataclass(frozen=True)
class Discard:
    """A discarded claim, by its row."""

    reason: str
    sent: bool


@dataclass
class Evidence:
    """The content of the deployment at the end.

    `filed`: the SHA-256 of each envelope that its owner can read, by the message's identity (see `SoakMessage`).
    `discards`: by claim id. `claims`: the claims of each identity, as inbox and worker logged them.
    `replies`: identities whose reply is stored. `given_up`: those whose reply could not be stored, by the inbox's log.
    `feedback`: the number of different Feedback messages about each identity.
    """

    filed: Mapping[str, list[bytes]]
    unreadable: int
    discards: Mapping[str, Discard]
    claims: Mapping[str, list[str]]
    replies: frozenset[str]
    feedback: Mapping[str, int]
    given_up: frozenset[str] = frozenset()
    waiting: int = 0
    died: int = 0
    unanswered: int = 0


@dataclass
class Ledger:
    """The final answers of the inbox to all messages, including replays."""

    reply: str
    """The correct reply to a synchronous request."""
    kinds: Counter[Kind] = field(default_factory=Counter)
    taken: Counter[Kind] = field(default_factory=Counter)
    problems: Counter[Problem] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    _taken: dict[str, tuple[Kind, bytes]] = field(default_factory=dict)

    def answered(self, message: SoakMessage, answer: Answer) -> None:
        """Record an answer."""
        kind = message.kind
        self.kinds[kind] += 1
        must = _REFUSALS.get(kind)
        if answer.refused:
            if must is None:
                self._found(Problem.WRONGLY_REFUSED, f"{kind} {message.identity}: {answer}")
            elif answer.refused not in must:
                self._found(Problem.WRONG_ANSWER, f"{kind} {message.identity}: {answer}")
            return
        self.taken[kind] += 1
        if must is not None:
            self._found(Problem.WRONGLY_TAKEN, f"{kind} {message.identity}")
        elif kind is Kind.SYNCHRONOUS and answer.body != self.reply:
            self._found(Problem.WRONG_ANSWER, f"{kind} {message.identity}: {answer}")
        if kind is not Kind.REPLAYED:
            self._taken[message.identity] = kind, message.text
        else:
            # A replay is the same message as its original, which may not have been answered yet.
            self._taken.setdefault(message.identity, (Kind.VALID, message.text))

    def audit(self, evidence: Evidence) -> None:
        """Compare the answers with the content of the deployment at the end."""
        for problem, count in (
            (Problem.UNREADABLE, evidence.unreadable),
            (Problem.WAITING, evidence.waiting),
            (Problem.DIED, evidence.died),
            (Problem.UNANSWERED, evidence.unanswered),
        ):
            self.problems[problem] += count
        for identity, (kind, text) in self._taken.items():
            if kind in FILED:
                self._must_be_filed(identity, text, evidence)
            elif kind is Kind.SYNCHRONOUS and identity not in evidence.replies | evidence.given_up:
                self._found(Problem.NOT_REMEMBERED, identity)
            elif kind is Kind.FORGED:
                self._must_be_discarded(identity, evidence)
        for identity in evidence.filed:
            if identity not in self._taken:
                self._found(Problem.UNKNOWN, identity)
            elif self._taken[identity][0] not in FILED:
                self._found(Problem.UNEXPECTED, f"{self._taken[identity][0]} {identity}")
        for identity in evidence.feedback:
            if identity not in self._taken or self._taken[identity][0] is not Kind.FORGED:
                self._found(Problem.WRONG_FEEDBACK, identity)

    @property
    def filed(self) -> int:
        """The number of different messages that were accepted to be filed."""
        return sum(kind in FILED for kind, _ in self._taken.values())

    def _must_be_filed(self, identity: str, text: bytes, evidence: Evidence) -> None:
        copies = evidence.filed.get(identity, [])
        if not copies:
            self._found(Problem.LOST, identity)
        if len(copies) > 1:
            self._found(Problem.TWICE, identity)
        if text and any(copy != text for copy in copies):
            self._found(Problem.ALTERED, identity)
        if any(claim in evidence.discards for claim in evidence.claims.get(identity, ())):
            self._found(Problem.WRONGLY_DISCARDED, identity)

    def _must_be_discarded(self, identity: str, evidence: Evidence) -> None:
        discards = [evidence.discards.get(claim) for claim in evidence.claims.get(identity, ())]
        if not discards or None in discards:
            self._found(Problem.LOST, identity)
        rows = [discard for discard in discards if discard is not None]
        if any(discard.reason != str(SIGNATURE_INVALID) for discard in rows):
            self._found(Problem.WRONG_REASON, f"{identity}: {rows}")
        if not all(discard.sent for discard in rows):
            self._found(Problem.NO_FEEDBACK, identity)
        received = evidence.feedback.get(identity, 0)
        if received > len(rows):
            self._found(Problem.FEEDBACK_TWICE, f"{identity}: {received} about {len(rows)} claims")

    def _found(self, problem: Problem, what: str) -> None:
        self.problems[problem] += 1
        if len(self.examples) < 20:
            self.examples.append(f"{problem}: {what}")
