"""Expiry: deletion of expired messages and of objects that are no longer needed (store protocol, Acknowledge, Collect).

    spark-submit glue_jobs/expire_messages.py --JOB_NAME expire --BUCKET … --POST_TABLE … --DIRECTORY_TABLE … \
        --LIMITS_TABLE … --STORAGE_TABLE … --RETAIN_SECONDS 1900800 [--DM3_MESSAGE_TTL_DAYS 0] [--CLOSED_DAYS 30] \
        [--READ_UNITS_PER_SECOND 2000] [--WRITE_UNITS_PER_SECOND 500] [--WORKERS 10] [--DRY_RUN true] \
        [--LOG_GROUP …] [--REGION …] [--ENDPOINT_URL http://…]

The same file on Glue 5 and on a laptop (`postroom jobs expire`). What goes is said by `storage/mail/expiry.py`; how it
goes is in `postroom.jobs`, and any number of runs at once may do it. Spark spreads names over tasks; no bytes cross it:

    parts of the directory ─▶ mailboxes ══▶ rows live → gone
    shares of old hours ─▶ survey ─▶ collected
    parts of the storage table ─▶ parts that nobody joined: dropped
    shares of box/ ══▶ without what parts of the storage table name ─▶ deleted
    claims, replies and uploads: here, one after the other
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

import pyarrow as pa
from pyspark import Accumulator, StorageLevel
from pyspark.sql import DataFrame, SparkSession

from postroom.jobs.archives import UNREADABLE
from postroom.jobs.bucket import BucketObject
from postroom.jobs.deleting import ObjectDeleter
from postroom.jobs.evidence import ObjectEvidence
from postroom.jobs.expiring import Went
from postroom.jobs.holds import held_mailboxes
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.report import JobReport
from postroom.jobs.report_storage import last_run, publish
from postroom.jobs.settings import ExpireSettings, parse, slots_of
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.sweeping import old_hours
from postroom.jobs.tally import CountersAccumulator, Tally
from postroom.jobs.tasks import counted
from postroom.runtime.jobs.parts import ExpireParts
from postroom.storage.layout import CHUNKS, SEGMENTS, hour_of
from postroom.storage.mail.expiry import ORPHAN_DAYS
from postroom.storage.mail.object_schedule import is_chunk_due

MOST_SHOWN = 100
"""Of what went, or would: for people."""
_TASKS_A_SLOT = 4
"""One mailbox may hold more than a thousand others: who is done early takes the next."""
_BATCH_ROWS = 1000
_NAMES = "name string"

Batches = Iterable[pa.RecordBatch]


def run(spark: SparkSession, settings: ExpireSettings, *, now: int) -> JobReport:
    """Let go what has had its time at `now` (epoch milliseconds)."""
    slots = slots_of(settings.workers) or spark.sparkContext.defaultParallelism
    job, began, tally = ExpireParts(settings, slots), time.time(), Tally()
    counts = spark.sparkContext.accumulator(Counter[str](), CountersAccumulator())
    shown = spark.sparkContext.accumulator(list[str](), Shown())

    def mailboxes(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        candidates = job.candidates(tally)
        return names_in(name for segment in values_in(batches) for name in candidates.names(segment, slots))

    def expire(tally: Tally, pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        shown.add(first(job.expirer(tally, pool, now=now).expire(values_in(batches))))
        yield from ()

    def collect(tally: Tally, pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        bucket = job.bucket(tally)
        # Of what is damaged, compaction has told.
        quarantine = Quarantine(bucket, tally, dry_run=True)
        survey = Survey(bucket, job.registers(tally), quarantine, terms, tally, pool, moves=False)
        found = survey.survey(found for number in values_in(batches) for found in bucket.objects(shares[number]))
        ObjectDeleter(bucket, tally, dry_run=settings.dry_run).delete(
            each for each in found if isinstance(each, ObjectEvidence)
        )
        yield from ()

    segments = spark.range(0, slots, 1, slots)
    names = segments.mapInArrow(counted(counts, mailboxes), _NAMES).repartition(slots * _TASKS_A_SLOT)
    done(names.mapInArrow(counted(counts, expire), _NAMES))
    # What is gone by now leaves its bytes to be collected; but of who is held by now.
    terms = Terms(now, settings.retain_seconds, held_mailboxes(job.directory(tally)))
    since, bucket = last_run("expire", job.documents(), now).began, job.bucket(tally)
    hours = chain.from_iterable(old_hours(bucket, prefix, ORPHAN_DAYS, now) for prefix in (SEGMENTS, CHUNKS))
    due = (hour for hour in hours if is_chunk_due(hour_of(hour), since, now))
    shares = [share for hour in due for share in bucket.shares(hour)]
    if shares:
        done(spark.range(0, len(shares), 1, len(shares)).mapInArrow(counted(counts, collect), _NAMES))
    sweep_archives(spark, job, slots, counts, shown, now=now)
    sweeper = job.sweeper(tally, now=now)
    shown.add(first(chain(sweeper.handed_on(), sweeper.uploads())))
    counts.add(tally.take())
    ended = now + round((time.time() - began) * 1000)
    return JobReport("expire", now, ended, settings.dry_run, counts.value, shown=shown.value)


def sweep_archives(
    spark: SparkSession, job: ExpireParts, slots: int, counts: Accumulator, shown: Accumulator, *, now: int
) -> None:
    """Let go of parts that nobody joined, and of what lies under `box/` and no row names."""

    def drop_parts(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        archives = job.archives(tally, now=now)
        shown.add(first(went for segment in values_in(batches) for went in archives.drop_parts(segment, slots)))
        yield from ()

    def named(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        archives = job.archives(tally, now=now)
        return names_in(name for segment in values_in(batches) for name in archives.named(segment, slots))

    def old(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        archives = job.archives(tally, now=now)
        found = (found for number in values_in(batches) for found in archives.old(shares[number]))
        return rows_in(((each.name, each.size) for each in found), "name", "size")

    def delete(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        garbage = (BucketObject(**row) for batch in batches for row in batch.to_pylist())
        shown.add(first(job.archives(tally, now=now).delete(garbage)))
        yield from ()

    segments = spark.range(0, slots, 1, slots)
    done(segments.mapInArrow(counted(counts, drop_parts), _NAMES))
    tally = Tally()
    shares = job.archives(tally, now=now).shares()
    counts.add(tally.take())
    objects = spark.range(0, len(shares), 1, len(shares)).mapInArrow(counted(counts, old), "name string, size long")
    names = segments.mapInArrow(counted(counts, named), _NAMES)
    # Objects first, then the rows: what is old is named by then, if ever. And while there is a row that cannot be read,
    # nothing goes.
    objects = objects.persist(StorageLevel.DISK_ONLY)
    if objects.count():
        garbage = unnamed(objects, names).persist(StorageLevel.DISK_ONLY)
        if garbage.count() and not counts.value[UNREADABLE]:
            done(garbage.mapInArrow(counted(counts, delete), _NAMES))
        garbage.unpersist()
    objects.unpersist()


def unnamed(objects: DataFrame, names: DataFrame) -> DataFrame:
    """The objects without those of these names."""
    # How much comes out of Python Spark cannot know. It takes it for little, and would have the driver hold all names.
    return objects.join(names.hint("merge"), "name", "left_anti")


def names_in(names: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Names, as Spark takes them."""
    return rows_in(((name,) for name in names), "name")


