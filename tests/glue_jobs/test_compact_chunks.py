"""Compaction by real Spark, on a store that is asked over HTTP: what the job promises, to owners and operators."""

import threading
from dataclasses import dataclass

import orjson
import pytest
from benchmarks.mail import Written
from pyspark.sql import SparkSession
from tests.glue_jobs.stack import DAY_MS, JobStack, now_ms, of
from tests.patience import PATIENCE
from tests.sparks import ON_SPARK

from glue_jobs import compact_chunks
from postroom.jobs.pieces import PIECE_BYTES
from postroom.jobs.report import JobReport
from postroom.storage.mail.chunks import FULL_BYTES
from postroom.storage.mail.reader import runs_of
from postroom.storage.mail.segments import decode_line

pytestmark = ON_SPARK

Shown = dict[str, list[tuple[str, str]]]


def compact(spark: SparkSession, stack: JobStack, *, now: int = 0, **settings: object) -> JobReport:
    return compact_chunks.run(spark, stack.settings(**settings), now=now or now_ms())


@dataclass(frozen=True)
class Night:
    """Mail of all kinds, and runs on it, one after the other: what each said, and what there was before and after it.

    `left_alone`, `would`: of a run whose lag is longer than the mail is old, and of a dry run; `untouched`: whether all
    that is stored was as before. `requests`: how many it took to read all mail, before and after.
    """

    written: Written
    segments: frozenset[str]
    before: Shown
    left_alone: JobReport
    would: JobReport
    untouched: list[bool]
    report: JobReport
    after: Shown
    requests: tuple[int, int]
    objects: dict[str, bytes]

    def names(self, prefix: str) -> list[str]:
        """What the last run left below a prefix."""
        return [name for name in self.objects if name.startswith(prefix)]


@pytest.fixture(scope="module")
def night(spark: SparkSession, emulated: JobStack) -> Night:
    stack = emulated
    written = stack.fill(messages=1_200, seed=1, corrupt=0.004, orphans=0.15)
    before, segments, requests, stored = stack.shown(), stack.names("seg/"), stack.requests(), stack.stored()
    left_alone = compact(spark, stack, lag_hours=24 * 30)
    untouched = [stack.stored() == stored]
    would = compact(spark, stack, dry_run=True)
    untouched.append(stack.stored() == stored)
    report = compact(spark, stack)
    ended = Night(
        written, frozenset(segments), before, left_alone, would, untouched, report, stack.shown(),
        (requests, stack.requests()), stack.deployed.objects(),
    )  # fmt: skip
    stack.empty()
    return ended


def test_an_owner_sees_the_same_before_and_after_and_the_report_says_what_happened(night: Night) -> None:
    written, report = night.written, night.report
    assert night.after == night.before
    assert sum(map(len, night.before.values())) == len(written.shown or ()) == written.live
    asked_before, asked_after = night.requests
    assert asked_after < asked_before / 5
    lines, objects, s3 = (of(report.counts, group) for group in ("lines", "objects", "s3"))
    assert lines["read"] == written.lines - written.corrupt
    assert lines["repointed"] == lines["kept"] == written.live
    assert lines["refused"] == 0
    assert objects["read"] == written.segments
    assert objects["left"] == len(night.names("seg/"))
    assert (
        sum(of(report.counts, "dropped").values()) + sum(of(report.counts, "left").values()) + written.live
        == (lines["read"])
    )
    damaged = sum(of(report.counts, "quarantined").values()) - report.counts["quarantined.objects"]
    assert damaged == written.corrupt
    # At most one GET for each object, one PUT for each chunk, and for what is damaged.
    assert s3["get"] == written.segments
    assert s3["put"] == len(night.names("chk/")) + len(night.names("quarantine/"))
    assert objects["collected"] == written.segments - len(night.names("seg/"))
    assert "head" not in s3
    assert report.counts["units.write"] == lines["kept"]


def test_segments_are_left_only_where_a_line_is_damaged_or_may_still_be_filed(night: Night) -> None:
    # A worker that died left lines behind; where their rows are elsewhere, or can come no more, they are garbage.
    assert 0 < len(night.names("quarantine/")) < night.written.held == len(night.names("seg/"))
    for name in night.names("quarantine/"):
        assert name.removeprefix("quarantine/").removesuffix(".json") in night.names("seg/")


