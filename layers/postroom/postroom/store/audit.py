"""The audit: what the store holds, judged against what the door accepted. Evidence in, findings out.

    evidence = gather(Premises(…), now=…, retain_seconds=…)     # store/gather.py: reads, and writes nothing
    findings = audit(evidence, read_ledger(lines))              # audit(evidence): without the door's ledger
    assert findings.clean, findings.problems

Each accepted claim has exactly one end. Its own row says which. Where it has none, its message lives in the row of
another claim, or it waits in a queue. Who waits cannot be asked: to receive a message is to change it. So claims
without an end are taken to wait as long as the queues hold as many, and what is beyond that is lost. SQS counts
approximately, a queue may hold copies of what is done, and what is on its way from queue to queue is counted twice
rather than not at all: the verdict is exact where the queues are empty.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.reasons import Kind, reason_of
from postroom.store.evidence import Evidence, Standing
from postroom.store.keys import UNVERIFIED, VERIFIED, RowKey
from postroom.store.ledger import Accepted
from postroom.store.problems import Problem
from postroom.store.register import ACKED, DISCARDED, FORWARDED


class End(StrEnum):
    """What became of an accepted message."""

    FILED = "filed"
    ACKNOWLEDGED = "acknowledged"
    FORWARDED = "forwarded"
    EXPIRED = "expired"
    DISCARDED = "discarded"
    COPY = "copy"
    """Its message has the row of another claim, or was answered as a synchronous request."""
    FORGOTTEN = "forgotten"
    """So long ago that its row may be gone for good."""
    WAITING = "waiting"
    LOST = "lost"


ENDS_OF_ROWS: Final = (End.FILED, End.ACKNOWLEDGED, End.FORWARDED, End.EXPIRED, End.DISCARDED)
_GONE: Final = {ACKED: End.ACKNOWLEDGED, FORWARDED: End.FORWARDED, "expired": End.EXPIRED}


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
    Feedback any more, `telling`: those whose Feedback was begun and is not known to have arrived.
    """

    evidence: Evidence
    accepted: Mapping[End, int] | None
    rows: Mapping[End, int]
    discarded: Mapping[str, int]
    answered: int
    unanswered: int
    told: int
    telling: int
    problems: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def count(self, problem: Problem) -> int:
        """How many there are of one problem."""
        return sum(finding.problem is problem for finding in self.problems)


def audit(evidence: Evidence, accepted: Iterable[Accepted] | None = None) -> Findings:
    """Judge the evidence. `accepted`: the door's ledger; it may be of a part of the time, and say a thing twice."""
    auditor = _Auditor(evidence)
    problems = [
        *auditor.faults_of_rows(),
        *auditor.faults_of_claims(),
        *auditor.faults_of_bytes(),
        *(Finding(Problem.UNREADABLE, where) for where in evidence.unreadable),
        *(Finding(Problem.REPLY_MISSING, f"seen {key}") for key in evidence.replies_missing),
    ]
    auditor.look_for_homes()
    ends = None if accepted is None else auditor.ends(accepted)
    lost = auditor.lost()
    if ends is not None:
        in_ledger = sum(finding.where in auditor.waiting for finding in lost)
        ends[End.WAITING] -= in_ledger
        ends[End.LOST] += in_ledger
    standings = evidence.rows.values()
    whys = (standing.row.why for standing in standings)
    answers = Counter(known.answered for known in evidence.seen.values() if known.home is None)
    return Findings(
        evidence,
        ends,
        Counter(auditor.end_of(standing) for standing in standings),
        Counter(why.removeprefix(DISCARDED) for why in whys if why.startswith(DISCARDED)),
        answered=answers[True],
        unanswered=answers[False],
        told=sum(standing.sent for standing in standings),
        telling=sum(standing.begun and not standing.sent for standing in standings),
        problems=(*problems, *lost),
    )