def rows_in(rows: Iterable[tuple[object, ...]], *names: str) -> Iterator[pa.RecordBatch]:
    """Rows, as Spark takes them. `names`: of their columns."""
    rest = iter(rows)
    while some := list(islice(rest, _BATCH_ROWS)):
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*some, strict=True)], names)


def done(frame: DataFrame) -> None:
    """Have all of it done; nothing comes of it."""
    frame.write.format("noop").mode("overwrite").save()


def values_in(batches: Batches) -> Iterator[Any]:
    """Those of the only column."""
    return (value for batch in batches for value in batch.column(0).to_pylist())


class Shown:
    """How Spark puts together what tasks show: what it calls an accumulator's parameter."""

    def zero(self, _value: list[str]) -> list[str]:
        """Nothing yet."""
        return []

    def addInPlace(self, one: list[str], other: list[str]) -> list[str]:  # noqa: N802 - the name is Spark's
        """As much of both as is shown."""
        return (one + other)[:MOST_SHOWN]


def first(went: Iterable[Went]) -> list[str]:
    """All of it is done; what is said of it is bounded."""
    lines: list[str] = []
    for each in went:
        if len(lines) < MOST_SHOWN:
            lines.append(str(each))
    return lines


def main(arguments: list[str]) -> None:
    """Run once, and report. Raises SettingsError, NotNowError(STORE_UNAVAILABLE)."""
    settings = parse(ExpireSettings, arguments)
    spark = SparkSession.builder.appName(settings.job_name).getOrCreate()
    report = run(spark, settings, now=round(time.time() * 1000))
    job = ExpireParts(settings)
    publish(report, job.documents(), job.metric_log())


if __name__ == "__main__":
    main(sys.argv[1:])
