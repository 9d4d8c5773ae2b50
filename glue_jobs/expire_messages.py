"""The expiry job: it deletes expired messages and unneeded objects (store protocol, Acknowledge, Collect).

    spark-submit glue_jobs/expire_messages.py --JOB_NAME expire --BUCKET … --POST_TABLE … --DIRECTORY_TABLE … \
        --LIMITS_TABLE … --STORAGE_TABLE … --RETAIN_SECONDS 1900800 [--DM3_MESSAGE_TTL_DAYS 0] [--CLOSED_DAYS 30] \
        [--READ_UNITS_PER_SECOND 2000] [--WRITE_UNITS_PER_SECOND 500] [--WORKERS 10] [--DRY_RUN true] \
        [--LOG_GROUP …] [--REGION …] [--ENDPOINT_URL http://…]

The same file runs on Glue 5 and on a laptop (`postroom jobs expire`). `storage/mail/expiry.py` decides what is deleted,
`postroom.jobs` deletes it, and runs may overlap. Spark distributes names over tasks; no bytes of mail cross Spark:

    segments of the directory ─▶ mailboxes ══▶ rows live → gone
    shares of old hours ─▶ survey ─▶ collected
    segments of the storage table ─▶ parts that nobody joined: deleted
    shares of box/ ══▶ objects that no row of the storage table names ─▶ deleted
    claims, replies and uploads: in the driver, one after the other
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

from postroom.jobs.bucket import BucketObject
from postroom.jobs.container_garbage import UNREADABLE
from postroom.jobs.expiring import Deletion
from postroom.jobs.holds import held_mailboxes
from postroom.jobs.object_deletion import ObjectDeleter
from postroom.jobs.past_lines import PastLines
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.report import JobReport
from postroom.jobs.report_storage import last_run, publish
from postroom.jobs.settings import ExpireSettings, parse, slots_of
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import CountersAccumulator, Tally
from postroom.jobs.tasks import counted
from postroom.jobs.temporary_objects import old_hours
from postroom.runtime.jobs.parts import ExpireParts
from postroom.storage.layout import CHUNKS, SEGMENTS, hour_of
from postroom.storage.mail.expiry import ORPHAN_DAYS
from postroom.storage.mail.object_schedule import is_chunk_due

MOST_SHOWN = 100
"""The maximum number of deletions that the report lists for people."""
_TASKS_A_SLOT = 4
"""More than one, because one mailbox may hold more than a thousand others: slots that finish early take more tasks."""
_BATCH_ROWS = 1000
_NAMES = "name string"

Batches = Iterable[pa.RecordBatch]


def run(spark: SparkSession, settings: ExpireSettings, *, now: int) -> JobReport:
    """Delete what has expired at `now` (epoch milliseconds)."""
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
        # Compaction has reported damaged lines already.
        quarantine = Quarantine(bucket, tally, dry_run=True)
        survey = Survey(bucket, job.registers(tally), quarantine, terms, tally, pool, may_rewrite=False)
        found = survey.survey(found for number in values_in(batches) for found in bucket.objects(shares[number]))
        ObjectDeleter(bucket, tally, dry_run=settings.dry_run).delete(
            each for each in found if isinstance(each, PastLines)
        )
        yield from ()

    segments = spark.range(0, slots, 1, slots)
    names = segments.mapInArrow(counted(counts, mailboxes), _NAMES).repartition(slots * _TASKS_A_SLOT)
    execute(names.mapInArrow(counted(counts, expire), _NAMES))
    # After expiry, so that the bytes of expired messages can be deleted; holds are read again, for those set meanwhile.
    terms = Terms(now, settings.retain_seconds, held_mailboxes(job.directory(tally)))
    since, bucket = last_run("expire", job.documents(), now).began, job.bucket(tally)
    hours = chain.from_iterable(old_hours(bucket, prefix, ORPHAN_DAYS, now) for prefix in (SEGMENTS, CHUNKS))
    due = (hour for hour in hours if is_chunk_due(hour_of(hour), since, now))
    shares = [share for hour in due for share in bucket.shares(hour)]
    if shares:
        execute(spark.range(0, len(shares), 1, len(shares)).mapInArrow(counted(counts, collect), _NAMES))
    sweep_archives(spark, job, slots, counts, shown, now=now)
    sweeper = job.sweeper(tally, now=now)
    shown.add(first(chain(sweeper.handed_on(), sweeper.uploads())))
    counts.add(tally.take())
    ended = now + round((time.time() - began) * 1000)
    return JobReport("expire", now, ended, settings.dry_run, counts.value, shown=shown.value)


def sweep_archives(
    spark: SparkSession, job: ExpireParts, slots: int, counts: Accumulator, shown: Accumulator, *, now: int
) -> None:
    """Delete parts that nobody joined, and objects under `box/` that no row names."""

    def drop_parts(tally: Tally, _pool: ThreadPoolExecutor, batches: Batches) -> Iterator[pa.RecordBatch]:
        archives = job.archives(tally, now=now)
        shown.add(first(part for segment in values_in(batches) for part in archives.drop_parts(segment, slots)))
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
    execute(segments.mapInArrow(counted(counts, drop_parts), _NAMES))
    tally = Tally()
    shares = job.archives(tally, now=now).shares()
    counts.add(tally.take())
    objects = spark.range(0, len(shares), 1, len(shares)).mapInArrow(counted(counts, old), "name string, size long")
    names = segments.mapInArrow(counted(counts, named), _NAMES)
    # Objects are listed before the rows are read: an old object is named by then, or never will be. A row that cannot
    # be read may name any object, so while there is one, nothing is deleted.
    objects = objects.persist(StorageLevel.DISK_ONLY)
    if objects.count():
        garbage = unnamed(objects, names).persist(StorageLevel.DISK_ONLY)
        if garbage.count() and not counts.value[UNREADABLE]:
            execute(garbage.mapInArrow(counted(counts, delete), _NAMES))
        garbage.unpersist()
    objects.unpersist()


def unnamed(objects: DataFrame, names: DataFrame) -> DataFrame:
    """The objects that have none of these names."""
    # Spark cannot estimate the output of Python. It would assume little data, and collect all names in the driver.
    return objects.join(names.hint("merge"), "name", "left_anti")


def names_in(names: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Names as record batches for Spark."""
    return rows_in(((name,) for name in names), "name")


def rows_in(rows: Iterable[tuple[object, ...]], *names: str) -> Iterator[pa.RecordBatch]:
    """Rows as record batches for Spark. `names`: of the columns."""
    rest = iter(rows)
    while batch := list(islice(rest, _BATCH_ROWS)):
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*batch, strict=True)], names)


def execute(frame: DataFrame) -> None:
    """Run all tasks of a frame, without a result."""
    frame.write.format("noop").mode("overwrite").save()


def values_in(batches: Batches) -> Iterator[Any]:
    """The values of the only column."""
    return (value for batch in batches for value in batch.column(0).to_pylist())


class Shown:
    """The rules by which Spark merges the lines that tasks show: an "accumulator parameter" in its terms."""

    def zero(self, _value: list[str]) -> list[str]:
        """No lines."""
        return []

    def addInPlace(self, one: list[str], other: list[str]) -> list[str]:  # noqa: N802 - the name is Spark's
        """The first lines of both, up to MOST_SHOWN."""
        return (one + other)[:MOST_SHOWN]


def first(deletions: Iterable[Deletion]) -> list[str]:
    """The first MOST_SHOWN, as text. It takes all of them, because each is deleted as it is taken."""
    lines: list[str] = []
    for each in deletions:
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
