"""Mail in the store of a deployment as inboxes and workers write it, and the mail that its owners must see."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import UUID

import orjson
from tests.aws import Clients, Deployed, deployment, held, holding

from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.jobs.reading import Read, raw_lines, read_line
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.audit.audit import audit
from postroom.storage.audit.collection import collect_evidence
from postroom.storage.audit.findings import Finding
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import CHUNKS, SEGMENTS, RowKey, chunk_name, row_key, seen_key_nlweb, segment_name
from postroom.storage.mail.line_state import PAST, LineState, line_state_of
from postroom.storage.mail.object_schedule import DAY_MS
from postroom.storage.mail.register import OVER, read_row
from postroom.storage.mail.segments import Line, lay_out_encoded

NOW = 1_795_253_400_000  # 2026-11-21T09:30:00Z
RETAIN = 22 * DAY_MS // 1000
SHOP = "shop.com"
_KEY = PrivateKey.generate("ed25519")
_RECEIPT = {"protocol": "nlweb"}

Shown = list[tuple[RowKey, str]]


@contextmanager
def a_store(clients: Clients) -> Iterator["Mail"]:
    """A fresh one."""
    with deployment(clients) as deployed:
        yield Mail(deployed)


@dataclass(frozen=True)
class Stored:
    """A copy of a store with mail, which can be opened any number of times. `state`: see `tests.aws.holding`."""

    state: bytes
    deployed: Deployed
    waits: dict[RowKey, str]
    ids: int

    @contextmanager
    def opened(self, clients: Clients, state: bytes = b"") -> Iterator["Mail"]:
        """The store as it was. `state`: as a run has changed it since."""
        with holding(state or self.state):
            mail = Mail(replace(self.deployed, clients=clients))
            mail.waits, mail._ids = dict(self.waits), self.ids
            yield mail


class Mail:
    """A store with mail. `waits`: the envelope of each message that its owner must see. Times in epoch milliseconds."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.waits: dict[RowKey, str] = {}
        storage = deployed.storage
        self.register, self.seen, self.objects, self.reader = (
            storage.register, storage.seen, storage.objects, storage.reader,
        )  # fmt: skip
        self._ids = 0

    def store(self) -> Stored:
        """A copy of it as it is now."""
        return Stored(held(), self.deployed, dict(self.waits), self._ids)

    def new_id(self) -> str:
        self._ids += 1
        return f"{self._ids:032x}"

    # --- what inboxes and workers do ----------------------------------------------------------------------------------
    def message(self, at: int, sender: str = "a.com", mailbox: str = SHOP, size: int = 0) -> Line:
        """The line of a message that was received at this time, with its home."""
        draft = Draft(sender, mailbox, "Notify@Shop", str(UUID(hex=self.new_id())), at, "x" * size)
        envelope = sign(draft, _KEY)
        line = Line(row_key(mailbox, 1, at, self.new_id()), sender, json.dumps(envelope), _RECEIPT)
        read = read_envelope(envelope)
        key = seen_key_nlweb(read.receiver, read.sender, read.correlation)
        self.seen.claim_home(key, read.claimed_hash, line.row, now=at // 1000, forget_at=at // 1000 + 2 * RETAIN)
        return line

    def segment(self, at: int, *lines: Line | bytes) -> list[Place]:
        """Write an object with these lines or other data, without rows."""
        return self.put(segment_name(at, self.new_id()), *lines)

    def put(self, name: str, *lines: Line | bytes) -> list[Place]:
        data, places = lay_out_encoded([each.encode() if isinstance(each, Line) else each for each in lines], name)
        self.objects.put(name, data)
        return places

    def chunk(self, at: int, *lines: Line, src: str) -> str:
        """Write a chunk of an earlier run, to which the rows of these lines point; returns its name."""
        name = chunk_name(at, self.new_id())
        for line, place in zip(lines, self.put(name, *(self.copied(line, src) for line in lines)), strict=True):
            self.file(line, place)
        return name

    def copied(self, line: Line, src: str) -> bytes:
        """A line in the form of chunks."""
        return orjson.dumps(orjson.loads(line.encode()) | {"src": src})

    def file(self, line: Line, place: Place) -> None:
        """Make the row of a line live, unless it was before."""
        if self.register.file(line.row, place, line.conversation) is None:
            self.waits[line.row] = line.envelope

    def deliver(self, at: int, *lines: Line) -> str:
        """File a whole batch; returns the name of its segment."""
        places = self.segment(at, *lines)
        for line, place in zip(lines, places, strict=True):
            self.file(line, place)
        return places[0].object

    def discard(self, row: RowKey) -> None:
        self.register.discard(row, SENDER_NOT_WANTED, row.received_at_ms // 1000 + RETAIN)

    # --- what owners do, and time ------------------------------------------------------------------------------------
    def acknowledge(self, row: RowKey) -> None:
        self.register.acknowledge(row, row.received_at_ms // 1000 + RETAIN)
        self.waits.pop(row, None)

    def expire(self, row: RowKey) -> None:
        """Let a message expire."""
        self.register.expire(row, OVER, row.received_at_ms // 1000 + RETAIN)
        self.waits.pop(row, None)

    def sweep(self, row: RowKey) -> None:
        """Delete a tombstone, as DynamoDB does after its TTL."""
        self.deployed.clients.dynamodb.delete_item(
            TableName=self.deployed.tables["PostTable"], Key={"pk": {"S": row.pk}, "sk": {"S": row.sk}}
        )

    # --- what there is -----------------------------------------------------------------------------------------------
    def shown(self, mailbox: str, now: int) -> Shown:
        """The messages of a pass of the owner, in order."""
        rows = list(self.reader.list(mailbox, 1, now=now // 1000))
        return [(filed.row.key, filed.line.envelope) for filed in self.reader.fetch_all(rows)]

    def must_show(self, mailbox: str) -> Shown:
        return sorted((row, envelope) for row, envelope in self.waits.items() if row.mailbox == mailbox)

    def check(self, now: int) -> None:
        """Check that each owner sees the unacknowledged messages, with their bytes, in order, and no others."""
        for mailbox in {row.mailbox for row in self.waits} | {SHOP}:
            assert self.shown(mailbox, now) == self.must_show(mailbox), "each owner sees what waits, and no more"

    def problems(self, now: int) -> tuple[Finding, ...]:
        """The problems that an audit finds."""
        return audit(collect_evidence(self.deployed.audited_store, now=now // 1000, retain_seconds=RETAIN)).problems

    def stored(self) -> tuple[object, object]:
        """The rows, and all objects."""
        return self.deployed.rows("PostTable"), self.deployed.objects()

    def sizes(self) -> dict[str, int]:
        """The objects for messages."""
        pages = self.deployed.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=self.deployed.bucket)
        found = {entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", [])}
        return {name: size for name, size in found.items() if name.startswith((SEGMENTS, CHUNKS))}

    def needed(self) -> set[str]:
        """The objects that live rows point to."""
        return {place.object for place in self._places()}

    def past(self, now: int) -> set[str]:
        """The objects whose lines are all past."""
        return {name for name in self.sizes() if all(stand in PAST for stand in self._stands(name, now))}

    def _stands(self, name: str, now: int) -> Iterator[LineState]:
        for offset, data in raw_lines([self.objects.get(name)]):
            read = read_line(name, offset, data)
            assert isinstance(read, Read)
            yield line_state_of(read.copy, self.register.find(read.copy.row), now=now // 1000, retain_seconds=RETAIN)

    def live_bytes(self) -> int:
        """The bytes of the lines of live rows, with their newlines."""
        return sum(place.length + 1 for place in self._places())

    def _places(self) -> list[Place]:
        rows = [read_row(item) for item in self.deployed.rows("PostTable") if "st" in item]
        return [row.place for row in rows if row.place]
