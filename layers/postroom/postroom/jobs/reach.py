"""The AWS clients of a task in its own process, and its share of the rate limits."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Required, TypedDict

import boto3
from botocore.config import Config

from postroom.jobs.bucket import Bucket
from postroom.jobs.pace import Pace
from postroom.jobs.patience import Patience
from postroom.jobs.registers import Registers
from postroom.jobs.scanning import Table
from postroom.jobs.settings import JobSettings, Where
from postroom.jobs.tally import Tally
from postroom.storage.mail.segments import Objects

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client

THREADS: Final = 16
"""Concurrent requests of a task to the tables."""
_AWS: Final = Config(
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=THREADS,
    connect_timeout=5,
    read_timeout=60,
    parameter_validation=False,
    user_agent="postroom",
)
# Each request to a table is paced and counted. Its pace reacts to throttling, and does the waiting itself.
_ONCE: Final = _AWS.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
_AT_ENDPOINT: Final = Config(s3={"addressing_style": "path"}, proxies={})


@dataclass(frozen=True, slots=True)
class Reach:
    """What a task needs to make its clients, and its share of the units a second."""

    bucket: str
    post_table: str
    directory_table: str
    where: Where
    reads_per_second: float
    writes_per_second: float

    @classmethod
    def of(cls, settings: JobSettings, slots: int) -> "Reach":
        """The share of one task, if `slots` tasks run at a time."""
        return cls(
            settings.bucket,
            settings.post_table,
            settings.directory_table,
            settings.where,
            settings.read_units_per_second / slots,
            settings.write_units_per_second / slots,
        )

    def bucket_of(self, tally: Tally) -> Bucket:
        """The bucket for tasks."""
        return Bucket(s3_client(self.where), self.bucket, tally)

    def documents(self) -> Objects:
        """The bucket for reports."""
        return Objects(s3_client(self.where), self.bucket)

    def directory(self, tally: Tally) -> Table:
        """Table `directory`, to be scanned."""
        return Table(dynamodb_client(self.where), self.directory_table, self.reads(self.directory_table, tally))

    def registers(self, tally: Tally) -> Registers:
        """Table `post`."""
        return Registers(
            dynamodb_client(self.where), self.post_table,
            reads=self._reading(self.post_table), writes=self._writing(self.post_table), tally=tally,
        )  # fmt: skip

    def reads(self, table: str, tally: Tally) -> Patience:
        """Sends requests that read from a table."""
        return Patience("read", self._reading(table), tally)

    def writes(self, table: str, tally: Tally) -> Patience:
        """Sends requests that write to a table."""
        return Patience("write", self._writing(table), tally)

    def _reading(self, table: str) -> Pace:
        return _pace(f"{table} read", self.reads_per_second)

    def _writing(self, table: str) -> Pace:
        return _pace(f"{table} write", self.writes_per_second)


@lru_cache(16)
def _pace(_of: str, units_per_second: float) -> Pace:
    """One pace for each process, whose tasks run one after the other: each starts at the rate at which the last one
    ended."""
    return Pace(units_per_second)


@lru_cache(1)
def s3_client(where: Where) -> "S3Client":
    """Created once for each process, because that takes longer than most calls."""
    return boto3.Session().client("s3", **_at(where))


@lru_cache(1)
def dynamodb_client(where: Where) -> "DynamoDBClient":
    """Created once for each process."""
    return boto3.Session().client("dynamodb", **_at(where, _ONCE))


@lru_cache(1)
def logs_client(where: Where) -> "CloudWatchLogsClient":
    """Created once for each process."""
    return boto3.Session().client("logs", **_at(where))


class _Given(TypedDict, total=False):
    config: Required[Config]
    endpoint_url: str
    region_name: str


def _at(where: Where, config: Config = _AWS) -> _Given:
    given: _Given = {"config": config}
    if where.endpoint_url:
        given["endpoint_url"], given["config"] = where.endpoint_url, config.merge(_AT_ENDPOINT)
    if where.region:
        given["region_name"] = where.region
    return given
