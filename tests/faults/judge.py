"""The judge of the fault tests: it checks each accepted message by what its owner can read and its sender was told."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.aws import CLAIM_QUEUES
from tests.faults.clock import CLOCK
from tests.faults.feedback import ReceivedFeedback
from tests.faults.messages import End, Message, who_is
from tests.faults.owners import RETAIN_SECONDS, Owners
from tests.faults.queues import Queues
from tests.faults.stack import FaultStack

from postroom.pipeline.claims import QueuedClaim, unpack
from postroom.storage.audit.audit import audit
from postroom.storage.audit.collection import collect_evidence
from postroom.storage.mail.head import is_head
from postroom.storage.mail.inbox_log import LedgerEntry, read_ledger
from postroom.storage.mail.register import ACKED, FORWARDED, Row, read_row


@dataclass
class Judge:
    """Judges one run. `sent`: all messages. `acknowledged`: those that owners have acknowledged.

    `unanswered`: how often a message got neither 200 nor a refusal.
    """

    stack: FaultStack
    queues: Queues
    sent: dict[str, Message] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    unanswered: Counter[str] = field(default_factory=Counter)
    _handed_on: set[str] = field(default_factory=set)

    def faults(self) -> list[str]:
        """The current problems, a sentence each; all queues must be empty."""
        whose = self._whose()
        rows: dict[str, list[Row]] = {who: [] for who in self.sent}
        for item in self.stack.deployed.rows("PostTable"):
            if is_head(item):
                continue
            row = read_row(item)
            rows.setdefault(whose.get(row.key.claim_id, f"nobody's {row.key}"), []).append(row)
        discarded = {who for who, each in rows.items() if any(row.discarded for row in each)}
        received = ReceivedFeedback.read(self.stack.internet.posted())
        return [
            *self._faults_of_messages(rows),
            *self._faults_of_claims(rows),
            *received.faults(list(self.sent.values()), discarded),
        ]

    def audited(self) -> Iterator[str]:
        """The problems that `postroom audit` finds, with the ledger of the inbox."""
        evidence = collect_evidence(self.stack.deployed.audited_store, now=int(CLOCK()), retain_seconds=RETAIN_SECONDS)
        for finding in audit(evidence, self._ledger()).problems:
            if finding.problem.grave:
                yield f"{finding.problem} {finding.where} {finding.detail}"

    def acknowledge_all(self) -> None:
        """Let the owners acknowledge everything that they can read."""
        self.acknowledged |= set(Owners.watched(self.stack.deployed).acknowledge_all())

    def _faults_of_messages(self, rows: Mapping[str, list[Row]]) -> Iterator[str]:
        shown = Counter(who for _, who in Owners.watched(self.stack.deployed).shown())
        if any(End.HANDED_ON in message.ends for message in self.sent.values()):
            self._handed_on |= {who_is(message["envelope"]) for message in self.queues.arrived()}
        ended: dict[str, set[End]] = {}
        for who, each in rows.items():
            if who not in self.sent:
                continue  # a fault of claims
            message = self.sent[who]
            if set(message.ends) <= {End.ANSWERED, End.REFUSED}:
                yield from self._faults_of_what_is_not_kept(message, each)
                continue
            ends = ended[who] = self._ends(who, each, shown[who])
            if who in self.acknowledged and shown[who]:
                yield f"{who} was acknowledged, and is shown again"
            if shown[who] > 1:
                yield f"{who} can be read {shown[who]} times"
            if End.HANDED_ON in ends and who not in self._handed_on:
                yield f"{who} was handed on, says its row, and arrived nowhere"
            if not ends:
                yield f"{who} has no end: it is lost"
            elif len(ends) != 1:
                yield f"{who} has {len(ends)} ends: {sorted(ends)}"
            elif not ends <= set(message.ends):
                yield f"{who} is {min(ends)}, and should be {' or '.join(message.ends)}"
        yield from self._faults_of_correlations(ended)

    def _faults_of_what_is_not_kept(self, message: Message, rows: list[Row]) -> Iterator[str]:
        if rows:
            yield f"{message.who} was to be {message.ends[0]}, and has rows: {rows}"
        if message.ends == (End.REFUSED,) and message.seen and self.stack.deployed.item("SeenTable", pk=message.seen):
            yield f"{message.who} was refused, and is remembered"

    def _faults_of_claims(self, rows: Mapping[str, list[Row]]) -> Iterator[str]:
        """Each row must belong to a claim that was answered 200, or got no final answer."""
        answered = {accepted.claim for accepted in self._ledger()}
        for who, each in rows.items():
            others = [row for row in each if row.key.claim_id not in answered]
            if len(others) > self.unanswered[who]:
                yield f"{who} has rows of claims that its sender never heard of: {others}"

    def _faults_of_correlations(self, ends: Mapping[str, set[End]]) -> Iterator[str]:
        """One of several messages with the same Correlation must be filed."""
        alike: dict[str, list[set[End]]] = {}
        for who, message in self.sent.items():
            alike.setdefault(message.correlation or who, []).append(ends.get(who, set()))
        for correlation, each in alike.items():
            if len(each) > 1 and (filed := sum(End.FILED in it for it in each)) != 1:
                yield f"of {len(each)} messages under {correlation}, {filed} are filed"

    def _ends(self, who: str, rows: list[Row], shown: int) -> set[End]:
        ends = {End.DISCARDED for row in rows if row.discarded}
        ends |= {End.HANDED_ON for row in rows if row.why == FORWARDED}
        # Acknowledged messages count as read, whatever their row is now.
        if shown or who in self.acknowledged or any(row.why == ACKED for row in rows):
            ends.add(End.FILED)
        return ends

    def faults_of_queues(self) -> Iterator[str]:
        """The messages that are left in queues."""
        for queue, left in self.queues.held():
            yield f"{left} messages are left in {queue}"

    def faults_of_objects(self) -> Iterator[str]:
        """The objects of claims that are left; all claims must be decided."""
        for name in {each.pointer.name for each in self._queued() if each.pointer and not each.pointer.is_gone}:
            yield f"{name} is left"

    def _whose(self) -> dict[str, str]:
        """The message of each claim, by the claim's id."""
        return {queued.claim.id: self._who(queued) for queued in self._queued()}

    def _who(self, queued: QueuedClaim) -> str:
        """The message of a claim, by its envelope, or, if its object is gone, by its Correlation."""
        if not (queued.pointer and queued.pointer.is_gone):
            return who_is(queued.claim.envelope)
        request = queued.pointer.feedback_request
        [who] = [who for who, message in self.sent.items() if request and message.correlation == request.correlation]
        return who

    def _queued(self) -> list[QueuedClaim]:
        """Every claim that was ever queued."""
        objects = self.stack.deployed.storage.objects
        return [unpack(body, objects) for queue, body in set(self.queues.copies) if queue in CLAIM_QUEUES]

    def _ledger(self) -> Iterator[LedgerEntry]:
        """The claims that the inbox answered with 200."""
        return read_ledger(self.stack.log.read_bytes().splitlines())
