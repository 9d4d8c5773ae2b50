"""The judge: what became of every message that was taken in, by what its owner can read and its sender was told."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.aws import CLAIM_QUEUES
from tests.faults.clock import CLOCK
from tests.faults.letters import End, Letter, who_is
from tests.faults.office import Town
from tests.faults.queues import Queues
from tests.functions.samples import BOB, RECEIVER

from postroom.post.claims import unpack
from postroom.store.audit import audit
from postroom.store.gather import gather
from postroom.store.keys import seen_key_nlweb
from postroom.store.ledger import read_ledger
from postroom.store.reader import Reader
from postroom.store.register import ACKED, FORWARDED, Register, Row, read_row
from postroom.store.segments import Objects

RETAIN_SECONDS = 22 * 86_400


@dataclass
class Judge:
    """Judges one run. `sent`: every message that the door took in. `acknowledged`: what its owner said to have."""

    town: Town
    queues: Queues
    sent: dict[str, Letter] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    _handed_on: set[str] = field(default_factory=set)

    def faults(self) -> list[str]:
        """What is wrong now, when every queue is at rest; a sentence each."""
        whose = self._whose()
        rows: dict[str, list[Row]] = {who: [] for who in self.sent}
        for item in self.town.deployed.rows("PostTable"):
            row = read_row(item)
            rows.setdefault(whose.get(row.key.claim_id, f"nobody's {row.key}"), []).append(row)
        return [*self._faults_of_messages(rows), *self._faults_of_feedback(rows)]

    def audited(self) -> Iterator[str]:
        """What `postroom audit` finds, by the ledger that the door wrote."""
        evidence = gather(self.town.deployed.premises, now=int(CLOCK()), retain_seconds=RETAIN_SECONDS)
        for finding in audit(evidence, read_ledger(self.town.log.read_bytes().splitlines())).problems:
            if finding.problem.grave:
                yield f"{finding.problem} {finding.where} {finding.detail}"

    def acknowledge_all(self) -> None:
        """The owners acknowledge what they are shown."""
        for row, who in self._shown():
            self._register.acknowledge(row.key, int(CLOCK()) + RETAIN_SECONDS)
            self.acknowledged.add(who)

    def _faults_of_messages(self, rows: Mapping[str, list[Row]]) -> Iterator[str]:
        shown = Counter(who for _, who in self._shown())
        self._handed_on |= {who_is(message["envelope"]) for message in self.queues.arrived()}
        for who, each in rows.items():
            if who not in self.sent:
                # The door did not say 200; if it is there nevertheless, it is there once.
                if shown[who] > 1:
                    yield f"{who} was not taken in, and can be read {shown[who]} times"
                continue
            letter = self.sent[who]
            if set(letter.ends) <= {End.ANSWERED, End.REFUSED}:
                yield from self._faults_of_what_is_not_kept(letter, each)
                continue
            ends = self._ends(who, each, shown[who])
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
            elif not ends <= set(letter.ends):
                yield f"{who} is {min(ends)}, and should be {' or '.join(letter.ends)}"

    def _faults_of_what_is_not_kept(self, letter: Letter, rows: list[Row]) -> Iterator[str]:
        if rows:
            yield f"{letter.who} was to be {letter.ends[0]}, and has rows: {rows}"
        if letter.ends == (End.REFUSED,):
            header = json.loads(letter.body)["Header"]
            key = seen_key_nlweb(header["To"], header["From"], header["Correlation"])
            if self.town.deployed.item("SeenTable", pk=key):
                yield f"{letter.who} was refused, and is remembered"

    def _ends(self, who: str, rows: list[Row], shown: int) -> set[End]:
        ends = {End.DISCARDED for row in rows if row.discarded}
        ends |= {End.HANDED_ON for row in rows if row.why == FORWARDED}
        # Its owner's word counts, whatever became of the row since.
        if shown or who in self.acknowledged or any(row.why == ACKED for row in rows):
            ends.add(End.FILED)
        return ends

    def _faults_of_feedback(self, rows: Mapping[str, list[Row]]) -> Iterator[str]:
        """At most one Feedback about a message, and none about one that is kept."""
        told: dict[str, set[str]] = {}
        for envelope in map(json.loads, self.town.world.posted()):
            about = envelope["Body"].get("Correlation", "a summary")
            # Repeated it is the same to the bit, or the buffer takes it for another.
            told.setdefault(about, set()).add(json.dumps([envelope["Header"], envelope["Body"]], sort_keys=True))
        discarded = {who for who, each in rows.items() if any(row.discarded for row in each)}
        for about, tellings in told.items():
            if len(tellings) > 1:
                yield f"{len(tellings)} Feedback messages tell of {about}"
            if about != "a summary" and about not in discarded:
                yield f"a Feedback tells of {about}, which was not discarded"
        if "a summary" not in told:
            for who in discarded - told.keys():
                if who in self.sent and self.sent[who].told:
                    yield f"{who} was discarded, and nobody was told"

    def faults_of_queues(self) -> Iterator[str]:
        """What is left somewhere, though nobody is at work any more."""
        for queue in self.town.deployed.queues:
            if left := self.queues.holds(queue):
                yield f"{left} messages are left in {queue}"

    def _shown(self) -> list[tuple[Row, str]]:
        """What the owners of all mailboxes are shown, and whose message each is; a row without bytes raises."""
        clients, tables = self.town.deployed.clients, self.town.deployed.tables
        objects = Objects(clients.s3, self.town.deployed.bucket)
        reader = Reader(clients.dynamodb, tables["PostTable"], self._register, objects)
        shown: list[tuple[Row, str]] = []
        for mailbox in (RECEIVER, BOB):
            rows = list(reader.list(mailbox, 1, now=int(CLOCK())))
            filed = reader.fetch_all(rows)
            assert [each.line.row for each in filed] == [row.key for row in rows], "rows point at lines of others"
            shown += [(each.row, who_is(each.line.envelope)) for each in filed]
        return shown

    def _whose(self) -> dict[str, str]:
        """Whose message each claim is, by the claim's id."""
        objects = Objects(self.town.deployed.clients.s3, self.town.deployed.bucket)
        claims = [unpack(body, objects).claim for queue, body in set(self.queues.copies) if queue in CLAIM_QUEUES]
        return {claim.id: who_is(claim.envelope) for claim in claims}

    @property
    def _register(self) -> Register:
        return Register(self.town.deployed.clients.dynamodb, self.town.deployed.tables["PostTable"])
