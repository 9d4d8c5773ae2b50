"""The audit: stored messages, compared with what the inbox accepted. Evidence in, findings out.

    evidence = collect_evidence(AuditedStore(…), now=…, retain_seconds=…)   # storage/audit/collection.py: reads only
    findings = audit(evidence, read_ledger(lines))                          # audit(evidence): without the ledger
    assert findings.clean, findings.problems

Each accepted claim has exactly one end, which its row shows. If it has no row, either its message is in the row of
another claim, or the claim waits in a queue. The queues cannot be read, because receiving a message changes it. So
claims without an end count as waiting, up to the number of messages in the queues; the rest are lost. SQS counts
approximately, a queue may contain copies of finished claims, and a claim that moves between queues is counted twice
rather than not at all. The result is exact if the queues are empty.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from postroom.storage.audit.evidence import AuditEvidence
from postroom.storage.audit.faults import (
    called,
    faults_of_bytes,
    faults_of_claims,
    faults_of_heads,
    faults_of_homes,
    faults_of_rows,
    named,
)
from postroom.storage.audit.findings import AuditOutcome, Finding, Findings, end_of
from postroom.storage.audit.fingerprints import is_other_message
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.layout import UNVERIFIED, RowKey, twin_of
from postroom.storage.mail.inbox_log import LedgerEntry
from postroom.storage.mail.register import DISCARDED

RUN_MS: Final = 29_000
"""The longest run of the inbox (template.yaml).

Its log may begin or end within a run. The lines of messages that came so shortly after the first or before the last
message in the log may be missing.
"""


def audit(evidence: AuditEvidence, accepted: Iterable[LedgerEntry] | None = None) -> Findings:
    """Judge the evidence. `accepted`: the inbox's ledger; it may cover a part of the time, and contain a line twice."""
    auditor = _Auditor(evidence)
    problems = [
        *faults_of_rows(evidence),
        *faults_of_heads(evidence),
        *faults_of_homes(evidence),
        *faults_of_claims(evidence, auditor.further),
        *faults_of_bytes(evidence),
        *(Finding(AuditProblem.UNREADABLE, where) for where in evidence.unreadable),
        *(Finding(AuditProblem.REPLY_MISSING, f"seen {key}") for key in evidence.replies_missing),
    ]
    auditor.look_for_homes()
    ends = None if accepted is None else auditor.ends(accepted)
    known = {(finding.problem, finding.where) for finding in problems}
    problems += [finding for finding in auditor.differing if (finding.problem, finding.where) not in known]
    not_in_ledger = [] if accepted is None else auditor.not_in_ledger()
    problems += auditor.notes(not_in_ledger)
    lost = auditor.lost()
    if ends is not None:
        in_ledger = sum(finding.where in auditor.waiting for finding in lost)
        ends[AuditOutcome.WAITING] -= in_ledger
        ends[AuditOutcome.LOST] += in_ledger
    standings = evidence.rows.values()
    whys = (standing.row.why for standing in standings)
    answers = Counter(known.answered for known in evidence.seen.values() if known.home is None)
    return Findings(
        evidence,
        ends,
        Counter(end_of(evidence, standing) for standing in standings),
        Counter(why.removeprefix(DISCARDED) for why in whys if why.startswith(DISCARDED)),
        answered=answers[True],
        unanswered=answers[False],
        feedback_settled=sum(standing.sent for standing in standings),
        feedback_begun=sum(standing.begun and not standing.sent for standing in standings),
        not_in_ledger=len(not_in_ledger),
        problems=(*problems, *lost),
    )