def test_a_chunk_is_sorted_and_its_lines_name_their_rows_and_where_they_came_from(night: Night) -> None:
    assert night.names("chk/")
    for name in night.names("chk/"):
        data = night.objects[name]
        assert len(data) <= FULL_BYTES
        lines = [decode_line(line) for line in data.splitlines()]
        order = [(line.row.mailbox, line.conversation, line.row.sk) for line in lines]
        assert order == sorted(order)
        assert len(set(order)) == len(order)
        assert {source_of(line) for line in data.splitlines()} <= night.segments


def source_of(line: bytes) -> str:
    return str(orjson.loads(line)["src"])


def test_segments_younger_than_the_lag_are_left_alone(night: Night) -> None:
    assert night.left_alone.counts["s3.get"] == 0
    assert night.untouched[0]


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(night: Night) -> None:
    assert night.would.counts["lines.kept"] == night.written.live
    assert night.would.counts["quarantined.objects"] > 0
    assert night.untouched[1]


def test_long_lines_cross_spark_in_pieces_unchanged(spark: SparkSession, stack: JobStack) -> None:
    written = stack.fill(
        messages=120, seed=9, mailboxes=3, batch=8, median_bytes=300_000, most_bytes=3_000_000, corrupt=0
    )
    before, sizes = stack.shown(), [row.place.length for name in stack.mailboxes() for row in stack.rows(name)]
    assert min(sizes) < PIECE_BYTES < 8 * PIECE_BYTES < max(sizes)
    report = compact(spark, stack)
    assert report.counts["lines.repointed"] == written.live
    assert stack.shown() == before
    assert stack.pointed() == set(stack.names("chk/"))


def test_a_second_run_finds_nothing_to_do(spark: SparkSession, stack: JobStack) -> None:
    stack.fill(messages=200, seed=4, orphans=0, corrupt=0)
    compact(spark, stack)
    before = stack.deployed.objects()
    report = compact(spark, stack)
    assert report.counts["lines.read"] == 0
    assert stack.deployed.objects() == before


def test_a_large_conversation_is_spread_over_tasks_and_stays_together_in_time(
    spark: SparkSession, stack: JobStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small parts and chunks, as if there were a thousand times as much.
    monkeypatch.setattr(compact_chunks, "_PARTITION_BYTES", 128 * 1024)
    stack.fill(
        messages=1_000, seed=7, one_conversation=900, acknowledged=0, orphans=0, corrupt=0, late=0, redelivered=0
    )
    before = stack.shown()
    compact(spark, stack)
    assert stack.shown() == before
    chunks = [data for name, data in stack.deployed.objects().items() if name.startswith("chk/")]
    assert sum(b"crowd.example" in data for data in chunks) >= 4
    # Read in order, it takes about as many requests as there are chunks of it, and not some of each for each page.
    crowded = max(before, key=lambda mailbox: len(before[mailbox]))
    rows = [row for row in stack.rows(crowded) if row.conversation == "crowd.example"]
    pages = [len(runs_of(rows[start : start + 300])) for start in range(0, len(rows), 300)]
    assert sum(pages) <= 4 * len(pages)


def test_a_reader_who_polls_all_the_while_never_misses_or_doubles(spark: SparkSession, stack: JobStack) -> None:
    stack.fill(messages=400, seed=8, corrupt=0, mailboxes=3)
    before, looked, over, seen = stack.shown(), threading.Event(), threading.Event(), []

    def poll() -> None:
        while not over.is_set() or len(seen) < 2:
            seen.append(stack.shown())
            looked.set()

    polling = threading.Thread(target=poll)
    polling.start()
    try:
        assert looked.wait(PATIENCE)
        compact(spark, stack)
    finally:
        over.set()
        polling.join()
    assert all(shown == before for shown in seen)


@pytest.mark.proof
def test_two_runs_at_once_end_as_one_does(spark: SparkSession, stack: JobStack) -> None:
    stack.fill(messages=800, seed=9, corrupt=0, orphans=0)
    before = stack.shown()
    reports: list[JobReport] = []
    runs = [threading.Thread(target=lambda: reports.append(compact(spark, stack))) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(reports) == 2
    assert stack.shown() == before
    assert not stack.names("seg/")
    # What one of them wrote in vain is looked at when it is a day old, and goes.
    compact(spark, stack, now=now_ms() + 2 * DAY_MS)
    assert set(stack.names("chk/")) == stack.pointed()


def test_generated_mail_has_the_properties_that_the_tests_assume(stack: JobStack) -> None:
    written: Written = stack.fill(messages=400, seed=10)
    assert written.shown is not None
    assert {sk for rows in stack.shown().values() for sk, _ in rows} == {key.sk for key in written.shown}
