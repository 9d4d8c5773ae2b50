"""Benchmark `jobs`: compaction, compared with plain Spark and bare updates, and reads before and after it."""

import shutil
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import psutil
from benchmarks.harness import NORMAL, Benchmark, Effort, KnownMiss, Table, marked, times
from benchmarks.job_files import AllLive, FileReach, LiveReach, in_one_process, lay_down, shares_of
from benchmarks.mail import CROWD, CROWDED, Plan, put_rows, write
from benchmarks.spark import session
from pyspark.sql import SparkSession
from tests.aws import Deployed, deploy_on

from glue_jobs import compact_chunks
from postroom.core.settings import DeploymentSettings
from postroom.jobs.bucket import MOST_DELETED, Bucket, Share
from postroom.jobs.moving import Mover
from postroom.jobs.pace import Pace
from postroom.jobs.registers import Registers
from postroom.jobs.settings import CompactSettings
from postroom.jobs.survey import Terms
from postroom.jobs.tally import Counts, Tally
from postroom.jobs.tasks import THREADS
from postroom.local.emulator import Emulator
from postroom.runtime.jobs.parts import JobParts
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import CHUNKS, SEGMENTS, RowKey
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.reader import runs_of
from postroom.storage.mail.register import Row

_ACCOUNT: Final = "100000000008"
_NOW: Final = 1_795_100_000_000
_TERMS: Final = Terms(_NOW, DeploymentSettings().retain_seconds, frozenset())
_HEAP: Final = "1g"
_LARGEST: Final = 1_000_000
_UNBOUNDED: Final = 1_000_000_000
_CONVERSATION: Final = 2_000
_SOURCE: Final = "seg/bench"
_EVEN: Final = (0.8, 1.2)
_LOOKS_SECONDS: Final = 0.1
_KINDS = _PYTHON, _JAVA, _DRIVER = "Python", "Java", "driver"
T = TypeVar("T")
Taken = tuple[float, float]
"""Seconds: elapsed, and processor time."""
_NAMES: Final = {"a tenth": 0.1, "all": 1, "ten times as many": 10}

