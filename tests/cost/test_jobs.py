"""What a run of compaction asks of AWS, counted: the stages of the job over made-up mail."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from benchmarks.mail import Plan, write
from tests.aws import Deployed, resources, template

from postroom.core.settings import DeploymentSettings
from postroom.cost import counted
from postroom.cost.compaction import Nights, run_of
from postroom.jobs.bucket import Bucket
from postroom.jobs.moving import Mover
from postroom.jobs.object_deletion import ObjectDeleter
from postroom.jobs.pace import Pace
from postroom.jobs.past_lines import PastLines, added_up
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.registers import Registers
from postroom.jobs.report import JobReport
from postroom.jobs.settings import CompactSettings
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import Tally
from postroom.storage.layout import chunk_name
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.object_schedule import DAY_MS

HOUR = "seg/2026/11/23/01/"
NOW = 1_795_399_200_000
UNHURRIED = 1e9


def test_a_run_makes_the_requests_that_the_cost_model_assumes(deployed: Deployed) -> None:
    s3, dynamodb, table = deployed.clients.s3, deployed.clients.dynamodb, deployed.tables["PostTable"]
    plan = Plan(
        messages=600, seed=8, mailboxes=20, ends_at_ms=NOW - DAY_MS, spans_hours=1, batch=20, acknowledged=0.75,
        discarded=0, late=0, redelivered=0, orphans=0, corrupt=0,
    )  # fmt: skip
    written = write(plan, s3, deployed.bucket, dynamodb, table)
    tally = Tally()
    bucket = Bucket(s3, deployed.bucket, tally)
    registers = Registers(dynamodb, table, reads=Pace(UNHURRIED), writes=Pace(UNHURRIED), tally=tally)
    numbers = count()
    # moto answers one at a time.
    with ThreadPoolExecutor(1) as pool:
        survey = Survey(
            bucket,
            registers,
            Quarantine(bucket, tally, dry_run=False),
            Terms(NOW, DeploymentSettings().retain_seconds, frozenset()),
            tally,
            pool,
        )
        hours = list(bucket.hours("seg/"))
        found = [
            each for hour in hours for share in bucket.shares(hour) for each in survey.survey(bucket.objects(share))
        ]
        mover = Mover(bucket, registers, tally, pool, lambda: chunk_name(NOW, f"{next(numbers):032x}"), dry_run=False)
        kept = sorted((each for each in found if isinstance(each, ChunkLine)), key=lambda line: line.order)
        evidence = [*mover.move(kept), *(each for each in found if isinstance(each, PastLines))]
    by_object = [
        added_up(name, [each for each in evidence if each.source == name]) for name in {it.source for it in evidence}
    ]
    ObjectDeleter(bucket, tally, dry_run=False).delete(by_object)
    asked = tally.take()

    line = written.bytes / written.lines
    size = round(line) - counted.LINE_BYTES_BESIDE
    run = run_of(600, size, 1 / 20, Nights(left=written.live / 600, later=0))
    assert asked["units.read"] == run.reads - run.looked == 600
    assert asked["units.write"] == run.writes == written.live
    assert asked["s3.get"] == run.segments == written.segments == asked["objects.collected"]
    assert asked["s3.put"] == run.puts == 1
    assert asked["s3.delete"] == 1
    in_an_hour = run_of(1, 2_000, 1, Nights(left=0, runs_a_day=24)).lists - counted.JOB_WALKS
    # To find the hours it asks for years, months, days and hours.
    assert asked["s3.list"] - 4 == len(hours) * in_an_hour


def test_an_hour_is_listed_in_the_shares_that_the_cost_model_assumes(deployed: Deployed) -> None:
    s3 = deployed.clients.s3
    names = [f"{HOUR}{number * 2**128 // 1_040:032x}.jsonl" for number in range(1_040)]
    for name in names:
        s3.put_object(Bucket=deployed.bucket, Key=name, Body=b"")
    tally = Tally()
    bucket = Bucket(s3, deployed.bucket, tally)
    shares = bucket.shares(HOUR)
    assert len(shares) == counted.JOB_SHARES
    some = shares[:2]
    assert [found.name for share in some for found in bucket.objects(share)] == names[: 1_040 // 16 * 2]
    # One to see that there are many, and then one for each share.
    assert tally.take()["s3.list"] == 1 + len(some)
    in_an_hour = run_of(24 * 1_040, 2_000, 1, Nights(left=0, runs_a_day=24)).lists - counted.JOB_WALKS
    assert in_an_hour == 1 + counted.JOB_SHARES


def test_the_jobs_have_the_settings_that_the_cost_model_assumes() -> None:
    jobs = resources("AWS::Glue::Job")
    assert {(job["WorkerType"], job["NumberOfWorkers"]["Ref"]) for job in jobs.values()} == {("G.1X", "JobsMaxWorkers")}
    default = {name: said["Default"] for name, said in template()["Parameters"].items() if "Default" in said}
    assert default["JobsMaxWorkers"] == counted.JOB_WORKERS
    assert default["CompactLagHours"] == counted.JOB_LAG_HOURS
    assert default["JobsReadUnitsPerSecond"] == counted.JOB_READS_PER_SECOND
    assert default["JobsWriteUnitsPerSecond"] == counted.JOB_WRITES_PER_SECOND
    minute, hour, day, _, weekday, _ = default["CompactSchedule"].removeprefix("cron(").removesuffix(")").split()
    assert (minute.isdigit(), hour.isdigit(), day, weekday, counted.COMPACT_RUNS_A_DAY) == (True, True, "*", "?", 1)
    assert (default["ExpireSchedule"].split()[-2], counted.EXPIRE_RUNS_A_WEEK) == ("SUN", 1)
    report = JobReport("compact", NOW, NOW, dry_run=False, counts=Counter())
    told: Any = report.as_emf("postroom")
    [directive] = told["_aws"]["CloudWatchMetrics"]
    assert len(directive["Metrics"]) == counted.JOB_METRICS


def test_a_job_has_the_ceilings_that_the_cost_model_assumes() -> None:
    told = CompactSettings(
        job_name="", bucket="", post_table="", directory_table="", retain_seconds=DeploymentSettings().retain_seconds
    )
    assert told.read_units_per_second == counted.JOB_READS_PER_SECOND
    assert told.write_units_per_second == counted.JOB_WRITES_PER_SECOND


# --- the model --------------------------------------------------------------------------------------------------------


def test_an_unread_chunk_is_read_six_times_in_a_month_and_never_copied() -> None:
    run = run_of(1_000_000, 2_000, 0.01, Nights(left=0.5, later=0))
    assert (run.looked, run.moved) == (6 * 500_000, 0)


def test_a_chunk_that_is_fetched_before_the_first_run_is_read_once() -> None:
    run = run_of(1_000_000, 2_000, 0.01, Nights(left=0.5, later=1))
    assert (run.looked, run.moved) == (500_000, 0)


def test_a_chunk_of_which_half_is_garbage_at_each_look_is_copied_at_each() -> None:
    run = run_of(1_000_000, 2_000, 0.01, Nights(left=1, later=0.5))
    assert run.moved == pytest.approx(1_000_000, rel=0.001)
    assert run.looked == pytest.approx(2_000_000, rel=0.001)


@pytest.mark.parametrize(("reads", "a_second"), [(2000, 2000 / 4), (1_000_000, counted.JOB_LINES_PER_SECOND)])
def test_a_slot_is_limited_by_its_share_of_the_ceiling_or_by_its_processor(reads: float, a_second: float) -> None:
    survey = run_of(2_400_000, 2_000, 0.01, Nights(left=0, runs_a_day=1, workers=2, reads=reads)).survey
    assert (survey.busy, survey.workers) == (4, 2)
    assert survey.seconds == pytest.approx(2_400_000 / 4 / a_second)


def test_no_more_workers_are_paid_for_than_there_are_tasks_for() -> None:
    survey = run_of(24_000, 2_000, 0.01, Nights(left=0, workers=100)).survey
    assert (survey.busy, survey.workers) == (24, 7)
    survey = run_of(1e9, 2_000, 0.01, Nights(left=0, workers=100)).survey
    assert (survey.busy, survey.workers) == (24 * counted.JOB_SHARES, 97)


def test_larger_messages_are_read_more_slowly() -> None:
    small, large = (
        run_of(1e6, size, 0.01, Nights(left=0, reads=1e9)).survey.seconds
        for size in (counted.SMALL_BYTES, 2 * counted.SMALL_BYTES + counted.LINE_BYTES_BESIDE)
    )
    assert large == pytest.approx(2 * small)
