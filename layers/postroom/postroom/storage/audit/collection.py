"""The collection of evidence for an audit. It reads, and changes nothing, not even a receive count.

It reads in an order in which messages that move meanwhile look whole: first the queues, so that no claim is missed,
then the registers, then what is written before a register (`seen`, objects). What then looks missing is read once more.
Rows are held in memory, the bytes of messages are not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from postroom.core.errors import OurError
from postroom.net.aws_errors import transient_as_not_now
from postroom.storage.audit.evidence import AuditEvidence, Fingerprint, PostRow, SeenRow
from postroom.storage.audit.fingerprints import fingerprint_of
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.aws.attributes import PK, SK, TTL, Item, primary_key
from postroom.storage.aws.object_store import ObjectStore, Place, neighbours
from postroom.storage.aws.queue import Queue
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import ROW_PREFIX, RowKey
from postroom.storage.mail.feedback_log import FEEDBACK, SENT
from postroom.storage.mail.head import Head, Heads, is_head, read_head
from postroom.storage.mail.inbox_log import text_of
from postroom.storage.mail.register import read_row
from postroom.storage.mail.seen import HASH, REPLY_AT, is_answered, read_home

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

T = TypeVar("T")
R = TypeVar("R")

READERS: Final = 8
"""The number of concurrent requests to S3: each holds at most 8 MB of lines, unless a single line is longer."""
_AHEAD: Final = 64
_OF_MESSAGES: Final = ("seg/", "chk/")


class ClaimQueues(NamedTuple):
    """The URL of every queue that a claim can wait in."""

    claims: str
    retry: str
    suspects: str
    waiting: str
    dead_letters: str


@dataclass(frozen=True, slots=True)
class AuditedStore:
    """A store to audit: clients, the names of tables and bucket, and the URLs of queues."""

    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sqs: "SQSClient"
    post_table: str
    seen_table: str
    bucket: str
    claim_queues: ClaimQueues
    courier_queues: Sequence[str]


def collect_evidence(
    audited_store: AuditedStore, *, now: int, retain_seconds: int, read_bytes: bool = True
) -> AuditEvidence:
    """Collect the evidence. `now`: epoch seconds. `read_bytes`: read the line of each live row; otherwise only find its
    object.

    Raises NotNowError(STORE_UNAVAILABLE).
    """
    with transient_as_not_now():
        return _Collector(audited_store, now, retain_seconds).collect_evidence(read_bytes=read_bytes)


class _Collector:
    def __init__(self, audited_store: AuditedStore, now: int, retain_seconds: int) -> None:
        self._at = audited_store
        self._now = now
        self._retain_seconds = retain_seconds
        self._post = DynamoTable(audited_store.dynamodb, audited_store.post_table)
        self._remembered = DynamoTable(audited_store.dynamodb, audited_store.seen_table)
        self._objects = ObjectStore(audited_store.s3, audited_store.bucket)
        self._rows: dict[RowKey, PostRow] = {}
        self._heads: dict[str, Head] = {}
        self._seen: dict[str, SeenRow] = {}
        self._replies: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._orphans = self._orphan_bytes = 0

    def collect_evidence(self, *, read_bytes: bool) -> AuditEvidence:
        claims_waiting = self._claims_waiting(self._at.claim_queues)
        courier_waiting = sum(map(self._depth, self._at.courier_queues))
        for item in self._post.scan():
            self._note_row(item)
        for item in self._remembered.scan():
            self._note_seen(item)
        self._find_homes()
        if hidden := self._hidden():
            claims_waiting = max(claims_waiting, self._claims_waiting(self._at.claim_queues))
        held = self._held(read_bytes=read_bytes)
        return AuditEvidence(
            at=self._now,
            retain_seconds=self._retain_seconds,
            rows=self._rows,
            seen=self._seen,
            held=held,
            hidden=hidden,
            unreadable=sorted(self._unreadable),
            replies_missing=sorted(self._replies.values()),
            claims_waiting=claims_waiting,
            courier_waiting=courier_waiting,
            orphans=self._orphans,
            orphan_bytes=self._orphan_bytes,
        )

    def _claims_waiting(self, queues: ClaimQueues) -> int:
        """The most claims that can be waiting. A claim that moves from queue to queue meanwhile is counted in one of
        them.

        A claim is sent to the next queue before it is deleted from the last. Claims move to the retries and the
        suspects' queues, from each of these to the other, from both to the waiting queue and from there to the retries,
        from all to the dead letters, and by a redrive from there to any. So suspects, waiting claims and dead letters
        are counted before and after the others. Both counts of the suspects, who are few, are added; of waiting claims
        and dead letters, which may wait for days, the larger count is taken. A claim is missed if it goes to the
        suspects and back meanwhile, or becomes a dead letter (or begins to wait) while others are redriven (or wait no
        longer).
        """
        for_days = (queues.dead_letters, queues.waiting)
        before = list(map(self._depth, for_days))
        others = sum(map(self._depth, (queues.claims, queues.suspects, queues.retry, queues.suspects)))
        return others + sum(map(max, before, map(self._depth, for_days)))

    def _depth(self, queue: str) -> int:
        return Queue(self._at.sqs, queue).length()

    def _note_row(self, item: Item) -> None:
        try:
            if is_head(item):
                self._heads[PK.read(item)] = read_head(item)
                return
            standing = read_standing(item)
        except (ValueError, IndexError, OurError):
            self._unreadable.add(f"post {PK.read(item)} {SK.read(item)}")
        else:
            self._rows[standing.row.key] = standing

    def _note_seen(self, item: Item) -> None:
        key = PK.read(item)
        try:
            remembered = read_remembered(item)
            reply_at = REPLY_AT.find(item)
        except (ValueError, IndexError, OurError):
            self._unreadable.add(f"seen {key}")
            return
        if remembered.home in self._rows:  # a million homes need not be held twice
            remembered = replace(remembered, home=self._rows[remembered.home].row.key)
        self._seen[key] = remembered
        if reply_at is not None and remembered.ttl >= self._now:
            self._replies[reply_at] = key

    def _find_homes(self) -> None:
        """Read the home rows of messages that were filed after the scan of the registers had passed them."""
        for known in self._seen.values():
            if known.home is not None and known.ttl >= self._now and known.home not in self._rows:
                self._read_row(known.home)

    def _hidden(self) -> list[RowKey]:
        """The rows of waiting messages that listings leave out, still when head and row are read again: a row may have
        been filed between the two."""
        heads = Heads(self._at.dynamodb, self._at.post_table)
        left_out = [
            key
            for key, standing in self._rows.items()
            if standing.row.waits(self._now) and (head := self._heads.get(key.pk)) and head.leaves_out(key)
        ]
        return [
            key
            for key in left_out
            if heads.read(key.pk).leaves_out(key) and (again := self._read_row(key)) and again.row.waits(self._now)
        ]

    def _read_row(self, key: RowKey) -> PostRow | None:
        item = self._post.get(primary_key(key.pk, key.sk))
        self._rows.pop(key, None)
        if item is not None:
            self._note_row(item)
        return self._rows.get(key)

    def _held(self, *, read_bytes: bool) -> dict[RowKey, Fingerprint]:
        """What the bytes of the live rows contain, or what is wrong with them."""
        pointing: dict[Place, list[RowKey]] = {}
        for key, standing in self._rows.items():
            if standing.row.place is not None:
                pointing.setdefault(standing.row.place, []).append(key)
        sizes = self._list({place.object for place in pointing})
        there = {place for place in pointing if place.offset + place.length <= sizes.get(place.object, -1)}
        held: dict[RowKey, Fingerprint] = {}
        if read_bytes:
            for part in _at_once(lambda run: self._read(run, pointing), neighbours(there)):
                held |= part
        for place, keys in pointing.items():
            for key in keys:
                if key not in held and (read_bytes or place not in there):
                    again = self._look_again(key, place)
                    held |= {} if again is None else {key: again}
        return held

    def _list(self, wanted: Set[str]) -> dict[str, int]:
        """The sizes of the wanted objects of the bucket; other objects for messages are counted."""
        sizes: dict[str, int] = {}
        for page in self._at.s3.get_paginator("list_objects_v2").paginate(Bucket=self._at.bucket):
            for entry in page.get("Contents", []):
                name, size = entry["Key"], entry["Size"]
                self._replies.pop(name, None)
                if name in wanted:
                    sizes[name] = size
                elif name.startswith(_OF_MESSAGES):
                    self._orphans += 1
                    self._orphan_bytes += size
        return sizes

    def _read(self, run: Sequence[Place], pointing: Mapping[Place, Sequence[RowKey]]) -> dict[RowKey, Fingerprint]:
        """Lines close to each other, by one request; nothing if the object is gone meanwhile."""
        try:
            lines = self._objects.get_all(run)
        except KeyError:
            return {}
        return {
            key: fingerprint_of(self._rows[key].row, data)
            for place, data in zip(run, lines, strict=True)
            for key in pointing[place]
        }

    def _look_again(self, key: RowKey, place: Place) -> Fingerprint | None:
        """Read the row again, which is decisive: it may have moved meanwhile. None: it is gone."""
        standing = self._read_row(key)
        if standing is None or standing.row.place is None:
            return None
        if standing.row.place == place:
            return AuditProblem.BYTES_MISSING
        try:
            return fingerprint_of(standing.row, self._objects.get_range(standing.row.place))
        except KeyError:
            return AuditProblem.BYTES_MISSING


def read_standing(item: Item) -> PostRow:
    """A row of table `post`. Raises ValueError, IndexError or OurError if it is malformed."""
    row = read_row(item)
    _check_register(row.key)
    return PostRow(row, TTL.find(item), begun=FEEDBACK.is_in(item), sent=SENT.is_in(item))


def read_remembered(item: Item) -> SeenRow:
    """A row of table `seen`. Raises ValueError, IndexError or OurError if it is malformed."""
    home = read_home(item)
    if home is not None:
        _check_register(home)
    return SeenRow(text_of(HASH.find(item)), home, TTL.read(item), answered=is_answered(item))


def _check_register(key: RowKey) -> None:
    if not (key.pk and key.sk.startswith(ROW_PREFIX) and key.claim_id and key.received_at_ms >= 0):
        raise ValueError(key.sk)


def _at_once(work: Callable[[T], R], items: Iterator[T]) -> Iterator[R]:
    """The result of `work` for each item, in order: several at a time, and few ahead of the reader."""
    with ThreadPoolExecutor(READERS) as pool:
        while ahead := list(islice(items, _AHEAD)):
            yield from pool.map(work, ahead)