NOTES: Final = f"""\
The mail of a day (`benchmarks/mail.py`: envelopes of 2 kB, with a heavy-tailed distribution; a line has about 4.6 kB
with its receipt), in segments of a hundred lines, all of which are live; *all* are {NORMAL.messages:,} messages. Spark
runs on this machine with all its cores and a heap of {_HEAP}, whatever the size. Ratios compare messages per second:
above 1, the job is faster.

*The byte path*: local files replace S3, and every row says that its line is live. `plain Spark` reads the same files as
lines of text, sorts them and writes them as text, without Python; *PySpark* does the same, but its lines also pass
unchanged through Python before and after the sort. `threads` is the job without Spark, in a process of its own: sixteen
threads read and write, and all lines are sorted in memory, so it fails when they do not fit. *Python* (all of Spark's
Python workers), *Java* and *driver* are the maximum memory in MB. In the last row, one conversation has half of all
messages.

*Long lines*: the bytes of *all*, in a thousandth of the lines. Plain Spark cannot sort them with the same heap: to sort
by line, it first collects samples of whole lines in its driver.

*Over S3*: both call the embedded AWS with boto3; it runs on the same processors. *Processor* is the processor time for
one message, without that of the embedded AWS. One process uses at most one processor, because Python runs one thread at
a time; Spark uses all of them.

*Requests* to the embedded AWS are those that the job's report counts. The job sends no HEAD requests.

*Repoints*: the job's, compared with bare `UpdateItem` calls with the same condition from as many threads, on the
embedded AWS, which processes about 900 writes per second.

*Reading a conversation* of up to {_CONVERSATION:,} messages with `storage.mail.reader`, in requests to S3 and
milliseconds of the embedded AWS, from segments with a hundred lines of all mailboxes, and from chunks.

Goals: ≥ 0.70 of plain Spark; ≥ 2 × the threads; from *all* messages on, the time per message within 20 %; at most one
GET per object, and one PUT per chunk; repoints ≥ 0.80 of bare ones.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """All tables."""
    of_all = {name: round(effort.messages * times_all) for name, times_all in _NAMES.items()}
    sizes = {name: size for name, size in of_all.items() if size <= _LARGEST}
    with (
        Emulator() as emulator,
        session((clients := emulator.clients(_ACCOUNT)).at, submit=f"--driver-memory {_HEAP}") as spark,
        TemporaryDirectory() as folder,
    ):
        paths, cost = [], {}
        for name, size in sizes.items():
            row, seconds = _byte_path(spark, Path(folder), name, _plan(size), _turns(effort, size))
            paths.append(row)
            cost[name] = seconds / size
        crowd = _plan(effort.messages, one_conversation=effort.messages // 2)
        paths.append(_byte_path(spark, Path(folder), "all, half of it one conversation", crowd, 1)[0])
        messages = _plan(max(2, effort.messages // 1000), median_bytes=5_000_000, most_bytes=5_000_000, batch=2)
        long = _long_lines(spark, Path(folder), messages)
        deployed, endpoint = deploy_on(clients), emulator.endpoint
        pooled = [
            _by_threads(spark, deployed, endpoint, name, sizes[name], _turns(effort, sizes[name]))
            for name in ("a tenth", "all")
        ]
        asked = _requests(spark, deployed, endpoint, effort.messages // 10)
        repoints = [_repoints(deployed, name, sizes[name]) for name in ("a tenth", "all")]
        bought = _bought(spark, deployed, endpoint, effort.messages // 10)
    return [
        Table(
            "The byte path",
            ("messages", *_KINDS, "job : threads", "job : PySpark", "job : plain Spark"),
            tuple(paths),
        ),
        Table("", ("time per message", "ratio"), tuple(_flat(cost))),
        Table("Long lines", ("messages", *_KINDS, "job : threads"), (long,)),
        Table("Over S3", ("messages", "processor", "job : threads"), tuple(pooled)),
        Table("Requests", ("kind", "per object", "per chunk"), asked),
        Table("Repoints", ("rows", "job : bare updates"), tuple(repoints)),
        Table("Reading a conversation", ("conversation", "requests", "ms", "time"), bought),
    ]  # fmt: skip


def _turns(effort: Effort, size: int) -> int:
    return 1 if size > effort.messages else min(3, effort.turns)


def _flat(cost: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for less, more in pairwise(cost):
        ratio = cost[more] / cost[less]
        wanted = less != "a tenth"
        yield f"{more} : {less}", marked(ratio, reached=not wanted or _EVEN[0] <= ratio <= _EVEN[1])


def _byte_path(spark: SparkSession, folder: Path, name: str, plan: Plan, turns: int) -> tuple[tuple[str, ...], float]:
    """A row, and the seconds that the job took."""
    mail, into, sorted_text = folder / "mail", folder / "into", folder / "text"
    lay_down(plan, mail)
    shares, reach = shares_of(mail), FileReach(str(mail), str(into))
    most: Counter[str] = Counter()

    def ours() -> Taken:
        return _remembered(spark, reach, shares, most)

    def plain() -> Taken:
        # A new session, because the job changes the settings of its own.
        lines = spark.newSession().read.text(str(mail), recursiveFileLookup=True)
        return _taken(lambda: lines.sort("value").write.text(str(sorted_text)))

    def clear() -> None:
        for made in (into, sorted_text):
            shutil.rmtree(made, ignore_errors=True)

    def through_python() -> Taken:
        lines = spark.newSession().read.text(str(mail), recursiveFileLookup=True).mapInArrow(_as_it_is, "value string")
        back = lines.sort("value").mapInArrow(_as_it_is, "value string")
        return _taken(lambda: back.write.text(str(sorted_text)))

    ways = (plain, ours, through_python, lambda: _by_itself(reach, shares))
    by_plain, own, by_python, by_threads = (seconds for seconds, _ in _best(ways, turns, clear))
    shutil.rmtree(mail)
    to_plain, to_threads = by_plain / own, by_threads / own
    row = (
        name, *_megabytes(most),
        marked(to_threads, reached=to_threads >= 2), times(by_python / own),
        marked(to_plain, reached=to_plain >= 0.7),
    )  # fmt: skip
    return row, own


def _long_lines(spark: SparkSession, folder: Path, plan: Plan) -> tuple[str, ...]:
    mail, into = folder / "mail", folder / "into"
    lay_down(plan, mail)
    shares, reach = shares_of(mail), FileReach(str(mail), str(into))
    most: Counter[str] = Counter()
    own, _ = _remembered(spark, reach, shares, most)
    shutil.rmtree(into)
    threads, _ = _by_itself(reach, shares)
    for made in (into, mail):
        shutil.rmtree(made)
    return "messages of 5 MB", *_megabytes(most), times(threads / own)


def _remembered(spark: SparkSession, reach: FileReach, shares: list[Share], most: Counter[str]) -> Taken:
    """The time of the job. `most`: receives the maximum memory."""
    with _memory(most):
        return _taken(lambda: compact_chunks.compact(spark, reach, _TERMS, shares, dry_run=False))  # type: ignore[arg-type]


def _megabytes(most: Mapping[str, int]) -> Iterator[str]:
    return (f"{most[kind] / 1e6:,.0f}" for kind in _KINDS)


def _by_threads(
    spark: SparkSession, deployed: Deployed, endpoint: str, name: str, messages: int, turns: int
) -> tuple[str, ...]:
    _fill(deployed, _plan(messages), rows=False)
    reach = LiveReach(deployed.bucket, endpoint)
    shares = _segments(reach.bucket(Tally()))

    def ours() -> Taken:
        return _taken(lambda: compact_chunks.compact(spark, reach, _TERMS, shares, dry_run=False))  # type: ignore[arg-type]

    ways = (ours, lambda: _by_itself(reach, shares))
    (own, own_processor), (theirs, their_processor) = _best(ways, turns, lambda: _empty(deployed, CHUNKS))
    _empty(deployed, SEGMENTS)
    return name, times(own_processor / their_processor), marked(theirs / own, reached=theirs / own >= 2)


def _by_itself(reach: FileReach | LiveReach, shares: Sequence[Share]) -> Taken:
    """The time of the threads in a new process, which returns all memory when it ends."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_threads, reach, shares).result()


