"""Compaction by real Spark, on a store that is asked over HTTP: what the job promises, to owners and operators."""

import threading

import orjson
import pytest
from benchmarks.mail import Written
from pyspark.sql import SparkSession
from tests.glue_jobs.office import DAY_MS, Office, now_ms, of

from glue_jobs import compact_chunks
from postroom.jobs.pieces import PIECE_BYTES
from postroom.jobs.report import Report
from postroom.store.cutting import FULL_BYTES
from postroom.store.reader import runs_of
from postroom.store.segments import decode_line

# One Spark and one store serve all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("spark")


def compact(spark: SparkSession, office: Office, *, now: int = 0, **settings: object) -> Report:
    return compact_chunks.run(spark, office.settings(**settings), now=now or now_ms())


def test_an_owner_sees_the_same_before_and_after_and_the_report_says_what_happened(
    spark: SparkSession, office: Office
) -> None:
    written = office.fill(messages=1_500, seed=1, corrupt=0.004, orphans=0.1)
    before, requests = office.shown(), office.requests()
    report = compact(spark, office)
    assert office.shown() == before
    assert sum(map(len, before.values())) == len(written.shown or ()) == written.live
    assert office.requests() < requests / 5
    lines, objects, s3 = (of(report.counts, group) for group in ("lines", "objects", "s3"))
    assert lines["read"] == written.lines - written.corrupt
    assert lines["swung"] == lines["kept"] == written.live
    assert lines["refused"] == 0
    assert objects["read"] == written.segments
    assert objects["left"] == len(office.names("seg/"))
    assert (
        sum(of(report.counts, "dropped").values()) + sum(of(report.counts, "left").values()) + written.live
        == (lines["read"])
    )
    damaged = sum(of(report.counts, "quarantined").values()) - report.counts["quarantined.objects"]
    assert damaged == written.corrupt
    # At most one GET for each object, one PUT for each chunk, and for what is damaged.
    chunks = office.names("chk/")
    assert s3["get"] == written.segments
    assert s3["put"] == len(chunks) + len(office.names("quarantine/"))
    assert objects["collected"] == written.segments - len(office.names("seg/"))
    assert "head" not in s3
    assert report.counts["units.write"] == lines["kept"]


def test_long_lines_cross_spark_in_pieces_and_are_what_they_were(spark: SparkSession, office: Office) -> None:
    written = office.fill(
        messages=120, seed=9, mailboxes=3, batch=8, median_bytes=300_000, most_bytes=3_000_000, corrupt=0
    )
    before, sizes = office.shown(), [row.place.length for name in office.mailboxes() for row in office.rows(name)]
    assert min(sizes) < PIECE_BYTES < 8 * PIECE_BYTES < max(sizes)
    report = compact(spark, office)
    assert report.counts["lines.swung"] == written.live
    assert office.shown() == before
    assert office.pointed() == set(office.names("chk/"))


def test_segments_are_left_only_where_a_line_is_damaged_or_may_still_be_filed(
    spark: SparkSession, office: Office
) -> None:
    written = office.fill(messages=1_000, seed=2, corrupt=0.001, orphans=0.2)
    compact(spark, office)
    # A worker that died left lines behind; where their rows are elsewhere, or can come no more, they are garbage.
    assert len(office.names("seg/")) == written.held
    for name in office.names("quarantine/"):
        assert name.removeprefix("quarantine/").removesuffix(".json") in office.names("seg/")


def test_a_chunk_is_sorted_and_its_lines_name_their_rows_and_where_they_came_from(
    spark: SparkSession, office: Office
) -> None:
    office.fill(messages=1_000, seed=3)
    sources = set(office.names("seg/"))
    compact(spark, office)
    for name, data in office.deployed.objects().items():
        if not name.startswith("chk/"):
            continue
        assert len(data) <= FULL_BYTES
        lines = [decode_line(line) for line in data.splitlines()]
        order = [(line.row.mailbox, line.conversation, line.row.sk) for line in lines]
        assert order == sorted(order)
        assert len(set(order)) == len(order)
        assert {source_of(line) for line in data.splitlines()} <= sources


def source_of(line: bytes) -> str:
    return str(orjson.loads(line)["src"])


def test_a_second_run_finds_nothing_to_do(spark: SparkSession, office: Office) -> None:
    office.fill(messages=500, seed=4, orphans=0, corrupt=0)
    compact(spark, office)
    before = office.deployed.objects()
    report = compact(spark, office)
    assert report.counts["lines.read"] == 0
    assert office.deployed.objects() == before


def test_what_is_younger_than_the_lag_is_left_alone(spark: SparkSession, office: Office) -> None:
    office.fill(messages=300, seed=5)
    before = office.deployed.objects()
    assert compact(spark, office, lag_hours=24 * 30).counts["s3.get"] == 0
    assert office.deployed.objects() == before


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(spark: SparkSession, office: Office) -> None:
    written = office.fill(messages=500, seed=6, corrupt=0.01)
    before = office.stored()
    report = compact(spark, office, dry_run=True)
    assert report.counts["lines.kept"] == written.live
    assert report.counts["quarantined.objects"] > 0
    assert office.stored() == before


def test_a_large_conversation_is_spread_over_tasks_and_stays_together_in_time(
    spark: SparkSession, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small parts and chunks, as if there were a thousand times as much.
    monkeypatch.setattr(compact_chunks, "_PARTITION_BYTES", 256 * 1024)
    office.fill(
        messages=2_000, seed=7, one_conversation=1_800, acknowledged=0, orphans=0, corrupt=0, late=0, redelivered=0
    )
    before = office.shown()
    compact(spark, office)
    assert office.shown() == before
    chunks = [data for name, data in office.deployed.objects().items() if name.startswith("chk/")]
    assert sum(b"crowd.example" in data for data in chunks) >= 4
    # Read in order, it takes about as many requests as there are chunks of it, and not some of each for each page.
    crowded = max(before, key=lambda mailbox: len(before[mailbox]))
    rows = [row for row in office.rows(crowded) if row.conversation == "crowd.example"]
    pages = [len(runs_of(rows[start : start + 300])) for start in range(0, len(rows), 300)]
    assert sum(pages) <= 4 * len(pages)


def test_a_reader_who_polls_all_the_while_never_misses_or_doubles(spark: SparkSession, office: Office) -> None:
    office.fill(messages=1_000, seed=8, corrupt=0, mailboxes=3)
    before, over, seen = office.shown(), threading.Event(), []

    def poll() -> None:
        while not over.is_set():
            seen.append(office.shown())

    polling = threading.Thread(target=poll)
    polling.start()
    try:
        compact(spark, office)
    finally:
        over.set()
        polling.join()
    assert len(seen) > 1
    assert all(shown == before for shown in seen)


def test_two_runs_at_once_end_as_one_does(spark: SparkSession, office: Office) -> None:
    office.fill(messages=800, seed=9, corrupt=0, orphans=0)
    before = office.shown()
    reports: list[Report] = []
    runs = [threading.Thread(target=lambda: reports.append(compact(spark, office))) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(reports) == 2
    assert office.shown() == before
    assert not office.names("seg/")
    # What one of them wrote in vain is looked at when it is a day old, and goes.
    compact(spark, office, now=now_ms() + 2 * DAY_MS)
    assert set(office.names("chk/")) == office.pointed()


def test_made_up_mail_is_what_the_tests_take_it_for(office: Office) -> None:
    written: Written = office.fill(messages=400, seed=10)
    assert written.shown is not None
    assert {sk for rows in office.shown().values() for sk, _ in rows} == {key.sk for key in written.shown}
