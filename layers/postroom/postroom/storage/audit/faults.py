"""Faults in stored data that can be found without a ledger: evidence in, findings out."""

from collections.abc import Iterator, Mapping, Sequence

from postroom.core.reason import Kind
from postroom.reasons import reason_of
from postroom.storage.audit.evidence import AuditEvidence
from postroom.storage.audit.findings import AuditOutcome, Finding, end_of
from postroom.storage.audit.fingerprints import is_other_message
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import DISCARDED


def faults_of_rows(evidence: AuditEvidence) -> Iterator[Finding]:
    """Missing reasons of tombstones, missing homes of filed messages, Feedback about filed messages, too early ends."""
    homes = {known.home for known in evidence.seen.values()}
    for key, standing in evidence.rows.items():
        if evidence.is_past(standing):
            continue
        where, why, end = named(key), standing.row.why, end_of(evidence, standing)
        if standing.ttl is not None and (standing.row.live or evidence.is_over(standing.ttl)):
            yield Finding(AuditProblem.ENDS_EARLY, where, f"it is {end}, and its ttl {standing.ttl}")
        is_discarded = end is AuditOutcome.DISCARDED
        if is_discarded and not _is_reason(why):
            yield Finding(AuditProblem.NO_REASON, where, f"why is {why!r}")
        is_home = not is_discarded and end is not AuditOutcome.COPY
        if is_home and key not in homes and evidence.is_remembered(key.received_at_ms):
            yield Finding(AuditProblem.NOT_HOME, where, f"it is {end}")
        if not is_discarded and (standing.begun or standing.sent):
            yield Finding(AuditProblem.FILED_WITH_FEEDBACK, where, f"it is {end}")


def faults_of_heads(evidence: AuditEvidence) -> Iterator[Finding]:
    """Messages that listings leave out, the oldest first. A claim in a queue may be that of one that is not too old for
    it: its next worker shows it."""
    waiting, oldest_first = evidence.claims_waiting, sorted(evidence.hidden, key=lambda key: key.received_at_ms)
    forgotten = sum(not evidence.is_remembered(key.received_at_ms) for key in oldest_first)
    doubt = f"; the claims of {waiting} of {len(oldest_first)} may wait in queues" if waiting else ""
    for key in oldest_first[: max(forgotten, len(oldest_first) - waiting)]:
        yield Finding(AuditProblem.HIDDEN, named(key), f"the row `!head` of its partition leaves it out{doubt}")


def faults_of_homes(evidence: AuditEvidence) -> Iterator[Finding]:
    """Messages that were forgotten before their home row."""
    for seen_key, known in evidence.seen.items():
        if known.home and evidence.is_over(known.ttl) and evidence.is_remembered(known.home.received_at_ms):
            yield Finding(
                AuditProblem.ENDS_EARLY, f"seen {seen_key}", f"its home is {named(known.home)}, its ttl {known.ttl}"
            )


def faults_of_claims(evidence: AuditEvidence, further: Mapping[str, Sequence[RowKey]]) -> Iterator[Finding]:
    """Claims with more than one register row. `further`: those claims, with their rows."""
    for claim, keys in further.items():
        discarded = [end_of(evidence, evidence.rows[key]) is AuditOutcome.DISCARDED for key in keys]
        problem = AuditProblem.BOTH if any(discarded) else AuditProblem.FILED_TWICE
        if all(discarded):
            problem = AuditProblem.DISCARDED_TWICE
        yield Finding(problem, called(claim), ", ".join(map(named, keys)))


def faults_of_bytes(evidence: AuditEvidence) -> Iterator[Finding]:
    """Live rows whose bytes are not one message, or not the message that the row is the home of; messages with two
    rows."""
    first: dict[bytes, RowKey] = {}
    for key, held in evidence.held.items():
        if isinstance(held, AuditProblem):
            yield Finding(held, named(key), f"it points to {evidence.rows[key].row.place}")
        elif (other := first.setdefault(held, key)) is not key:
            yield Finding(AuditProblem.FILED_TWICE, named(key), f"the same message as {named(other)}")
    for seen_key, known in evidence.seen.items():
        if known.home and is_other_message(evidence.held.get(known.home), seen_key, known.text):
            yield Finding(
                AuditProblem.BYTES_WRONG, named(known.home), f"its line is not the message of seen {seen_key}"
            )


def called(claim: str) -> str:
    """The name of a claim in a finding."""
    return f"claim {claim}"


def named(key: RowKey) -> str:
    """The name of a row in a finding."""
    return f"row {key.pk} {key.sk}"


def _is_reason(why: str) -> bool:
    try:
        return why.startswith(DISCARDED) and reason_of(why.removeprefix(DISCARDED)).kind is Kind.DISCARD
    except ValueError:
        return False