def _threads(reach: FileReach | LiveReach, shares: Sequence[Share]) -> Taken:
    with ThreadPoolExecutor(THREADS) as pool:
        return _taken(lambda: in_one_process(reach.bucket(Tally()), AllLive(), _TERMS, shares, pool))


def _as_it_is(batches: Iterator[T]) -> Iterator[T]:
    return batches


def _best(ways: Sequence[Callable[[], Taken]], turns: int, clear: Callable[[], None]) -> list[Taken]:
    """The minimum time of each way; they run in turns."""
    taken: list[list[Taken]] = [[] for _ in ways]
    for _ in range(turns):
        for way, times_of in zip(ways, taken, strict=True):
            clear()
            times_of.append(way())
    clear()
    return [min(times_of) for times_of in taken]


def _taken(work: Callable[[], object]) -> Taken:
    processor, began = _processor(), time.perf_counter()
    work()
    return time.perf_counter() - began, _processor() - processor


def _requests(spark: SparkSession, deployed: Deployed, endpoint: str, messages: int) -> tuple[tuple[str, ...], ...]:
    written = _fill(deployed, _plan(messages))
    counts = _compact(spark, deployed, endpoint)
    kinds = ("get", "put", "delete", "list")
    return tuple(
        (kind, f"{counts[f's3.{kind}'] / written:.3f}", f"{counts[f's3.{kind}'] / counts['chunks']:.2f}")
        for kind in kinds
    )


def _repoints(deployed: Deployed, name: str, rows: int) -> tuple[str, str]:
    """Repoints of rows from one object to another by the job, compared with bare updates that point them back."""
    dynamodb, table = deployed.clients.dynamodb, deployed.tables["PostTable"]
    lines = _some_rows(deployed, rows)
    tally = Tally()
    registers = Registers(dynamodb, table, reads=Pace(_UNBOUNDED), writes=Pace(_UNBOUNDED), tally=tally)
    with ThreadPoolExecutor(THREADS) as pool:
        names = iter(f"chk/bench/{number}" for number in range(rows))
        mover = Mover(_Nowhere(), registers, tally, pool, lambda: next(names), dry_run=False)  # type: ignore[arg-type]
        began = time.perf_counter()
        for _ in mover.move(lines):
            pass
        ours = time.perf_counter() - began
        assert tally.take()["lines.repointed"] == rows
        at = {item["sk"]["S"]: item["o"]["S"] for item in deployed.rows("PostTable") if item["pk"]["S"] == "bench#0"}

        def bare(line: ChunkLine) -> None:
            dynamodb.update_item(
                TableName=table,
                Key={"pk": {"S": line.row.pk}, "sk": {"S": line.row.sk}},
                UpdateExpression="SET o = :o, off = :off, len = :len",
                ConditionExpression="st = :live AND o = :src",
                ExpressionAttributeValues={
                    ":o": {"S": _SOURCE}, ":off": {"N": "0"}, ":len": {"N": "1"}, ":live": {"S": "L"},
                    ":src": {"S": at[line.row.sk]},
                },
            )  # fmt: skip

        began = time.perf_counter()
        list(pool.map(bare, lines))
        ratio = (time.perf_counter() - began) / ours
    return name, marked(ratio, reached=ratio >= 0.8)


