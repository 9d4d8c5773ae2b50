"""Expiry by real Spark, on a store that is asked over HTTP: what the stages do, put together."""

from uuid import uuid4

from pyspark.sql import SparkSession
from tests.glue_jobs.stack import DAY_MS, JobStack, now_ms
from tests.sparks import ON_SPARK

from glue_jobs import compact_chunks, expire_messages
from postroom.jobs.report import JobReport
from postroom.jobs.settings import ExpireSettings
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.containers.rows import StorageUsage
from postroom.storage.containers.store import Storage
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.layout import SEGMENTS, hour_of

pytestmark = ON_SPARK


def settings(stack: JobStack, *, dry_run: bool = False) -> ExpireSettings:
    tables, common = stack.deployed.tables, stack.settings()
    return ExpireSettings(
        job_name="test", bucket=common.bucket, post_table=common.post_table, directory_table=common.directory_table,
        limits_table=tables["LimitsTable"], storage_table=tables["StorageTable"],
        retain_seconds=common.retain_seconds, endpoint_url=common.endpoint_url,
        read_units_per_second=100_000, write_units_per_second=100_000, dry_run=dry_run,
    )  # fmt: skip


def expire(spark: SparkSession, stack: JobStack, *, days_later: int, dry_run: bool = False) -> JobReport:
    return expire_messages.run(spark, settings(stack, dry_run=dry_run), now=now_ms() + days_later * DAY_MS)


def mailboxes(stack: JobStack) -> Mailboxes:
    return stack.deployed.storage.mailboxes


def test_expired_messages_are_deleted_with_their_bytes_and_held_ones_are_shown_as_before(
    spark: SparkSession, stack: JobStack
) -> None:
    stack.fill(messages=600, seed=11, mailboxes=4)
    before = stack.shown()
    timed, held, *_ = sorted((name for name, mail in before.items() if mail), key=lambda name: -len(before[name]))
    usages = stack.deployed.storage.usages
    sizes = [row.place.length for row in stack.rows(timed) if row.place]
    usages.correct(timed, usages.read(timed), len(sizes), sum(sizes))
    for name in (timed, held):
        mailboxes(stack).set_ttl(name, 40)
    mailboxes(stack).hold(held)
    early = expire(spark, stack, days_later=35)
    assert (early.counts["expired.expired"], stack.shown()) == (0, before)

    stored = stack.stored()
    would = expire(spark, stack, days_later=45, dry_run=True)
    assert stack.stored() == stored
    done = expire(spark, stack, days_later=45)
    assert would.shown == [f"{timed}: {len(sizes)} messages expired, {sum(sizes)} bytes"]
    assert done.shown[0] == would.shown[0]
    assert done.counts["expired.expired"] == would.counts["expired.expired"] == len(sizes)
    assert stack.shown() == {**before, timed: []}
    assert (usages.read(timed).messages, usages.read(timed).bytes) == (0, 0)
    assert expire(spark, stack, days_later=45).counts["expired.expired"] == 0

    # All that nobody needs is gone, and nothing else; what the last hold kept goes when it is released.
    kept = set(stack.names(SEGMENTS))
    mailboxes(stack).release(held)
    expire(spark, stack, days_later=45)
    assert stack.shown() == {**before, timed: [], held: []}
    assert set(stack.names(SEGMENTS)) <= kept


def test_an_old_segment_that_no_row_needs_is_deleted_whatever_compaction_did(
    spark: SparkSession, stack: JobStack
) -> None:
    stack.fill(messages=300, seed=12, mailboxes=2, acknowledged=1.0)
    assert stack.names(SEGMENTS)
    oldest = min(hour_of(name) for name in stack.names(SEGMENTS))
    assert oldest > now_ms() - 30 * DAY_MS
    expire(spark, stack, days_later=0)
    assert stack.names(SEGMENTS), "younger than 30 days: that is compaction's"
    report = expire(spark, stack, days_later=40)
    assert report.counts["objects.collected"] > 0
    assert stack.names(SEGMENTS) == []


def test_containers_stay_and_unnamed_objects_are_deleted_unless_a_row_cannot_be_read(
    spark: SparkSession, stack: JobStack
) -> None:
    clients, table = stack.deployed.clients, stack.deployed.tables["StorageTable"]
    objects = ObjectStore(clients.s3, stack.deployed.bucket)
    storage = Storage(clients.dynamodb, table, objects, StorageUsage(), lambda: uuid4().hex)
    kept = [storage.put("bob.eth", f"0x{number:064x}", None, b"sealed").pieces[0].object for number in range(40)]
    storage.add_part("bob.eth", b"part", now_ms() // 1000)
    garbage = [f"box/{uuid4().hex}" for _ in range(30)]
    for name in garbage:
        objects.put(name, b"left", "application/octet-stream")
    odd = {"pk": {"S": "bob.eth"}, "sk": {"S": "z#from a newer release"}}
    clients.dynamodb.put_item(TableName=table, Item=odd)
    assert len(stack.names("box/")) == 71
    assert expire(spark, stack, days_later=0).counts["objects.collected"] == 0
    blind = expire(spark, stack, days_later=2)
    assert (blind.counts["containers.unreadable"], blind.counts["objects.collected"]) == (1, 0)
    assert (blind.counts["parts.dropped"], storage.use("bob.eth").containers) == (1, 40)
    assert set(stack.names("box/")) == {*kept, *garbage}
    clients.dynamodb.delete_item(TableName=table, Key=odd)
    assert expire(spark, stack, days_later=2, dry_run=True).counts["objects.collected"] == 30
    seeing = expire(spark, stack, days_later=2)
    assert (seeing.counts["objects.collected"], seeing.counts["bytes.collected"]) == (30, 120)
    assert set(stack.names("box/")) == set(kept)


def test_the_driver_does_not_hold_all_names_of_containers(spark: SparkSession) -> None:
    few = spark.range(1).mapInArrow(lambda batches: batches, "name string")
    plan = expire_messages.unnamed(few, few)._jdf.queryExecution().sparkPlan().toString()
    assert "SortMergeJoin" in plan
    assert "Broadcast" not in plan


def test_compaction_keeps_the_bytes_of_a_mailbox_under_legal_hold(spark: SparkSession, stack: JobStack) -> None:
    stack.fill(messages=200, seed=13, mailboxes=1, acknowledged=1.0)
    [name] = stack.mailboxes()
    mailboxes(stack).hold(name)
    segments = stack.names(SEGMENTS)
    report = compact_chunks.run(spark, stack.settings(), now=now_ms())
    assert (report.counts["objects.collected"], stack.names(SEGMENTS)) == (0, segments)
    mailboxes(stack).release(name)
    compact_chunks.run(spark, stack.settings(), now=now_ms())
    assert stack.names(SEGMENTS) == []
