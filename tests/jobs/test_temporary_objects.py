"""What nobody will ask for goes, and nothing that anybody may: claims, replies, parts, containers, uploads, orphans."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from tests.aws import Clients, Deployed, deployment, gate_calls, holding, new_clients
from tests.fakes.executor import SerialExecutor
from tests.jobs.dying import deaths_of
from tests.jobs.played import collect_orphans

from postroom.jobs.bucket import Bucket
from postroom.jobs.container_garbage import UNREADABLE, ContainerGarbage
from postroom.jobs.expiring import Deletion
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.registers import Registers
from postroom.jobs.scanning import TableScanner
from postroom.jobs.survey import Terms
from postroom.jobs.tally import Counts, Tally
from postroom.jobs.temporary_objects import TemporaryObjects
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.containers.rows import StorageUsage
from postroom.storage.containers.store import Storage
from postroom.storage.layout import (
    RowKey,
    chunk_name,
    claim_name,
    hour_of,
    reply_name,
    row_key,
    segment_name,
)
from postroom.storage.mail.expiry import GARBAGE_MS
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS
from postroom.storage.mail.register import ACKED, OVER
from postroom.storage.mail.segments import Line, lay_out

BOB, ALICE = "bob.eth", "alice.eth"
KEY, OTHER = (f"0x{number:064x}" for number in (1, 2))
RETAIN = 22 * 24 * 3600
Sweep = Callable[[TemporaryObjects], Iterator[Deletion]]


class SweptStack:
    """A store with something in it. `now`: when a run begins, epoch milliseconds."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self._ids = count(1)
        self.storage = self.storage_by(deployed.clients)

    def storage_by(self, clients: Clients) -> Storage:
        table, objects = self.deployed.tables["StorageTable"], ObjectStore(clients.s3, self.deployed.bucket)
        return Storage(clients.dynamodb, table, objects, StorageUsage(), lambda: f"{next(self._ids):032x}")

    def put(self, name: str, data: bytes = b"sealed") -> str:
        self.deployed.clients.s3.put_object(Bucket=self.deployed.bucket, Key=name, Body=data)
        return name

    def a_day_later(self) -> int:
        """When all that is there now is garbage, if it is not named."""
        pages = self.deployed.clients.s3.list_objects_v2(Bucket=self.deployed.bucket)
        last = max(entry["LastModified"].timestamp() for entry in pages.get("Contents", []))
        return round(last * 1000) + GARBAGE_MS + 1

    def sweep(
        self,
        what: Sweep,
        now: int,
        *,
        dry_run: bool = False,
        clients: Clients | None = None,
    ) -> tuple[list[str], Counts]:
        tally, at = Tally(), clients or self.deployed.clients
        sweeper = TemporaryObjects(Bucket(at.s3, self.deployed.bucket, tally), tally, now=now, dry_run=dry_run)
        return [str(went) for went in what(sweeper)], tally.take()

    def tidy(
        self, now: int, *, dry_run: bool = False, clients: Clients | None = None, segments: int = 2
    ) -> tuple[list[str], Counts]:
        """Archives, as expire_messages does it, whose join and tasks are Spark's."""
        tally, at, table = Tally(), clients or self.deployed.clients, self.deployed.tables["StorageTable"]
        archives = ContainerGarbage(
            Bucket(at.s3, self.deployed.bucket, tally),
            self.storage_by(at),
            TableScanner(at.dynamodb, table, PacedRequests("read", Pace(1e9), tally)),
            tally,
            writes=PacedRequests("write", Pace(1e9), tally),
            now=now,
            dry_run=dry_run,
        )
        went = [each for segment in range(segments) for each in archives.drop_parts(segment, segments)]
        old = [found for share in archives.shares() for found in archives.old(share)]
        named = {name for segment in range(segments) for name in archives.named(segment, segments)}
        counts = tally.take()
        if not counts[UNREADABLE]:
            went += archives.delete(found for found in old if found.name not in named)
        return [str(each) for each in went], counts + tally.take()

    def names(self) -> set[str]:
        return set(self.deployed.objects())

    def named(self) -> set[str]:
        """The objects that rows name."""
        rows = self.deployed.rows("StorageTable")
        return {each["M"]["object"]["S"] for row in rows if "pieces" in row for each in row["pieces"]["L"]}


@pytest.fixture
def stack(deployed: Deployed) -> SweptStack:
    return SweptStack(deployed)


# --- claims and replies ---------------------------------------------------------------------------------------------


def test_claims_and_replies_are_deleted_when_nobody_can_need_them(stack: SweptStack) -> None:
    now = 1_795_253_400_000
    hour = hour_of(claim_name(now - 31 * DAY_MS - HOUR_MS, "any"))
    old = {stack.put(name(hour - age, "one"), b"12345") for age in (1, 9 * DAY_MS) for name in (claim_name, reply_name)}
    young = {stack.put(name(now - age, "two")) for age in (0, 31 * DAY_MS) for name in (claim_name, reply_name)}
    odd = {stack.put("claim/1999/by/hand/00/x"), stack.put("seg/1999/01/01/00/x.jsonl")}
    would, _ = stack.sweep(TemporaryObjects.handed_on, now, dry_run=True)
    assert stack.names() == old | young | odd
    went, counts = stack.sweep(TemporaryObjects.handed_on, now)
    assert stack.names() == young | odd
    assert would == went
    assert (counts["objects.collected"], counts["bytes.collected"], counts["hours.unknown"]) == (4, 20, 1)