class _Auditor:
    """One audit. `waiting`: where the claims of the ledger are named that have no end."""

    def __init__(self, evidence: Evidence) -> None:
        self._found = evidence
        self._first: dict[str, RowKey] = {}
        self._further: dict[str, list[RowKey]] = {}
        for key in evidence.rows:
            if key is not (first := self._first.setdefault(key.claim_id, key)):
                self._further.setdefault(key.claim_id, [first]).append(key)
        # Claims without an end: when each came in, and what is known of it.
        self._open: dict[str, tuple[int, str]] = {}
        self._told: set[str] = set()
        self.waiting: set[str] = set()

    def end_of(self, standing: Standing) -> End:
        """The end that a row tells of."""
        if standing.row.live:
            return End.EXPIRED if self._found.is_past(standing) else End.FILED
        return _GONE.get(standing.row.why, End.DISCARDED)

    # ---- what is wrong in itself -----------------------------------------------------------------------------
    def faults_of_rows(self) -> Iterator[Finding]:
        """A reason for each that is gone, a home for each that was filed, no Feedback about what is kept."""
        homes = {known.home for known in self._found.seen.values()}
        for key, standing in self._found.rows.items():
            if self._found.is_past(standing):
                continue
            where, why = _named(key), standing.row.why
            kept = self.end_of(standing) is not End.DISCARDED
            if not kept and not _is_reason(why):
                yield Finding(Problem.NO_REASON, where, f"why is {why!r}")
            if kept and key not in homes and self._found.is_remembered(key.received_at_ms):
                yield Finding(Problem.NOT_HOME, where, f"it is {self.end_of(standing)}")
            if kept and (standing.begun or standing.sent):
                yield Finding(Problem.TOLD_THOUGH_KEPT, where, f"it is {self.end_of(standing)}")

    def faults_of_claims(self) -> Iterator[Finding]:
        """One register for each claim."""
        for claim, keys in self._further.items():
            discarded = [self.end_of(self._found.rows[key]) is End.DISCARDED for key in keys]
            problem = Problem.BOTH if any(discarded) else Problem.FILED_TWICE
            if all(discarded):
                problem = Problem.DISCARDED_TWICE
            yield Finding(problem, f"claim {claim}", ", ".join(map(_named, keys)))

    def faults_of_bytes(self) -> Iterator[Finding]:
        """For each live row the bytes of one message, and for each message one row."""
        first: dict[bytes, RowKey] = {}
        for key, held in self._found.held.items():
            if isinstance(held, Problem):
                yield Finding(held, _named(key), f"it points to {self._found.rows[key].row.place}")
            elif (other := first.setdefault(held, key)) is not key:
                yield Finding(Problem.FILED_TWICE, _named(key), f"the same message as {_named(other)}")

    # ---- who has no end --------------------------------------------------------------------------------------
    def look_for_homes(self) -> None:
        """A home that was named and has no row is a claim without an end, whether a ledger knows it or not."""
        for key, known in self._found.seen.items():
            home = known.home
            if home is None or not self._found.is_remembered(home.received_at_ms):
                continue
            if home in self._found.rows or self._has_row(_twin(key)):
                continue
            self._open[home.claim_id] = (home.received_at_ms, f"named as home in seen {key}, and not filed there")

    def ends(self, accepted: Iterable[Accepted]) -> Counter[End]:
        """How many claims of the ledger have which end."""
        ends: Counter[End] = Counter()
        for claim in accepted:
            if claim.claim in self._told:
                continue  # a log may hold a line twice, and files of it may overlap
            self._told.add(claim.claim)
            end = self._end(claim)
            ends[end] += 1
            if end is End.WAITING:
                self._open.setdefault(claim.claim, (claim.received_at_ms, f"for mailbox {claim.mailbox}"))
                self.waiting.add(_called(claim.claim))
        return ends

    def lost(self) -> list[Finding]:
        """Of the claims without an end those that cannot be waiting: the oldest, where some may be."""
        waiting = self._found.claims_waiting
        oldest_first = sorted(self._open.items(), key=lambda item: (item[1][0], item[0]))
        doubt = f"; {waiting} of {len(oldest_first)} without an end may wait in queues" if waiting else ""
        return [
            Finding(Problem.LOST, _called(claim), f"received at {at_ms} ms, {detail}{doubt}")
            for claim, (at_ms, detail) in oldest_first[: max(0, len(oldest_first) - waiting)]
        ]

    def _end(self, claim: Accepted) -> End:
        own = self._first.get(claim.claim)
        if own is not None:
            return self.end_of(self._found.rows[own])
        # What the door could not verify may have been verified later.
        keys = (claim.seen, _twin(claim.seen)) if claim.seen.startswith(UNVERIFIED) else (claim.seen,)
        if any(self._is_copy(claim, key) for key in keys):
            return End.COPY
        return End.WAITING if self._found.is_remembered(claim.received_at_ms) else End.FORGOTTEN

    def _is_copy(self, claim: Accepted, key: str) -> bool:
        known = self._found.seen.get(key)
        if known is None or known.ttl < self._found.at or known.text != claim.text:
            return False
        return known.answered if known.home is None else self._has_row(key)

    def _has_row(self, key: str) -> bool:
        """Whether a message has its row; one from too long ago may have had it."""
        known = self._found.seen.get(key)
        if known is None or known.home is None:
            return False
        return known.home in self._found.rows or not self._found.is_remembered(known.home.received_at_ms)


def _is_reason(why: str) -> bool:
    try:
        return why.startswith(DISCARDED) and reason_of(why.removeprefix(DISCARDED)).kind is Kind.DISCARD
    except KeyError:
        return False


def _twin(key: str) -> str:
    """The key of the same dm3 message with its sender verified, or not; an NLWeb message has none."""
    return {VERIFIED: UNVERIFIED, UNVERIFIED: VERIFIED}.get(key[:2], "") + key[2:]


def _called(claim: str) -> str:
    return f"claim {claim}"


def _named(key: RowKey) -> str:
    return f"row {key.pk} {key.sk}"
