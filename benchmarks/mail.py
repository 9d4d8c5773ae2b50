"""Generated mail in S3 and in table `post`, as the inbox and the worker write it, for tests and benchmarks of jobs.

    written = write(Plan(messages=100_000, seed=7, mailboxes=1_000, ends_at_ms=…), s3, bucket, dynamodb, post_table)
    for segment in segments(plan):      # writes nothing, and has one segment in memory at a time
        …

The same plan gives the same bytes. Mailboxes and senders are drawn by Zipf's law: number n of N has a share of about
1 / (n ln N), so a few have many messages, and most conversations have one to three. The size of envelopes is
log-normal.
"""

import hashlib
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from postroom.core.settings import DeploymentSettings
from postroom.core.timestamps import write_timestamp
from postroom.jobs.prefetch import prefetch
from postroom.names.dnssec.evidence import Evidence, Link, SignatureWindow
from postroom.net.aws_errors import transient_as_not_now
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND, SIGNATURE_INVALID, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.schema import HANDSHAKE, NLWEB
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.layout import RowKey, row_key, segment_name
from postroom.storage.mail.line_state import LineState
from postroom.storage.mail.register import ACKED, DISCARDED, GONE, LIVE, Row
from postroom.storage.mail.segments import Line, lay_out

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, WriteRequestUnionTypeDef
    from mypy_boto3_s3 import S3Client

RETAIN_SECONDS: Final = DeploymentSettings().retain_seconds
CROWDED: Final = "shop-1.example"
"""The mailbox of the one large conversation, which is also drawn most often."""
CROWD: Final = "crowd.example"
"""The sender of the one large conversation, and of nothing else."""

_HOUR_MS: Final = 3_600_000
_SIGNED_FROM, _SIGNED_UNTIL = 1_795_000_000, 1_796_000_000
_LATE_HOURS: Final = (1, 6)
"""The range of hours between the inbox and the segment for messages that are filed late."""
_SOON_MS: Final = 1_000
"""The maximum time between the inbox and the segment for other messages."""
_SIGMA: Final = 1.0
"""The standard deviation of the logarithm of sizes: one envelope in a hundred has ten times the median."""
_LEAST_SEALED: Final = 16
_FURTHER_BYTES: Final = 1 << 20
"""Random text in addition to that of the largest envelope, so that two of the largest differ."""
_FRAME_BYTES: Final = 236
"""The size of an envelope without its Header and the sealed text."""
_SELECTOR: Final = "pk1"
_SCHEMA: Final = NLWEB.schema
_REASONS: Final = (SIGNATURE_INVALID, KEY_NOT_FOUND, UNEXPECTED_SUBJECT)
_OWNER: Final = "OWNER"
_EVIDENCE: Final = orjson.dumps(
    Evidence(
        owner=_OWNER,
        rdtype="TXT",
        aliases=(),
        chain=tuple(
            Link(zone, 2, f"{tag:064x}", SignatureWindow(13, tag, _SIGNED_FROM, _SIGNED_UNTIL))
            for zone, tag in ((".", 20326), ("example.", 4711), ("sender.example.", 815))
        ),
        signed=SignatureWindow(13, 815, _SIGNED_FROM, _SIGNED_UNTIL),
    ).as_json()
).decode()
"""The evidence of each sender's key, as in receipts."""
_SHARES: Final = ("acknowledged", "discarded", "late", "redelivered", "orphans", "corrupt")


