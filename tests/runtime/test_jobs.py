"""What the tasks of the Glue jobs work with: which AWS, which tables, and at what pace."""

import os
import pickle
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from postroom.jobs.settings import CompactSettings, ExpireSettings, Where
from postroom.jobs.tally import Tally
from postroom.runtime.jobs.clients import job_clients
from postroom.runtime.jobs.parts import ExpireParts, JobParts

LIBRARY = Path(__file__).parents[2] / "layers" / "postroom"
IRELAND = Where(region="eu-west-1")


def compact(table: str = "post", slots: int = 1, region: str = "eu-west-1") -> JobParts:
    settings = CompactSettings(
        job_name="compact", bucket="bucket", post_table=table, directory_table="directory", retain_seconds=1_900_800,
        read_units_per_second=10, write_units_per_second=5, region=region,
    )  # fmt: skip
    return JobParts(settings, slots)


def expire() -> ExpireParts:
    return ExpireParts(
        ExpireSettings(
            job_name="expire", bucket="bucket", post_table="post", directory_table="directory", limits_table="limits",
            storage_table="storage", retain_seconds=1_900_800, region="eu-west-1",
        )
    )  # fmt: skip


def test_a_task_starts_at_the_rate_of_the_task_before_it() -> None:
    first, second = (compact("one").registers(Tally()) for _ in range(2))
    assert first._reading._pace is second._reading._pace
    assert first._writing._pace is second._writing._pace
    assert first._reading._pace is not first._writing._pace


def test_each_table_has_a_pace_of_its_own() -> None:
    parts = expire()
    paces = {
        id(parts.candidates(Tally())._reads._pace),
        id(parts.registers(Tally())._reading._pace),
        id(parts.archives(Tally(), now=0).table._reads._pace),
    }
    assert len(paces) == 3


@pytest.mark.parametrize("slots", [1, 4])
def test_a_task_has_its_share_of_the_units_per_second(slots: int) -> None:
    registers = compact(f"shared by {slots}", slots).registers(Tally())
    assert (registers._reading._pace._most, registers._writing._pace._most) == (10 / slots, 5 / slots)


@pytest.mark.parametrize("parts", [compact(), expire()])
def test_a_task_takes_the_arguments_along_and_finds_the_clients_of_its_process(parts: JobParts) -> None:
    carried = pickle.loads(pickle.dumps(parts))
    assert carried == parts
    assert carried.documents()._s3 is parts.documents()._s3


@pytest.mark.parametrize("region", ["eu-west-1", "ap-south-2"])
def test_the_region_is_the_one_that_the_job_is_told(monkeypatch: pytest.MonkeyPatch, region: str) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    clients = job_clients(compact(region=region).settings.where)
    assert clients("dynamodb").meta.endpoint_url == f"https://dynamodb.{region}.amazonaws.com"
    assert clients("s3").meta.region_name == region


def test_a_client_is_made_once() -> None:
    assert job_clients(IRELAND)("s3") is job_clients(IRELAND)("s3")


def test_a_request_to_a_table_is_made_once_so_that_its_pace_learns_of_each() -> None:
    clients = job_clients(IRELAND)
    assert clients("dynamodb").meta.config.retries["total_max_attempts"] == 1
    assert clients("s3").meta.config.retries["total_max_attempts"] > 1


def test_a_task_imports_what_glue_has_and_installs_and_nothing_else() -> None:
    script = "import sys, postroom.runtime.jobs.parts; print(*{name.partition('.')[0] for name in sys.modules})"
    # Not sys.path: other tests may have put more there.
    path = {"PYTHONPATH": os.pathsep.join([str(LIBRARY), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])}
    done = subprocess.run([sys.executable, "-S", "-c", script], env=path, capture_output=True, text=True, check=True)
    ours = {"boto3", "botocore", "s3transfer", "orjson", "msgspec"}
    theirs = {"certifi", "dateutil", "jmespath", "six", "urllib3"}
    assert set(done.stdout.split()) - sys.stdlib_module_names - ours - theirs <= {"postroom", "__main__", "__mp_main__"}