def _bought(spark: SparkSession, deployed: Deployed, endpoint: str, messages: int) -> tuple[tuple[str, ...], ...]:
    # Segments have the mail of all mailboxes, so few lines of a segment are of this conversation.
    _fill(deployed, replace(_plan(messages), one_conversation=min(_CONVERSATION, messages // 2)))
    before = _read(deployed)
    _compact(spark, deployed, endpoint)
    after = _read(deployed)
    return (
        ("in segments", str(before[0]), f"{before[1] * 1000:,.0f}", times(1)),
        ("in chunks", str(after[0]), f"{after[1] * 1000:,.0f}", times(after[1] / before[1])),
    )


def _read(deployed: Deployed) -> tuple[int, float]:
    """The requests and seconds for reading the conversation."""
    reader = deployed.storage.reader
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        rows = list(reader.list(CROWDED, 1, now=_NOW // 1000, conversations=frozenset({CROWD})))
        found = reader.fetch_all(rows)
        seconds.append(time.perf_counter() - began)
        assert len(found) == len(rows)
    return len(runs_of(rows)), statistics.median(seconds)


def _compact(spark: SparkSession, deployed: Deployed, endpoint: str) -> Counts:
    job, tally = _job(deployed, endpoint), Tally()
    return compact_chunks.compact(spark, job, _TERMS, _segments(job.bucket(tally)), dry_run=False) + tally.take()


def _job(deployed: Deployed, endpoint: str) -> JobParts:
    settings = CompactSettings(
        job_name="compact", bucket=deployed.bucket, post_table=deployed.tables["PostTable"],
        directory_table=deployed.tables["DirectoryTable"], retain_seconds=DeploymentSettings().retain_seconds,
        read_units_per_second=_UNBOUNDED, write_units_per_second=_UNBOUNDED, endpoint_url=endpoint,
    )  # fmt: skip
    return JobParts(settings)


def _segments(bucket: Bucket) -> list[Share]:
    return [share for hour in bucket.hours(SEGMENTS) for share in bucket.shares(hour)]


def _fill(deployed: Deployed, plan: Plan, *, rows: bool = True) -> int:
    aws = deployed.clients
    return write(plan, aws.s3, deployed.bucket, aws.dynamodb, deployed.tables["PostTable"], rows=rows).segments


def _empty(deployed: Deployed, prefix: str) -> None:
    bucket = Bucket(deployed.clients.s3, deployed.bucket, Tally())
    for hour in bucket.hours(prefix):
        names = [found.name for found in bucket.objects(Share(hour))]
        for start in range(0, len(names), MOST_DELETED):
            bucket.delete_all(names[start : start + MOST_DELETED])


class _Nowhere:
    """A bucket that discards what is written to it."""

    def put_new(self, _name: str, _data: bytes, _content_type: str) -> bool:
        return True


def _some_rows(deployed: Deployed, rows: int) -> list[ChunkLine]:
    """Rows that point to one object, and their lines, to be moved to another."""
    keys = [RowKey("bench#0", f"m#{_NOW + number:013d}#{number:032x}") for number in range(rows)]
    there = [Row(key, Place(_SOURCE, 0, 1), "bench") for key in keys]
    put_rows(deployed.clients.dynamodb, deployed.tables["PostTable"], there)
    return [ChunkLine(key, "bench", _SOURCE, number, bytes(2_000)) for number, key in enumerate(keys)]


def _plan(messages: int, **more: int) -> Plan:
    return Plan(
        messages=messages, seed=messages, mailboxes=max(10, messages // 100), ends_at_ms=_NOW - 90_000_000,
        acknowledged=0, discarded=0, late=0, redelivered=0, orphans=0, corrupt=0, **more,
    )  # fmt: skip


def _processes() -> Iterator[tuple[str, psutil.Process]]:
    """This process and those of Spark, by kind."""
    this = psutil.Process()
    yield _DRIVER, this
    for process in this.children(recursive=True):
        with suppress(psutil.Error):
            if process.name() == "java":
                yield _JAVA, process
            elif "pyspark.daemon" in process.cmdline():
                yield _PYTHON, process


def _processor() -> float:
    """Their processor time in seconds."""
    total = 0.0
    for _, process in _processes():
        with suppress(psutil.Error):
            taken = process.cpu_times()
            total += taken.user + taken.system
    return total


@contextmanager
def _memory(most: Counter[str]) -> Iterator[None]:
    """Record their maximum memory in bytes within the block, by kind."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOKS_SECONDS):
            held: Counter[str] = Counter()
            for kind, process in _processes():
                with suppress(psutil.Error):
                    held[kind] += process.memory_info().rss
            most.update({kind: max(size - most[kind], 0) for kind, size in held.items()})

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


KNOWN: Final = (
    KnownMiss(
        "job : threads",
        (*_NAMES, "all, half of it one conversation"),
        "the threads start no tasks and have all lines in memory. With two processors, the job takes as long at best; "
        "with four, it should be twice as fast, which is calculated and not measured.",
    ),
    KnownMiss(
        "job : plain Spark",
        ("a tenth", "all, half of it one conversation"),
        "starting a task takes longer than its work in a small run; with half of all in one conversation, the goal is "
        "as near as the results of runs are to each other.",
    ),
    KnownMiss(
        "ratio",
        ("ten times as many : all",),
        "runs of *all* differ by more than the goal, from 46 to 71 µs for a message; ten times as many took 51 and 57.",
    ),
)
BENCHMARK: Final = Benchmark("jobs", "Compaction", NOTES, measure, known=KNOWN)