@dataclass(frozen=True, slots=True)
class Plan:
    """The mail to be generated, all before `ends_at_ms`. Raises ValueError for impossible values.

    `messages`: accepted by the inbox, without those of orphans. `one_conversation`: those of them that one sender sends
    to one mailbox, spread over the whole time. `spans_hours`: the time in which they were filed. `median_bytes`,
    `most_bytes`: of an envelope, which has at least about 450. `batch`: lines of a segment.

    Shares, from 0 to 1: `discarded` of all messages except the one conversation; `acknowledged`, `late` (filed hours
    after they were received) and `redelivered` (also in the next segment) of the filed messages; `corrupt` of lines;
    `orphans` of segments (each adds a segment whose lines have no row, or a row that points elsewhere).
    """

    messages: int
    seed: int
    mailboxes: int
    ends_at_ms: int
    spans_hours: int = 24
    median_bytes: int = 2_000
    most_bytes: int = 1_000_000
    batch: int = 100
    acknowledged: float = 0.1
    discarded: float = 0.02
    late: float = 0.02
    redelivered: float = 0.02
    orphans: float = 0.02
    corrupt: float = 0.001
    one_conversation: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for impossible values."""
        for name in ("mailboxes", "spans_hours", "median_bytes", "most_bytes", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; a share is 0 to 1")
        if not 0 <= self.one_conversation <= self.messages:
            raise ValueError(f"one_conversation is {self.one_conversation}; it is 0 to messages ({self.messages})")


class Origin(StrEnum):
    """How a segment was written."""

    FILED = "filed"
    COPIED = "copied"
    """By a worker that died before it wrote the rows; they point to the segment of the next worker."""
    WAITING = "waiting"
    """By a worker that died before it wrote the rows; they may still be written."""
    ABANDONED = "abandoned"
    """By a worker that died before it wrote the rows; its claims are older than RETAIN, so nobody will."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One object, and the rows that were written after it.

    `rows`: those that point to it, and tombstones; empty if no rows were requested. `stands`: the number of lines in
    each state. `damaged`: the rows whose lines are damaged; these are not in `stands`.
    """

    name: str
    data: bytes
    rows: Sequence[Row]
    stands: Counter[LineState]
    damaged: frozenset[RowKey]
    origin: Origin

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.stands.total() + len(self.damaged)

    @property
    def held(self) -> bool:
        """Whether compaction must keep it: a line is damaged, or its row may still be written."""
        return bool(self.damaged or self.stands[LineState.TO_COME])


@dataclass(slots=True)
class Written:
    """The numbers of the generated mail, to be compared with the report of a job.

    Rows: `live`, with a readable line; `unreadable`, live with a damaged line; `acknowledged`; `discarded`. Lines:
    `stands`, the number in each state before any job; `corrupt`. Segments: `held` (see Segment). `shown`: the rows that
    an owner must see; None: not recorded.
    """

    segments: int = 0
    lines: int = 0
    bytes: int = 0
    live: int = 0
    unreadable: int = 0
    acknowledged: int = 0
    discarded: int = 0
    stands: Counter[LineState] = field(default_factory=Counter)
    corrupt: int = 0
    held: int = 0
    shown: set[RowKey] | None = None

    def add(self, segment: Segment) -> None:
        """Add the numbers of a segment."""
        self.segments += 1
        self.lines += segment.lines
        self.bytes += len(segment.data)
        self.corrupt += len(segment.damaged)
        self.stands.update(segment.stands)
        self.held += segment.held
        for row in segment.rows:
            if not row.live:
                self.acknowledged += row.why == ACKED
                self.discarded += row.why != ACKED
            elif row.key in segment.damaged:
                self.unreadable += 1
            else:
                self.live += 1
                if self.shown is not None:
                    self.shown.add(row.key)


def segments(plan: Plan, *, rows: bool = True) -> Iterator[Segment]:
    """The mail of a plan, one segment after another. `rows`: with their rows; the bytes are the same either way."""
    return _MailMaker(plan, rows=rows).segments()


THREADS: Final = 8
_AHEAD: Final = 2 * THREADS
"""The segments that are generated ahead of those being written."""
_ITEMS: Final = 25
"""The maximum of BatchWriteItem."""


def write(
    plan: Plan,
    s3: "S3Client",
    bucket: str,
    dynamodb: "DynamoDBClient",
    post_table: str,
    *,
    rows: bool = True,
    keep_truth: bool = False,
) -> Written:
    """Write the mail of a plan to a store. `rows`: also to table `post`. `keep_truth`: record `shown` (300 B a row).

    Existing rows are overwritten, so nothing else may write at the same time. Raises NotNowError(STORE_UNAVAILABLE),
    also if the same plan was written before.
    """
    objects = ObjectStore(s3, bucket)
    written = Written(shown=set() if keep_truth else None)

    def put(segment: Segment) -> Segment:
        objects.put(segment.name, segment.data)
        put_rows(dynamodb, post_table, segment.rows)
        return segment

    with ThreadPoolExecutor(THREADS) as pool:
        for segment in prefetch(pool, put, segments(plan, rows=rows), cost=lambda _: 1, most=_AHEAD):
            written.add(segment)
    return written


def put_rows(dynamodb: "DynamoDBClient", table: str, rows: Sequence[Row]) -> None:
    """Write rows, or overwrite them. Raises NotNowError(STORE_UNAVAILABLE)."""
    for start in range(0, len(rows), _ITEMS):
        left: Mapping[str, Sequence[WriteRequestUnionTypeDef]] = {
            table: [{"PutRequest": {"Item": item_of(row)}} for row in rows[start : start + _ITEMS]]
        }
        while left:
            with transient_as_not_now():
                left = dynamodb.batch_write_item(RequestItems=left)["UnprocessedItems"]


def item_of(row: Row) -> "dict[str, AttributeValueTypeDef]":
    """A row as `storage/mail/register.py` writes it."""
    key: dict[str, AttributeValueTypeDef] = {"pk": {"S": row.key.pk}, "sk": {"S": row.key.sk}}
    if row.place is None:
        return {**key, "st": {"S": GONE}, "why": {"S": row.why}, "ttl": {"N": str(row.ttl)}}
    return {
        **key,
        "st": {"S": LIVE},
        "o": {"S": row.place.object},
        "off": {"N": str(row.place.offset)},
        "len": {"N": str(row.place.length)},
        "c": {"S": row.conversation},
    }


def _without(member: str) -> Callable[[bytes], bytes]:
    def damage(line: bytes) -> bytes:
        return orjson.dumps({name: value for name, value in orjson.loads(line).items() if name != member})

    return damage


def _with_numbers(line: bytes) -> bytes:
    return orjson.dumps({**orjson.loads(line), "pk": 1, "sk": 2})


DAMAGES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "cut short": lambda line: line[: len(line) // 2],
    "no JSON": lambda line: b"\0" * len(line),
    "an array": lambda line: b"[" + line + b"]",
    "a string": lambda _line: b'"line"',
    "null": lambda _line: b"null",
    "no pk": _without("pk"),
    "no sk": _without("sk"),
    "no envelope": _without("envelope"),
    "numbers for texts": _with_numbers,
    "not UTF-8": lambda line: line.replace(b"example", b"ex\xffmple"),
}
"""Kinds of damage: functions that turn a line into bytes that are not one, without a newline."""
_DAMAGES: Final = tuple(DAMAGES)


@dataclass(frozen=True, slots=True)
class _Damaged(Line):
    """A line that is damaged when it is encoded."""

    how: str

    def encode(self) -> bytes:
        return DAMAGES[self.how](Line.encode(self))


class _Taken(NamedTuple):
    """A line for a segment. `why`: why its row is gone; empty: live. `again`: the row points to another segment."""

    line: Line
    why: str = ""
    again: bool = False


class _MailMaker:
    """Simulates inbox, worker and owners, with one random generator, whose sequence does not depend on `rows`."""

    def __init__(self, plan: Plan, *, rows: bool) -> None:
        self._plan = plan
        self._rows = rows
        self._random = Random(plan.seed)
        self._chance = self._random.random
        self._sealed = b64encode(self._random.randbytes((plan.most_bytes + _FURTHER_BYTES) // 4 * 3)).decode()
        self._orphans = cycle((Origin.COPIED, Origin.WAITING, Origin.ABANDONED))

    def segments(self) -> Iterator[Segment]:
        """The segments, in order."""
        plan = self._plan
        filed_at_ms = self._filed_at_ms(0)
        batch: list[_Taken] = []
        again: list[_Taken] = []
        tombstones: list[Row] = []
        for number in range(plan.messages):
            crowd = _is_one_of(plan.one_conversation, plan.messages, number)
            # The last message is always filed, because tombstones are written with a segment.
            if self._chance() < plan.discarded and not crowd and number + 1 < plan.messages:
                tombstones.append(self._discarded(filed_at_ms))
                continue
            while len(batch) >= plan.batch:
                yield from self._closed(batch, tombstones, filed_at_ms)
                batch, again, tombstones = again, [], []
                filed_at_ms = self._filed_at_ms(number)
            line = self._line(filed_at_ms, late_ms=self._late_ms(), crowd=crowd)
            taken = _Taken(line, ACKED if self._chance() < plan.acknowledged else "")
            batch.append(taken)
            if self._chance() < plan.redelivered:
                again.append(taken._replace(again=True))
        while batch:
            yield from self._closed(batch, tombstones, filed_at_ms)
            batch, again, tombstones = again, [], []

    def _filed_at_ms(self, number: int) -> int:
        spans_ms = self._plan.spans_hours * _HOUR_MS
        return self._plan.ends_at_ms - spans_ms + spans_ms * number // max(1, self._plan.messages)

    def _late_ms(self) -> int:
        if self._chance() >= self._plan.late:
            return 0
        return int(_HOUR_MS * self._random.uniform(*_LATE_HOURS))

    def _closed(self, batch: Sequence[_Taken], tombstones: list[Row], filed_at_ms: int) -> Iterator[Segment]:
        """The segment of a batch, sometimes after an orphan."""
        if self._chance() < self._plan.orphans:
            yield self._orphan(batch, filed_at_ms)
        segment = self._segment(batch, filed_at_ms, Origin.FILED)
        yield replace(segment, rows=[*tombstones, *segment.rows]) if self._rows else segment

    def _orphan(self, batch: Sequence[_Taken], filed_at_ms: int) -> Segment:
        origin = next(self._orphans)
        if origin is Origin.ABANDONED:
            filed_at_ms -= RETAIN_SECONDS * 1000 + self._plan.spans_hours * _HOUR_MS
        if origin is not Origin.COPIED:
            batch = [_Taken(self._line(filed_at_ms)) for _ in batch]
        return self._segment(batch, filed_at_ms, origin)

    def _segment(self, batch: Sequence[_Taken], filed_at_ms: int, origin: Origin) -> Segment:
        name = segment_name(filed_at_ms, self._new_id())
        lying = [self._as_it_lies(taken.line) for taken in batch]
        data, places = lay_out(lying, name)
        rows = [
            Row(line.row, why=why, ttl=filed_at_ms // 1000 + RETAIN_SECONDS)
            if why
            else Row(line.row, place, line.conversation)
            for (line, why, again), place in zip(batch, places, strict=True)
            if self._rows and origin is Origin.FILED and not again
        ]
        damaged = frozenset(line.row for line in lying if isinstance(line, _Damaged))
        stands = Counter(self._stand(taken, origin) for taken in batch if taken.line.row not in damaged)
        return Segment(name, data, rows, stands, damaged, origin)

    def _stand(self, taken: _Taken, origin: Origin) -> LineState:
        if origin is Origin.ABANDONED:
            return LineState.FORGOTTEN
        if origin is Origin.WAITING or not self._rows:
            return LineState.TO_COME
        if taken.why:
            return LineState.ACKED
        return LineState.HERE if origin is Origin.FILED and not taken.again else LineState.MOVED

    def _as_it_lies(self, line: Line) -> Line:
        if self._chance() >= self._plan.corrupt:
            return line
        return _Damaged(line.row, line.conversation, line.envelope, line.receipt, self._random.choice(_DAMAGES))

    def _discarded(self, judged_at_ms: int) -> Row:
        mailbox, _ = self._parties(crowd=False)
        row = self._row(mailbox, judged_at_ms)
        reason = self._random.choice(_REASONS)
        return Row(row, why=f"{DISCARDED}{reason}", ttl=row.received_at_ms // 1000 + RETAIN_SECONDS)

    def _line(self, filed_at_ms: int, *, late_ms: int = 0, crowd: bool = False) -> Line:
        mailbox, sender = self._parties(crowd=crowd)
        row = self._row(mailbox, filed_at_ms - late_ms)
        key_name = NLWEB.key_name(sender, _SELECTOR)
        receipt = {
            "claim": row.claim_id,
            "received_at_ms": row.received_at_ms,
            "verified_at_ms": filed_at_ms,
            "protocol": "nlweb",
            "dialect": _SCHEMA,
            "source": "192.0.2.1",
            "selector": _SELECTOR,
            "key_name": key_name,
            "key_algorithm": "ed25519",
            "key_fingerprint": f"SHA256:{self._sealed[:43]}",
            "key_refetched": False,
            "evidence": orjson.Fragment(_EVIDENCE.replace(_OWNER, key_name)),
        }
        return Line(row, sender, self._envelope(mailbox, sender, row.received_at_ms), receipt)

    def _envelope(self, mailbox: str, sender: str, sent_at_ms: int) -> str:
        """An envelope as posted, with a valid Hash and an invalid Signature."""
        some = self._new_id()
        correlation = f"{some[:8]}-{some[8:12]}-4{some[13:16]}-8{some[17:20]}-{some[20:]}"
        header = (
            f'{{"Correlation":"{correlation}","DKIM":"{_SELECTOR}","From":"{sender}","Subject":"Order@Shop",'
            f'"Timestamp":"{write_timestamp(sent_at_ms)}","To":"{mailbox}"}}'
        )
        size = self._plan.median_bytes * math.exp(_SIGMA * self._random.gauss(0, 1))
        room = min(int(size), self._plan.most_bytes) - len(header) - _FRAME_BYTES
        body = f'{{"Sealed":"{self._some_sealed(max(room, _LEAST_SEALED))}"}}'
        # The hashed text has its members in the order of RFC 8785.
        digest = hashlib.sha256(f'{{"Body":{body},"Header":{header}}}'.encode()).hexdigest()
        signature = self._some_sealed(84)
        return (
            f'{{"{HANDSHAKE}":"{_SCHEMA}","Header":{header},"Body":{body},"Hash":"{digest}",'
            f'"Signature":"{signature}AA=="}}'
        )

    def _some_sealed(self, size: int) -> str:
        """`size` characters of base64, or up to three fewer, from a random position in the random text."""
        size -= size % 4
        start = int(self._chance() * (len(self._sealed) - size)) // 4 * 4
        return self._sealed[start : start + size]

    def _parties(self, *, crowd: bool) -> tuple[str, str]:
        """A mailbox and a sender."""
        if crowd:
            return CROWDED, CROWD
        plan = self._plan
        return f"shop-{self._zipf(plan.mailboxes)}.example", f"sender-{self._zipf(plan.messages)}.example"

    def _zipf(self, most: int) -> int:
        return int((most + 1) ** self._chance())

    def _row(self, mailbox: str, before_ms: int) -> RowKey:
        """The row of a claim that the inbox received shortly before."""
        return row_key(mailbox, 1, before_ms - 1 - int(_SOON_MS * self._chance()), self._new_id())

    def _new_id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"


def _is_one_of(some: int, all_: int, number: int) -> bool:
    """Whether `number` is one of `some` numbers that are spread evenly over `all_`."""
    return (number + 1) * some // all_ > number * some // all_
