"""Compaction: its bytes by those that plain Spark sorts, its swings by bare updates, and what it buys a reader.

python -m benchmarks.bench_jobs [MESSAGES]      # a tenth of it, it, and ten times as many; 100,000 unless said
"""

import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil
from benchmarks.__main__ import report
from benchmarks.harness import NORMAL, Benchmark, Effort, Table, marked, times
from benchmarks.job_files import AllLive, FileReach, in_one_process, lay_down, shares_of
from benchmarks.mail import CROWD, CROWDED, Plan, item_of, write
from pyspark.sql import SparkSession
from tests.aws import Deployed, deploy_on

from glue_jobs import compact_chunks
from postroom.jobs.bucket import Bucket
from postroom.jobs.moving import Mover
from postroom.jobs.pace import Pace
from postroom.jobs.reach import THREADS, Reach
from postroom.jobs.registers import Registers
from postroom.jobs.settings import CompactSettings
from postroom.jobs.survey import Terms
from postroom.jobs.tally import Counts, Tally
from postroom.local.clients import REGION
from postroom.local.emulator import Emulator
from postroom.local.spark import environment_of, spark_environment
from postroom.settings import Settings
from postroom.store.cutting import Kept
from postroom.store.keys import RowKey
from postroom.store.reader import Reader, runs_of
from postroom.store.register import Register, Row
from postroom.store.segments import Objects, Place

_ACCOUNT: Final = "100000000008"
_NOW: Final = 1_795_100_000_000
_TERMS: Final = Terms(_NOW, Settings().retain_seconds, frozenset())
_HEAP: Final = "1g"
_LARGEST: Final = 1_000_000
_UNBOUNDED: Final = 1_000_000_000
_CONVERSATION: Final = 2_000
_SOURCE: Final = "seg/bench"
_EVEN: Final = (0.8, 1.2)
_LOOKS_SECONDS: Final = 0.1
_ROOT: Final = Path(__file__).parent.parent

