"""A job that is killed in the middle, whole or in part: run again, nothing is missing, doubled or left over."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.glue_jobs.stack import DAY_MS, JobStack, arguments_of, now_ms
from tests.glue_jobs.test_compact_chunks import compact
from tests.glue_jobs.test_expire_messages import expire, mailboxes
from tests.glue_jobs.test_expire_messages import settings as expire_settings
from tests.patience import PATIENCE
from tests.sparks import ON_SPARK

from postroom.local.spark import command_of, run_job
from postroom.storage.audit.problems import AuditProblem

pytestmark = ON_SPARK

SCRIPT = Path(__file__).parents[2] / "glue_jobs" / "compact_chunks.py"
EXPIRE = SCRIPT.with_name("expire_messages.py")
Running = tuple[psutil.Process, subprocess.Popen[str]]


SLOW = 4
"""Write units a second: a run would take a minute, and is killed in its first seconds."""


def a_slow_run(stack: JobStack, environment: dict[str, str], rate: int = SLOW) -> AbstractContextManager[Running]:
    """A run that has begun to repoint rows: chunks are written, and some rows point to them."""
    slow = stack.arguments(write_units_per_second=rate)
    return begun(command_of(SCRIPT, slow, environment, cores="2"), stack, repointed)


@contextmanager
def begun(
    command: tuple[list[str], dict[str, str]], stack: JobStack, done: Callable[[JobStack], int]
) -> Iterator[Running]:
    with subprocess.Popen(
        command[0], env=command[1], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as started:
        job = psutil.Process(started.pid)
        try:
            until(lambda: done(stack) > 3 or started.poll() is not None)
            assert 3 < done(stack) < len(stack.deployed.rows("PostTable"))
            yield job, started
            started.communicate()
        finally:
            for process in [*job.children(recursive=True), job] if job.is_running() else []:
                process.kill()


def until(look: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < end
        time.sleep(0.2)


def repointed(stack: JobStack) -> int:
    return sum(item.get("o", {}).get("S", "").startswith("chk/") for item in stack.deployed.rows("PostTable"))


def expired(stack: JobStack) -> int:
    return sum(item["st"]["S"] != "L" for item in stack.deployed.rows("PostTable"))


def wrong(stack: JobStack) -> list[object]:
    """What an audit finds, but that made-up mail has no identities."""
    return [
        each
        for each in stack.audit().problems
        if each.problem not in (AuditProblem.NOT_HOME, AuditProblem.NOT_IN_LEDGER)
    ]


def is_all_there_and_nothing_else(spark: object, stack: JobStack, before: object) -> None:
    """After runs that nobody disturbs: two that come to what is due, later."""
    assert stack.shown() == before
    assert not wrong(stack)
    compact(spark, stack)  # type: ignore[arg-type]
    compact(spark, stack, now=now_ms() + 2 * DAY_MS)  # type: ignore[arg-type]
    assert stack.shown() == before
    assert not wrong(stack)
    assert set(stack.names("seg/")) | set(stack.names("chk/")) == stack.pointed()


def test_a_run_after_kill_9_of_the_jvm_completes_the_work(
    spark: object, stack: JobStack, environment: dict[str, str]
) -> None:
    stack.fill(messages=250, seed=21, corrupt=0, orphans=0)
    before = stack.shown()
    with a_slow_run(stack, environment) as (job, started):
        [jvm] = [process for process in job.children(recursive=True) if process.name() == "java"]
        jvm.kill()
    assert started.returncode != 0
    is_all_there_and_nothing_else(spark, stack, before)


@pytest.mark.proof
def test_a_run_after_kill_9_of_all_processes_completes_the_work(
    spark: object, stack: JobStack, environment: dict[str, str]
) -> None:
    stack.fill(messages=250, seed=22, corrupt=0, orphans=0)
    before = stack.shown()
    with a_slow_run(stack, environment) as (job, _):
        for process in [job, *job.children(recursive=True)]:
            process.kill()
    is_all_there_and_nothing_else(spark, stack, before)


@pytest.mark.proof
def test_a_task_that_dies_is_repeated_within_the_run(
    spark: object, stack: JobStack, environment: dict[str, str]
) -> None:
    stack.fill(messages=250, seed=23, corrupt=0, orphans=0)
    before = stack.shown()
    # It goes on to its end.
    with a_slow_run(stack, environment, rate=25) as (job, started):
        workers = [
            process for process in job.children(recursive=True) if process.name() != "java" and not process.children()
        ]
        assert workers
        for process in workers:
            process.kill()
    assert started.returncode == 0
    assert not stack.names("seg/")
    is_all_there_and_nothing_else(spark, stack, before)


@pytest.mark.proof
def test_a_run_of_expiry_after_kill_9_of_the_jvm_completes_the_work(
    spark: SparkSession, stack: JobStack, environment: dict[str, str]
) -> None:
    stack.fill(messages=250, seed=25, days=60, corrupt=0, orphans=0, acknowledged=0, discarded=0)
    before = stack.shown()
    held, *timed = sorted(before, key=lambda name: -len(before[name]))
    for name in timed:
        mailboxes(stack).set_ttl(name, 30)
    mailboxes(stack).set_ttl(held, 30)
    mailboxes(stack).hold(held)
    slow = arguments_of(replace(expire_settings(stack), write_units_per_second=SLOW))
    with begun(command_of(EXPIRE, slow, environment, cores="2"), stack, expired) as (job, started):
        [jvm] = [process for process in job.children(recursive=True) if process.name() == "java"]
        jvm.kill()
    assert started.returncode != 0
    left = stack.shown()
    assert left[held] == before[held]
    assert all(set(left[name]) <= set(before[name]) for name in timed)
    assert any(left[name] for name in timed)
    expire(spark, stack, days_later=0)
    assert stack.shown() == {name: before[name] if name == held else [] for name in before}
    assert not wrong(stack)
    assert stack.pointed() <= set(stack.names("seg/"))


@pytest.mark.proof
def test_spark_submit_runs_the_same_file(stack: JobStack, environment: dict[str, str]) -> None:
    stack.fill(messages=100, seed=24, corrupt=0, orphans=0)
    before = stack.shown()
    submit = Path(sys.executable).parent / "spark-submit"
    # What Glue adds of its own is passed over.
    more = ["--JOB_ID", "j_1", "--enable-auto-scaling", "true", "--TempDir", "s3://elsewhere/"]
    subprocess.run(
        [submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", SCRIPT, *stack.arguments(), *more],
        env=environment, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert stack.shown() == before
    assert not stack.names("seg/")
    assert stack.names("jobs/reports/compact/latest.json")


@pytest.mark.proof
def test_a_job_that_cannot_reach_its_bucket_says_so(stack: JobStack, environment: dict[str, str]) -> None:
    with pytest.raises(Exception, match="NoSuchBucket"):
        run_job(SCRIPT, stack.arguments(bucket="bucket-elsewhere"), environment)