# --- containers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 3])
def test_an_object_under_box_that_no_row_names_is_deleted_after_a_day(stack: SweptStack, segments: int) -> None:
    for mailbox, key in ((BOB, KEY), (BOB, OTHER), (ALICE, KEY)):
        stack.storage.put(mailbox, key, None, b"sealed")
    parts = [stack.storage.add_part(ALICE, data, 4_000_000_000) for data in (b"one", b"two", b"three")]
    stack.storage.join(ALICE, OTHER, None, parts[:2])
    garbage = {stack.put(f"box/{number:032x}") for number in (0, 2**64, 2**127)}
    elsewhere = stack.put("claim/box")
    kept = stack.names() - garbage
    later = stack.a_day_later()
    assert stack.tidy(later - 60_000, segments=segments)[0] == []
    assert stack.names() == kept | garbage
    went, counts = stack.tidy(later, segments=segments)
    assert stack.names() == kept
    assert stack.named() == kept - {elsewhere}
    assert (counts["objects.collected"], bool(went)) == (3, True)


def test_a_container_that_is_written_while_garbage_is_looked_for_is_never_touched(stack: SweptStack) -> None:
    """Once for each call of the run: the container is written anew, and another for the first time, just before it."""
    stack.storage.put(BOB, KEY, None, b"before")
    stack.put("box/garbage")
    calls = _calls(stack, lambda clients: stack.tidy(stack.a_day_later(), clients=clients, dry_run=True))
    assert {"ListObjectsV2", "Scan"} <= set(calls)
    for number in range(1, len(calls) + 2):
        stack.put("box/garbage")
        # By their age the new objects would be garbage, too: what saves them is the order alone.
        later = stack.a_day_later() + DAY_MS

        def write(key: str = f"0x{number + 9:064x}") -> None:
            stack.storage.put(BOB, KEY, stack.storage.find(BOB, KEY), b"after")
            stack.storage.put(BOB, key, None, b"new")

        clients = _meanwhile(number, write)
        stack.tidy(later, clients=clients)
        assert stack.named() <= stack.names(), number
        assert "box/garbage" not in stack.names()
        found = stack.storage.find(BOB, KEY)
        assert found
        assert stack.storage.read(found, 0, found.size) in (b"before", b"after")


def _calls(stack: SweptStack, run: Callable[[Clients], object]) -> list[str]:
    clients, calls = new_clients(), list[str]()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        yield

    gate_calls(clients, gate)
    run(clients)
    return calls


def _meanwhile(number: int, do: Callable[[], object]) -> Clients:
    """Clients of which somebody else does something just before their call of this number."""
    clients, calls = new_clients(), list[str]()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        if len(calls) == number:
            do()
        yield

    gate_calls(clients, gate)
    return clients


def test_nothing_is_deleted_while_a_row_cannot_be_read(stack: SweptStack) -> None:
    stack.put("box/garbage")
    table = stack.deployed.tables["StorageTable"]
    odd = {"pk": {"S": BOB}, "sk": {"S": "z#from a newer release"}}
    stack.deployed.clients.dynamodb.put_item(TableName=table, Item=odd)
    went, counts = stack.tidy(stack.a_day_later())
    assert (went, stack.names(), counts[UNREADABLE]) == ([], {"box/garbage"}, 1)


def test_stale_parts_are_deleted_after_a_day_and_the_count_stays_right(stack: SweptStack) -> None:
    now = 1_795_253_400_000
    begun = (now - GARBAGE_MS) // 1000
    stack.storage.put(BOB, KEY, None, b"sealed")
    for at in (begun - 1000, begun - 1, begun + 1):
        stack.storage.add_part(BOB, b"part", at)
    before = stack.deployed.dump()
    would, _ = stack.tidy(now, dry_run=True)
    assert stack.deployed.dump() == before
    went, counts = stack.tidy(now)
    assert would == went == [f"{BOB}: 1 part that nobody joined, 4 bytes"] * 2
    assert counts["parts.dropped"] == 2
    assert stack.storage.use(BOB) == StorageUsage(2, len(b"sealed") + len(b"part"))
    assert stack.names() == stack.named()


# --- uploads --------------------------------------------------------------------------------------------------------