NOTES: Final = f"""\
Mail of a day (`benchmarks/mail.py`: envelopes of 2 kB, heavy-tailed; with its receipt a line has some 4.6 kB), in
segments of a hundred lines, all of it live. Spark runs on this machine with all its cores and a heap of {_HEAP},
whatever the size.

*The byte path*: local files stand for S3, and every row says that its line is needed. `plain Spark` reads the same
files as lines of text, sorts them and writes them as text. `one process` is the job without Spark: sixteen threads that
read and write, and all lines sorted in memory, so that it ends where memory does. Ratios are of messages a second, by
plain Spark's; *memory* is the most that the Python processes of Spark held together, in MB; *driver* is the job's own
process. In the last row one conversation has half of all messages.

*S3* is asked of the embedded AWS over HTTP; requests are counted in the job's report.

*Swings* are the job's by bare `UpdateItem` calls with the same condition from as many threads, on the embedded AWS,
which writes some 900 a second.

*What it buys*: one conversation of up to {_CONVERSATION:,} messages, read whole by `store.reader`, in requests to S3
and times of the embedded AWS, where mail lies in segments of a hundred lines, of all mailboxes.

Wanted: ≥ 0.70 of plain Spark; ≥ 2 × one process; from 100,000 messages up the cost of one within 20 %; at most one
GET an object, one PUT a chunk and no HEAD; swings ≥ 0.80 of bare ones.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """All of it."""
    sizes = [size for size in (effort.messages // 10, effort.messages, effort.messages * 10) if size <= _LARGEST]
    turns = min(3, effort.turns)
    with _spark() as spark, TemporaryDirectory() as folder:
        rows, pace = [], {}
        for size, half in [(size, False) for size in sizes] + [(sizes[-1] // 10, True)]:
            row, seconds = _byte_path(spark, Path(folder), size, turns, half=half)
            if not half:
                pace[size] = seconds / size
            rows.append(row)
        flat = pace[sizes[-1]] / pace[sizes[-2]]
        even = marked(flat, reached=_EVEN[0] <= flat <= _EVEN[1])
        with Emulator() as emulator:
            deployed = deploy_on(emulator.clients(_ACCOUNT))
            endpoint = f"http://127.0.0.1:{emulator.port}"
            asked = _over_s3(spark, deployed, endpoint, effort.messages // 10)
            swings = [_swings(deployed, size) for size in sizes[:2]]
            bought = _bought(spark, deployed, endpoint, effort.messages // 10)
    return [
        Table("The byte path", ("messages", "by plain Spark", "by one process", "memory", "driver"), tuple(rows)),
        Table("", ("cost of a message", "ratio"), ((f"{sizes[-1]:,} by {sizes[-2]:,}", even),)),
        Table("S3", ("requests", "by objects", "by chunks"), asked),
        Table("Swings", ("rows", "by bare updates"), tuple(swings)),
        Table("What it buys", ("a conversation", "requests", "time"), bought),
    ]  # fmt: skip


def _byte_path(
    spark: SparkSession, folder: Path, messages: int, turns: int, *, half: bool
) -> tuple[tuple[str, ...], float]:
    mail, into, sorted_text = folder / "mail", folder / "into", folder / "text"
    plan = _plan(messages, one_conversation=messages // 2 if half else 0)
    lay_down(plan, mail)
    shares, reach = shares_of(mail), FileReach(str(mail), str(into))

    def ours() -> None:
        compact_chunks.compact(spark, reach, _TERMS, shares, dry_run=False)  # type: ignore[arg-type]

    def plain() -> None:
        spark.read.text(str(mail), recursiveFileLookup=True).sort("value").write.text(str(sorted_text))

    def single() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            in_one_process(reach.bucket_of(Tally()), AllLive(), _TERMS, shares, pool)

    rounds: list[list[float]] = []
    most = driver = 0.0
    for _ in range(turns):
        seconds = []
        for way in (plain, ours, single):
            for made in (into, sorted_text):
                shutil.rmtree(made, ignore_errors=True)
            with _memory() as held:
                began = time.perf_counter()
                way()
                seconds.append(time.perf_counter() - began)
            if way is ours:
                most, driver = max(most, held[0]), max(driver, held[1])
        rounds.append(seconds)
    shutil.rmtree(mail)
    fastest = [min(times_of) for times_of in zip(*rounds, strict=True)]
    by_plain, by_single = fastest[0] / fastest[1], fastest[2] / fastest[1]
    name = f"{messages:,}{', half of them one conversation' if half else ''}"
    row = (
        name, marked(by_plain, reached=by_plain >= 0.7), marked(by_single, reached=by_single >= 2),
        f"{most:,.0f}", f"{driver:,.0f}",
    )  # fmt: skip
    return row, fastest[1]


def _over_s3(spark: SparkSession, deployed: Deployed, endpoint: str, messages: int) -> tuple[tuple[str, ...], ...]:
    written = _fill(deployed, _plan(messages))
    counts = _compact(spark, deployed, endpoint)
    kinds = ("get", "put", "head", "delete", "list")
    return tuple(
        (kind, f"{counts[f's3.{kind}'] / written:.3f}", f"{counts[f's3.{kind}'] / counts['chunks']:.2f}")
        for kind in kinds
    )


def _swings(deployed: Deployed, rows: int) -> tuple[str, str]:
    """Rows that point to one object are asked to move to another, and then, bare, back."""
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
        assert tally.take()["lines.swung"] == rows
        at = {item["sk"]["S"]: item["o"]["S"] for item in deployed.rows("PostTable") if item["pk"]["S"] == "bench#0"}

        def bare(line: Kept) -> None:
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
    return f"{rows:,}", marked(ratio, reached=ratio >= 0.8)


def _bought(spark: SparkSession, deployed: Deployed, endpoint: str, messages: int) -> tuple[tuple[str, str, str], ...]:
    # Where everybody's mail comes in, few lines of a segment are of one conversation.
    _fill(deployed, replace(_plan(messages), one_conversation=min(_CONVERSATION, messages // 2)))
    before = _read(deployed)
    _compact(spark, deployed, endpoint)
    after = _read(deployed)
    return (
        ("in segments", str(before[0]), times(1)),
        ("in chunks", str(after[0]), times(after[1] / before[1])),
    )


def _read(deployed: Deployed) -> tuple[int, float]:
    """The requests and the seconds that it takes to read the conversation."""
    dynamodb, table = deployed.clients.dynamodb, deployed.tables["PostTable"]
    reader = Reader(dynamodb, table, Register(dynamodb, table), Objects(deployed.clients.s3, deployed.bucket))
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        rows = list(reader.list(CROWDED, 1, now=_NOW // 1000, conversations=frozenset({CROWD})))
        found = reader.fetch_all(rows)
        seconds.append(time.perf_counter() - began)
        assert len(found) == len(rows)
    return len(runs_of(rows)), statistics.median(seconds)


def _compact(spark: SparkSession, deployed: Deployed, endpoint: str) -> Counts:
    settings = CompactSettings(
        job_name="bench", bucket=deployed.bucket, post_table=deployed.tables["PostTable"],
        directory_table=deployed.tables["DirectoryTable"], retain_seconds=Settings().retain_seconds,
        read_units_per_second=_UNBOUNDED, write_units_per_second=_UNBOUNDED, endpoint_url=endpoint,
    )  # fmt: skip
    tally = Tally()
    reach = Reach.of(settings, 1)
    bucket: Bucket = reach.bucket_of(tally)
    shares = [share for hour in bucket.hours("seg/") for share in bucket.shares(hour)]
    return compact_chunks.compact(spark, reach, _TERMS, shares, dry_run=False) + tally.take()


def _fill(deployed: Deployed, plan: Plan) -> int:
    aws = deployed.clients
    return write(plan, aws.s3, deployed.bucket, aws.dynamodb, deployed.tables["PostTable"]).segments


class _Nowhere:
    """A bucket that takes what is put into it."""

    def put_new(self, _name: str, _data: bytes, _content_type: str) -> bool:
        return True


def _some_rows(deployed: Deployed, rows: int) -> list[Kept]:
    """Rows that point to one object, and lines of theirs on their way elsewhere."""
    keys = [RowKey("bench#0", f"m#{_NOW + number:013d}#{number:032x}") for number in range(rows)]
    aws, table = deployed.clients.dynamodb, deployed.tables["PostTable"]
    puts = [{"PutRequest": {"Item": item_of(Row(key, Place(_SOURCE, 0, 1), "bench"))}} for key in keys]
    for start in range(0, rows, 25):
        aws.batch_write_item(RequestItems={table: puts[start : start + 25]})  # type: ignore[dict-item]
    return [Kept(key, "bench", _SOURCE, number, bytes(2_000)) for number, key in enumerate(keys)]


def _plan(messages: int, **more: int) -> Plan:
    return Plan(
        messages=messages, seed=messages, mailboxes=max(10, messages // 100), ends_at_ms=_NOW - 90_000_000,
        acknowledged=0, discarded=0, late=0, redelivered=0, orphans=0, corrupt=0, **more,
    )  # fmt: skip


@contextmanager
def _spark() -> Iterator[SparkSession]:
    before = dict(os.environ)
    os.environ |= (
        environment_of(_ACCOUNT, REGION)
        | spark_environment()
        | {
            # What stages are made of is imported where they run.
            "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "layers" / "postroom")]),
            "PYSPARK_SUBMIT_ARGS": f"--driver-memory {_HEAP} --conf spark.ui.enabled=false "
            "--conf spark.ui.showConsoleProgress=false pyspark-shell",
        }
    )
    spark = SparkSession.builder.master("local[*]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _memory() -> Iterator[list[float]]:
    """The most that Spark's Python processes held together, and this one, meanwhile: MB."""
    most, over, this = [0.0, 0.0], threading.Event(), psutil.Process()

    def look() -> None:
        while not over.wait(_LOOKS_SECONDS):
            held = 0
            for process in this.children(recursive=True):
                with suppress(psutil.Error):
                    held += process.memory_info().rss if process.name() != "java" else 0
            most[0] = max(most[0], held / 1e6)
            most[1] = max(most[1], this.memory_info().rss / 1e6)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        over.set()
        looking.join()


BENCHMARK: Final = Benchmark("jobs", "compaction, by plain Spark and by bare updates", NOTES, measure)


if __name__ == "__main__":
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else NORMAL.messages
    print(*report(BENCHMARK, replace(NORMAL, messages=messages)), sep="\n")
