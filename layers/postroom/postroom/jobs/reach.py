"""How a task reaches the store: clients of its own process, and its share of the ceilings."""

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
from postroom.jobs.settings import JobSettings
from postroom.jobs.tally import Tally
from postroom.store.segments import Objects

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client

THREADS: Final = 16
"""Of a task: requests to the tables at a time."""
_AWS: Final = Config(
    # Of throttling the pace learns, and waits for itself.
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=THREADS,
    connect_timeout=5,
    read_timeout=60,
    parameter_validation=False,
    user_agent="postroom",
)
_AT_ENDPOINT: Final = _AWS.merge(Config(s3={"addressing_style": "path"}, proxies={}))


@dataclass(frozen=True, slots=True)
class Reach:
    """What a task needs to know to get there, and how many units a second are its share."""

    bucket: str
    post_table: str
    directory_table: str
    endpoint_url: str
    reads_per_second: float
    writes_per_second: float

    @classmethod
    def of(cls, settings: JobSettings, slots: int) -> "Reach":
        """That of each of so many tasks at a time."""
        return cls(
            settings.bucket,
            settings.post_table,
            settings.directory_table,
            settings.endpoint_url,
            settings.read_units_per_second / slots,
            settings.write_units_per_second / slots,
        )

    def bucket_of(self, tally: Tally) -> Bucket:
        """The bucket, as tasks work on it."""
        return Bucket(s3_client(self.endpoint_url), self.bucket, tally)

    def documents(self) -> Objects:
        """The bucket, for reports."""
        return Objects(s3_client(self.endpoint_url), self.bucket)

    def directory(self, tally: Tally) -> Table:
        """Table `directory`, to be gone through."""
        reads = Patience("read", Pace(self.reads_per_second), tally)
        return Table(dynamodb_client(self.endpoint_url), self.directory_table, reads)

    def registers(self, tally: Tally) -> Registers:
        """Table `post`."""
        return Registers(
            dynamodb_client(self.endpoint_url),
            self.post_table,
            reads=Pace(self.reads_per_second),
            writes=Pace(self.writes_per_second),
            tally=tally,
        )


@lru_cache(1)
def s3_client(endpoint_url: str) -> "S3Client":
    """Made once for each process: it takes longer than most calls. `endpoint_url`: empty for AWS."""
    return boto3.Session().client("s3", **_at(endpoint_url))


@lru_cache(1)
def dynamodb_client(endpoint_url: str) -> "DynamoDBClient":
    """Made once for each process. `endpoint_url`: empty for AWS."""
    return boto3.Session().client("dynamodb", **_at(endpoint_url))


@lru_cache(1)
def logs_client(endpoint_url: str) -> "CloudWatchLogsClient":
    """Made once for each process. `endpoint_url`: empty for AWS."""
    return boto3.Session().client("logs", **_at(endpoint_url))


class _Where(TypedDict, total=False):
    config: Required[Config]
    endpoint_url: str


def _at(endpoint_url: str) -> _Where:
    return {"endpoint_url": endpoint_url, "config": _AT_ENDPOINT} if endpoint_url else {"config": _AWS}
