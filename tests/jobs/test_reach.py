"""How tasks reach the store: which AWS, and at what pace."""

import pytest

from postroom.jobs.reach import Reach, dynamodb_client, s3_client
from postroom.jobs.settings import CompactSettings, Where
from postroom.jobs.tally import Tally


def reach(table: str = "post", reads: float = 10, writes: float = 5) -> Reach:
    return Reach("bucket", table, "directory", Where(region="eu-west-1"), reads, writes)


def test_a_task_goes_on_at_the_pace_at_which_the_one_before_it_ended() -> None:
    first, second = (reach("one").registers(Tally()) for _ in range(2))
    assert first._reading._pace is second._reading._pace
    assert first._writing._pace is second._writing._pace
    assert first._reading._pace is not first._writing._pace


def test_each_table_has_a_pace_of_its_own() -> None:
    ways = reach("two")
    tables = {id(ways.reads(table, Tally())._pace) for table in ("post", "limits", "storage")}
    assert len(tables) == 3


@pytest.mark.parametrize("region", ["eu-west-1", "ap-south-2"])
def test_the_region_is_the_one_that_the_job_is_told(monkeypatch: pytest.MonkeyPatch, region: str) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    settings = CompactSettings(
        job_name="compact", bucket="b", post_table="p", directory_table="d", retain_seconds=1_900_800, region=region
    )
    assert dynamodb_client(settings.where).meta.endpoint_url == f"https://dynamodb.{region}.amazonaws.com"
    assert s3_client(settings.where).meta.region_name == region


def test_a_request_to_a_table_is_made_once_so_that_its_pace_learns_of_each() -> None:
    where = Where(region="eu-west-1")
    assert dynamodb_client(where).meta.config.retries["total_max_attempts"] == 1
    assert s3_client(where).meta.config.retries["total_max_attempts"] > 1