def test_an_unfinished_upload_is_aborted_after_a_day(stack: SweptStack) -> None:
    s3, bucket = stack.deployed.clients.s3, stack.deployed.bucket
    s3.create_multipart_upload(Bucket=bucket, Key="box/large")
    [upload] = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    s3.create_multipart_upload(Bucket=bucket, Key="of/somebody/else")
    a_day_later = round(upload["Initiated"].timestamp() * 1000) + GARBAGE_MS
    for now, dry_run in ((a_day_later, False), (a_day_later + 1, True)):
        stack.sweep(TemporaryObjects.uploads, now, dry_run=dry_run)
        assert len(s3.list_multipart_uploads(Bucket=bucket)["Uploads"]) == 2
    went, counts = stack.sweep(TemporaryObjects.uploads, a_day_later + 1)
    assert [each["Key"] for each in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == ["of/somebody/else"]
    assert (went, counts["uploads.aborted"]) == (["box/large: 1 unfinished upload, 0 bytes"], 1)


# --- wherever a run dies --------------------------------------------------------------------------------------------


def all_of_it(stack: SweptStack, now: int, clients: Clients | None = None) -> None:
    stack.tidy(now, clients=clients)
    for sweep in (TemporaryObjects.handed_on, TemporaryObjects.uploads):
        stack.sweep(sweep, now, clients=clients)


def littered(stack: SweptStack) -> int:
    """A container, and of all that is swept something; when a day has gone by."""
    stack.storage.put(BOB, KEY, stack.storage.find(BOB, KEY), b"sealed")
    for name in ("box/garbage", claim_name(0, "old"), reply_name(0, "old")):
        stack.put(name)
    stack.storage.add_part(BOB, b"part", 1)
    stack.deployed.clients.s3.create_multipart_upload(Bucket=stack.deployed.bucket, Key="box/large")
    return stack.a_day_later()


def test_a_dead_run_loses_nothing_and_the_next_one_completes_its_work(clients: Clients) -> None:
    victim = new_clients()
    with deployment(clients) as deployed:
        stack = SweptStack(deployed)
        later = littered(stack)
        deaths = deaths_of(victim, lambda: all_of_it(stack, later, victim))
    assert {"DeleteObjects", "AbortMultipartUpload", "TransactWriteItems", "DeleteObject"} < set(deaths.calls)
    for death in deaths.different:
        with holding(death.state):
            assert stack.named() <= stack.names()
            all_of_it(stack, later)
            assert stack.names() == stack.named(), death.after
            assert stack.storage.use(BOB) == StorageUsage(1, len(b"sealed"))
            assert "Uploads" not in stack.deployed.clients.s3.list_multipart_uploads(Bucket=stack.deployed.bucket)


# --- orphans --------------------------------------------------------------------------------------------------------

NOW = 1_795_253_400_000
MOVED = "moved"


def filed(stack: SweptStack, name: str, *whys: str | None) -> list[RowKey]:
    """An object of lines with a row each; of those with a `why` it is gone, `MOVED`: live elsewhere, "": absent."""
    register = stack.deployed.storage.register
    at = hour_of(name)
    rows = [row_key(BOB, 1, at, f"{next(stack._ids):032x}") for _ in whys]
    data, places = lay_out([Line(row, "alice.eth", "{}", {}) for row in rows], name)
    stack.put(name, data)
    for row, place, why in zip(rows, places, whys, strict=True):
        if why != "":
            place = type(place)("chk/2026/01/01/00/other.jsonl", 0, 5) if why == MOVED else place
            register.file(row, place, "alice.eth")
        if why in (ACKED, OVER):
            register.expire(row, why, NOW // 1000 + RETAIN)
    return rows


def collect(stack: SweptStack, *, held: frozenset[str] = frozenset(), dry_run: bool = False) -> Counts:
    tally, deployed = Tally(), stack.deployed
    bucket = Bucket(deployed.clients.s3, deployed.bucket, tally)
    registers = Registers(
        deployed.clients.dynamodb, deployed.tables["PostTable"], reads=Pace(1e9), writes=Pace(1e9), tally=tally
    )
    collect_orphans(bucket, registers, Terms(NOW, RETAIN, held), tally, SerialExecutor(), dry_run=dry_run)
    return tally.take()


@pytest.mark.parametrize("name", [segment_name, chunk_name])
@pytest.mark.parametrize(
    ("whys", "stays"),
    [
        ((ACKED, OVER, MOVED, ""), False),
        # A live row keeps all of the object.
        ((ACKED, None), True),
    ],
)
def test_an_old_object_that_no_row_needs_is_deleted(
    stack: SweptStack, name: Callable[[int, str], str], whys: tuple[str | None, ...], stays: bool
) -> None:
    old = name(NOW - 31 * DAY_MS, "old")
    filed(stack, old, *whys)
    young = name(NOW - 29 * DAY_MS, "young")
    filed(stack, young, ACKED)
    collect(stack, dry_run=True)
    assert stack.names() == {old, young}
    counts = collect(stack)
    assert stack.names() == ({old} if stays else set()) | {young}
    assert counts["objects.collected"] == (not stays)


def test_the_bytes_of_a_mailbox_under_legal_hold_stay_whatever_their_state(stack: SweptStack) -> None:
    name = segment_name(NOW - 31 * DAY_MS, "old")
    filed(stack, name, ACKED, OVER, "")
    collect(stack, held=frozenset({BOB}))
    assert stack.names() == {name}
    collect(stack)
    assert stack.names() == set()
