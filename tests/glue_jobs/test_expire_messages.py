"""Expiry by real Spark, on a store that is asked over HTTP: what the stages do, put together."""

from uuid import uuid4

from pyspark.sql import SparkSession
from tests.glue_jobs.office import DAY_MS, Office, now_ms
from tests.sparks import ON_SPARK

from glue_jobs import compact_chunks, expire_messages
from postroom.jobs.report import JobReport
from postroom.jobs.settings import ExpireSettings
from postroom.storage.containers import Storage, Use
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.keys import SEGMENTS, hour_of
from postroom.storage.mail.segments import Objects

pytestmark = ON_SPARK


def settings(office: Office, *, dry_run: bool = False) -> ExpireSettings:
    tables, common = office.deployed.tables, office.settings()
    return ExpireSettings(
        job_name="test", bucket=common.bucket, post_table=common.post_table, directory_table=common.directory_table,
        limits_table=tables["LimitsTable"], storage_table=tables["StorageTable"],
        retain_seconds=common.retain_seconds, endpoint_url=common.endpoint_url,
        read_units_per_second=100_000, write_units_per_second=100_000, dry_run=dry_run,
    )  # fmt: skip


def expire(spark: SparkSession, office: Office, *, days_later: int, dry_run: bool = False) -> JobReport:
    return expire_messages.run(spark, settings(office, dry_run=dry_run), now=now_ms() + days_later * DAY_MS)


def mailboxes(office: Office) -> Mailboxes:
    return office.deployed.storage.mailboxes


def test_what_had_its_time_goes_with_its_bytes_and_what_is_held_or_without_end_is_shown_as_before(
    spark: SparkSession, office: Office
) -> None:
    office.fill(messages=600, seed=11, mailboxes=4)
    before = office.shown()
    timed, held, *_ = sorted((name for name, mail in before.items() if mail), key=lambda name: -len(before[name]))
    usages = office.deployed.storage.usages
    sizes = [row.place.length for row in office.rows(timed) if row.place]
    usages.correct(timed, usages.read(timed), len(sizes), sum(sizes))
    for name in (timed, held):
        mailboxes(office).set_ttl(name, 40)
    mailboxes(office).hold(held)
    early = expire(spark, office, days_later=35)
    assert (early.counts["expired.expired"], office.shown()) == (0, before)

    stored = office.stored()
    would = expire(spark, office, days_later=45, dry_run=True)
    assert office.stored() == stored
    done = expire(spark, office, days_later=45)
    assert would.shown == [f"{timed}: {len(sizes)} messages expired, {sum(sizes)} bytes"]
    assert done.shown[0] == would.shown[0]
    assert done.counts["expired.expired"] == would.counts["expired.expired"] == len(sizes)
    assert office.shown() == {**before, timed: []}
    assert (usages.read(timed).messages, usages.read(timed).bytes) == (0, 0)
    assert expire(spark, office, days_later=45).counts["expired.expired"] == 0

    # All that nobody needs is gone, and nothing else; what the last hold kept goes when it is released.
    kept = set(office.names(SEGMENTS))
    mailboxes(office).release(held)
    expire(spark, office, days_later=45)
    assert office.shown() == {**before, timed: [], held: []}
    assert set(office.names(SEGMENTS)) <= kept


def test_an_old_segment_goes_when_nobody_needs_it_whatever_compaction_came_to(
    spark: SparkSession, office: Office
) -> None:
    office.fill(messages=300, seed=12, mailboxes=2, acknowledged=1.0)
    assert office.names(SEGMENTS)
    oldest = min(hour_of(name) for name in office.names(SEGMENTS))
    assert oldest > now_ms() - 30 * DAY_MS
    expire(spark, office, days_later=0)
    assert office.names(SEGMENTS), "younger than 30 days: that is compaction's"
    report = expire(spark, office, days_later=40)
    assert report.counts["objects.collected"] > 0
    assert office.names(SEGMENTS) == []


def test_what_owners_keep_stays_and_what_no_row_names_goes_unless_a_row_cannot_be_read(
    spark: SparkSession, office: Office
) -> None:
    clients, table = office.deployed.clients, office.deployed.tables["StorageTable"]
    objects = Objects(clients.s3, office.deployed.bucket)
    storage = Storage(clients.dynamodb, table, objects, Use(), lambda: uuid4().hex)
    kept = [storage.put("bob.eth", f"0x{number:064x}", None, b"sealed").pieces[0].object for number in range(40)]
    storage.add_part("bob.eth", b"part", now_ms() // 1000)
    garbage = [f"box/{uuid4().hex}" for _ in range(30)]
    for name in garbage:
        objects.put(name, b"left", "application/octet-stream")
    odd = {"pk": {"S": "bob.eth"}, "sk": {"S": "z#from a newer release"}}
    clients.dynamodb.put_item(TableName=table, Item=odd)
    assert len(office.names("box/")) == 71
    assert expire(spark, office, days_later=0).counts["objects.collected"] == 0
    blind = expire(spark, office, days_later=2)
    assert (blind.counts["containers.unreadable"], blind.counts["objects.collected"]) == (1, 0)
    assert (blind.counts["parts.dropped"], storage.use("bob.eth").containers) == (1, 40)
    assert set(office.names("box/")) == {*kept, *garbage}
    clients.dynamodb.delete_item(TableName=table, Key=odd)
    assert expire(spark, office, days_later=2, dry_run=True).counts["objects.collected"] == 30
    seeing = expire(spark, office, days_later=2)
    assert (seeing.counts["objects.collected"], seeing.counts["bytes.collected"]) == (30, 120)
    assert set(office.names("box/")) == set(kept)


def test_the_driver_does_not_hold_the_names_of_all_that_owners_keep(spark: SparkSession) -> None:
    few = spark.range(1).mapInArrow(lambda batches: batches, "name string")
    plan = expire_messages.unnamed(few, few)._jdf.queryExecution().sparkPlan().toString()
    assert "SortMergeJoin" in plan
    assert "Broadcast" not in plan


def test_compaction_keeps_the_bytes_of_a_mailbox_under_legal_hold(spark: SparkSession, office: Office) -> None:
    office.fill(messages=200, seed=13, mailboxes=1, acknowledged=1.0)
    [name] = office.mailboxes()
    mailboxes(office).hold(name)
    segments = office.names(SEGMENTS)
    report = compact_chunks.run(spark, office.settings(), now=now_ms())
    assert (report.counts["objects.collected"], office.names(SEGMENTS)) == (0, segments)
    mailboxes(office).release(name)
    compact_chunks.run(spark, office.settings(), now=now_ms())
    assert office.names(SEGMENTS) == []
