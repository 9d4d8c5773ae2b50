"""The AWS clients of a Glue job's process."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Required, TypedDict

import boto3
from botocore.config import Config

from postroom.jobs.settings import Where
from postroom.jobs.tasks import THREADS

if TYPE_CHECKING:
    from postroom.runtime.aws_clients import AwsClients

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


@lru_cache(1)
def job_clients(where: Where) -> "AwsClients":
    """The clients of an account, each created once for each process, because that takes longer than most calls."""
    return _JobClients(where)


class _JobClients:
    def __init__(self, where: Where) -> None:
        self._where = where
        self._made: dict[str, Any] = {}

    def __call__(self, service: str, /) -> Any:
        if service not in self._made:
            create: Any = boto3.Session().client  # whose types know services by their literal names
            self._made[service] = create(service, **_at(self._where, _ONCE if service == "dynamodb" else _AWS))
        return self._made[service]


class _Given(TypedDict, total=False):
    config: Required[Config]
    endpoint_url: str
    region_name: str


def _at(where: Where, config: Config) -> _Given:
    given: _Given = {"config": config}
    if where.endpoint_url:
        given["endpoint_url"], given["config"] = where.endpoint_url, config.merge(_AT_ENDPOINT)
    if where.region:
        given["region_name"] = where.region
    return given
