"""The compaction job: it moves unread mail from segments older than a day into sorted chunks (store protocol, Compact).

    spark-submit glue_jobs/compact_chunks.py --JOB_NAME compact --BUCKET … --POST_TABLE … --DIRECTORY_TABLE … \
        --RETAIN_SECONDS 1900800 [--LAG_HOURS 24] [--READ_UNITS_PER_SECOND 2000] [--WRITE_UNITS_PER_SECOND 500] \
        [--WORKERS 10] [--DRY_RUN true] [--LOG_GROUP …] [--REGION …] [--ENDPOINT_URL http://…]

The same file runs on Glue 5 and on a laptop (`postroom jobs compact`). Spark distributes and sorts the lines;
`postroom.jobs` changes the bucket and the registers, and runs may overlap. The bytes of a line cross Spark once:

    shares of hours ─▶ survey ══▶ by conversation, sorted ─▶ chunks, repoints ══▶ evidence by object ─▶ collected
                       GET, look-ups                         PUT, updates                             DELETE
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from postroom.jobs.bucket import Share
from postroom.jobs.due_hours import due_hours
from postroom.jobs.holds import held_mailboxes
from postroom.jobs.moving import Mover
from postroom.jobs.object_deletion import ObjectDeleter
from postroom.jobs.past_lines import PastLines, added_up
from postroom.jobs.pieces import Joining, pieces_of
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.report import JobReport
from postroom.jobs.report_storage import last_run, publish
from postroom.jobs.settings import CompactSettings, parse, slots_of
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import CountersAccumulator, Counts, Tally
from postroom.jobs.tasks import counted
from postroom.runtime.jobs.parts import JobParts
from postroom.storage.layout import SEGMENTS, RowKey, chunk_name, hour_of, partition
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.object_schedule import HOUR_MS, settled_by, was_seen

LINES = pa.schema(
    {
        "mailbox": pa.string(), "conversation": pa.string(), "sk": pa.string(), "shard": pa.int32(),
        "source": pa.string(), "number": pa.int32(), "part": pa.int32(), "size": pa.int64(), "data": pa.binary(),
    }
)  # fmt: skip
"""The rows that a survey yields: lines and evidence.