class _Auditor:
    """One audit. `further`: claims that have several rows. `waiting`: claims of the ledger without an end, by name.

    `differing`: rows that differ from the ledger.
    """

    def __init__(self, evidence: AuditEvidence) -> None:
        self._found = evidence
        self._first: dict[str, RowKey] = {}
        self.further: dict[str, list[RowKey]] = {}
        for key in evidence.rows:
            if key is not (first := self._first.setdefault(key.claim_id, key)):
                self.further.setdefault(key.claim_id, [first]).append(key)
        # Claims without an end: when each was received, and what is known of it.
        self._open: dict[str, tuple[int, str]] = {}
        self._in_ledger: set[str] = set()
        self._came: tuple[int, int] | None = None
        self.waiting: set[str] = set()
        self.differing: list[Finding] = []

    def look_for_homes(self) -> None:
        """A home that was named and has no row is a claim without an end, whether it is in a ledger or not."""
        for key, known in self._found.seen.items():
            home = known.home
            if home is None or not self._found.is_remembered(home.received_at_ms):
                continue
            if home in self._found.rows or self._has_row(twin_of(key)):
                continue
            self._open[home.claim_id] = (home.received_at_ms, f"named as home in seen {key}, and not filed there")

    def ends(self, accepted: Iterable[LedgerEntry]) -> Counter[AuditOutcome]:
        """The number of claims of the ledger by their end."""
        ends: Counter[AuditOutcome] = Counter()
        for claim in accepted:
            if claim.claim in self._in_ledger:
                continue  # a log may hold a line twice, and files of it may overlap
            self._in_ledger.add(claim.claim)
            at_ms = claim.received_at_ms
            first, last = self._came or (at_ms, at_ms)
            self._came = min(first, at_ms), max(last, at_ms)
            self._compare(claim)
            end = self._end(claim)
            ends[end] += 1
            if end is AuditOutcome.WAITING:
                self._open.setdefault(claim.claim, (claim.received_at_ms, f"for mailbox {claim.mailbox}"))
                self.waiting.add(called(claim.claim))
        return ends

    def not_in_ledger(self) -> list[RowKey]:
        """The rows of claims that are in no line of the ledger."""
        return [key for key in self._found.rows if key.claim_id not in self._in_ledger]

    def notes(self, not_in_ledger: Iterable[RowKey]) -> list[Finding]:
        """Those of these rows that are from the ledger's time."""
        first, last = self._came or (0, 0)
        return [
            Finding(AuditProblem.NOT_IN_LEDGER, named(key))
            for key in not_in_ledger
            if first + RUN_MS <= key.received_at_ms <= last - RUN_MS
        ]

    def lost(self) -> list[Finding]:
        """The claims without an end that cannot be waiting: the oldest, if some may be waiting."""
        waiting = self._found.claims_waiting
        oldest_first = sorted(self._open.items(), key=lambda item: (item[1][0], item[0]))
        doubt = f"; {waiting} of {len(oldest_first)} without an end may wait in queues" if waiting else ""
        return [
            Finding(AuditProblem.LOST, called(claim), f"received at {at_ms} ms, {detail}{doubt}")
            for claim, (at_ms, detail) in oldest_first[: max(0, len(oldest_first) - waiting)]
        ]

    def _compare(self, claim: LedgerEntry) -> None:
        """Compare the row of a claim with its line in the ledger."""
        own = self._first.get(claim.claim)
        if own is None:
            return
        if is_other_message(self._found.held.get(own), claim.seen, claim.text):
            seen_there = "its line is not the message that the inbox accepted"
            self.differing.append(Finding(AuditProblem.BYTES_WRONG, named(own), seen_there))
        if (own.mailbox, own.received_at_ms) != (claim.mailbox, claim.received_at_ms):
            belongs = f"accepted for mailbox {claim.mailbox}, at {claim.received_at_ms} ms"
            self.differing.append(Finding(AuditProblem.MISFILED, named(own), belongs))

    def _end(self, claim: LedgerEntry) -> AuditOutcome:
        own = self._first.get(claim.claim)
        end = end_of(self._found, self._found.rows[own]) if own else AuditOutcome.COPY
        if end is not AuditOutcome.COPY:
            return end
        # A sender that the inbox could not verify may have been verified later.
        keys = (claim.seen, twin_of(claim.seen)) if claim.seen.startswith(UNVERIFIED) else (claim.seen,)
        if any(self._is_copy(claim, key) for key in keys):
            return AuditOutcome.COPY
        return AuditOutcome.WAITING if self._found.is_remembered(claim.received_at_ms) else AuditOutcome.FORGOTTEN

    def _is_copy(self, claim: LedgerEntry, key: str) -> bool:
        known = self._found.seen.get(key)
        # What counts is that the message was known when this one came; by now it may be forgotten.
        if known is None or known.ttl < claim.received_at_ms // 1000 or known.text != claim.text:
            return False
        return known.answered if known.home is None else self._has_row(key)

    def _has_row(self, key: str) -> bool:
        """Whether a message has its row; the row of an old one may have been deleted."""
        known = self._found.seen.get(key)
        if known is None or known.home is None:
            return False
        return known.home in self._found.rows or not self._found.is_remembered(known.home.received_at_ms)