A long line is several rows, the `size` of each is that of the whole line. Evidence has an empty mailbox, so that it is
sorted first, and its source as `conversation`, so that it is spread over tasks; `number` is the number of lines of the
object, `size` the size of the object.
"""
ORDER = "mailbox", "conversation", "sk", "source", "part"
_EVIDENCE = pa.schema({"source": pa.string(), "lines": pa.int32(), "size": pa.int64(), "past": pa.binary()})

_BATCH_LINES, _BATCH_BYTES = 32, 4_000_000
"""The maximum of a batch between Python and Spark; Spark limits its own batches by rows only."""
_PARTITION_BYTES = 64 * 1024 * 1024
"""The bytes that one task sorts and divides into chunks; the last chunk of each task is smaller."""
_SHARES_IN_A_GROUP = 96
_TASKS_A_SLOT = 4
_PART_BYTES = _PARTITION_BYTES // 4
_PARTS_OF_A_LARGE_SHARE = 8
_FEWEST_PARTS, _MOST_PARTS = 16, 4_000
"""Partitions of the shuffle; Spark merges small ones when their sizes are known. Each partition costs time in every
task that writes to it."""

Batches = Iterable[pa.RecordBatch]


def run(spark: SparkSession, settings: CompactSettings, *, now: int) -> JobReport:
    """Compact the hours that are due at `now` (epoch milliseconds)."""
    slots = slots_of(settings.workers) or spark.sparkContext.defaultParallelism
    job = JobParts(settings, slots)
    began, tally = time.time(), Tally()
    bucket = job.bucket(tally)
    before = last_run("compact", job.documents(), now)
    lag_ms = settings.lag_hours * HOUR_MS
    hours = list(due_hours(bucket, lag_ms=lag_ms, before=before, now=now))
    counts: Counts = Counter()
    shares = (share for hour in hours for share in bucket.shares(hour))
    # Oldest first, and one group after another: a run that is stopped half way has finished half of the work.
    while group := list(islice(shares, _SHARES_IN_A_GROUP)):
        terms = Terms(now, settings.retain_seconds, held_mailboxes(job.directory(tally)))
        counts.update(compact(spark, job, terms, group, dry_run=settings.dry_run))
    counts.update(tally.take())
    ended = now + round((time.time() - began) * 1000)
    # Segments that an earlier run read are not late: they are kept because a row may still be written for a line.
    segments = [hour_of(hour) for hour in hours if hour.startswith(SEGMENTS)]
    late = [hour for hour in segments if not was_seen(hour, before)]
    late_ms = now - min(late, default=now)
    return JobReport("compact", now, ended, settings.dry_run, counts, late_ms, settled_by(lag_ms, now))


def compact(spark: SparkSession, job: JobParts, terms: Terms, shares: list[Share], *, dry_run: bool) -> Counts:
    """Compact these shares of hours; returns the counts."""
    wanted = sum(_PARTS_OF_A_LARGE_SHARE if share.size is None else share.size / _PART_BYTES for share in shares)
    parts = min(max(round(wanted), _FEWEST_PARTS), _MOST_PARTS)
    for name, value in {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": str(_PARTITION_BYTES),
        "spark.sql.adaptive.coalescePartitions.initialPartitionNum": str(parts),
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_LINES),
    }.items():
        spark.conf.set(name, value)
    counts = spark.sparkContext.accumulator(Counter[str](), CountersAccumulator())

    def survey(tally: Tally, pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        bucket = job.bucket(tally)
        surveyor = Survey(bucket, job.registers(tally), Quarantine(bucket, tally, dry_run=dry_run), terms, tally, pool)
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        found = surveyor.survey(found for number in numbers for found in bucket.objects(shares[number]))
        # Objects without live lines are deleted now, so that a run that fails later has done part of its work.
        yield from batches_of(ObjectDeleter(bucket, tally, dry_run=dry_run).delete_while_reading(found))

    def move(tally: Tally, pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        def new_name() -> str:
            return chunk_name(terms.now, uuid4().hex)

        mover = Mover(job.bucket(tally), job.registers(tally), tally, pool, new_name, dry_run=dry_run)
        passed: list[PastLines] = []
        moved: list[PastLines] = []
        for evidence in mover.move(kept_in(batches, passed)):
            moved.append(evidence)
            if len(moved) + len(passed) >= 10_000:
                yield evidence_batch(moved + passed)
                moved.clear()
                passed.clear()
        yield evidence_batch(moved + passed)

    def collect(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        known = (
            added_up(row["source"], [PastLines(row["source"], row["lines"], past, row["size"]) for past in row["past"]])
            for batch in batches
            for row in batch.to_pylist()
        )
        ObjectDeleter(job.bucket(tally), tally, dry_run=dry_run).delete(known)
        yield from ()

    # In order of time: if Spark splits a large conversation, the parts are different periods.
    tasks = min(len(shares), max(_TASKS_A_SLOT * spark.sparkContext.defaultParallelism, len(shares) // 2))
    sources = spark.range(0, len(shares), 1, tasks)
    lines = sources.mapInArrow(counted(counts, survey), ddl(LINES))
    # Spark hashes by conversation, and then merges small partitions and splits large ones by their real sizes. A global
    # sort would have to read all lines twice, to choose the ranges.
    sorted_lines = spark.sql("SELECT /*+ REBALANCE(mailbox, conversation) */ * FROM {lines}", lines=lines)
    evidence = sorted_lines.sortWithinPartitions(*ORDER).mapInArrow(counted(counts, move), ddl(_EVIDENCE))
    by_object = evidence.groupBy("source").agg(
        f.max("lines").alias("lines"), f.max("size").alias("size"), f.collect_list("past").alias("past")
    )
    by_object.mapInArrow(counted(counts, collect), "nothing int").write.format("noop").mode("overwrite").save()
    return counts.value


def batches_of(found: Iterable[ChunkLine | PastLines]) -> Iterator[pa.RecordBatch]:
    """Lines and evidence as record batches for Spark."""
    rows: list[tuple[object, ...]] = []
    size = 0
    for each in found:
        if isinstance(each, PastLines):
            rows.append(("", each.source, "", 0, each.source, each.lines, 0, each.size, each.past))
            size += len(each.past)
        else:
            mailbox, _, shard = each.row.pk.rpartition("#")
            line = mailbox, each.conversation, each.row.sk, int(shard), each.source, each.number
            rows.extend((*line, part, len(each.data), piece) for part, piece in enumerate(pieces_of(each.data)))
            size += len(each.data)
        if size >= _BATCH_BYTES:
            yield batch_of(rows, LINES)
            rows, size = [], 0
    if rows:
        yield batch_of(rows, LINES)


def kept_in(batches: Batches, passed: list[PastLines]) -> Iterator[ChunkLine]:
    """The lines in batches of `batches_of`; their evidence is appended to `passed`. Raises as `Joining` does."""
    joining = Joining()
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        for mailbox, conversation, sk, shard, source, number, part, size, data in zip(*columns, strict=True):
            if not sk:
                passed.append(PastLines(source, number, data, size))
            elif whole := joining.add((source, number), part, size, data):
                yield ChunkLine(RowKey(partition(mailbox, shard), sk), conversation, source, number, whole)
    joining.done()


def evidence_batch(known: Iterable[PastLines]) -> pa.RecordBatch:
    """Evidence as a record batch for Spark."""
    return batch_of([(each.source, each.lines, each.size, each.past) for each in known], _EVIDENCE)


def batch_of(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """A record batch of rows."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def ddl(schema: pa.Schema) -> str:
    """A schema in Spark's DDL."""
    kinds = {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}
    return ", ".join(f"{field.name} {kinds[field.type]}" for field in schema)


def main(arguments: list[str]) -> None:
    """Run once, and report. Raises SettingsError, NotNowError(STORE_UNAVAILABLE)."""
    settings = parse(CompactSettings, arguments)
    spark = SparkSession.builder.appName(settings.job_name).getOrCreate()
    report = run(spark, settings, now=round(time.time() * 1000))
    job = JobParts(settings)
    publish(report, job.documents(), job.metric_log())


if __name__ == "__main__":
    main(sys.argv[1:])
