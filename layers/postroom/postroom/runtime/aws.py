"""Clients of AWS: one of each service for a whole function, since making one takes longer than most calls."""

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config

from postroom.core.own_faults import OwnFaults
from postroom.core.side_by_side import THREADS
from postroom.net.aws import naming
from postroom.storage.queues import Queue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

AWS_TRIES: Final = 3
AWS_CONNECT_SECONDS: Final = 3
AWS_READ_SECONDS: Final = 10
HANDLER_READ_SECONDS: Final = 15
"""An operator's handler is waited for so long: the door must end before its sender is told that it is away."""
AWS: Final = Config(
    retries={"mode": "standard", "total_max_attempts": AWS_TRIES}, max_pool_connections=THREADS,
    connect_timeout=AWS_CONNECT_SECONDS, read_timeout=AWS_READ_SECONDS,
    # A quarter of what botocore does for a small call (benchmarks, `flow`): the types of arguments are mypy's to check,
    # and without a name of ours the user agent is made up anew, twice for each request.
    parameter_validation=False, user_agent="postroom",
)  # fmt: skip
"""For every client of a function but that of handlers."""
AWS_ONCE: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=AWS_CONNECT_SECONDS, read_timeout=HANDLER_READ_SECONDS
)
"""For handlers of operators: a call that was not answered in time may have been executed; it is not ours to repeat."""

_MAKING: Final = Lock()
"""boto3's session makes one client at a time, and the worker has threads."""


class Aws:
    """The clients that every function has, and almost every event needs."""

    def __init__(self, own_faults: OwnFaults) -> None:
        self.dynamodb: DynamoDBClient = naming(boto3.client("dynamodb", config=AWS), own_faults)
        self._sqs: SQSClient = naming(boto3.client("sqs", config=AWS), own_faults)

    def queue(self, url: str) -> Queue:
        """A queue."""
        return Queue(self._sqs, url)


def late_client(service: str, own_faults: OwnFaults, config: Config = AWS) -> Any:
    """A client that many instances of a function never need: made when it is first asked for something.

    What every event needs is better made at once: Lambda gives a start more of a processor than it gives a small
    function afterwards. And where instances are made ahead of their events (SnapStart, provisioned concurrency), this
    one is made at once, too: nobody waits for that.
    """
    new: Callable[..., Any] = boto3.client  # whose types know services by their literal names
    client = _LateClient(lambda: naming(new(service, config=config), own_faults))
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand":
        client.make()
    return client


class _LateClient:
    def __init__(self, new: Callable[[], Any]) -> None:
        self._new = new
        self._made: Any = None

    def make(self) -> Any:
        with _MAKING:
            if self._made is None:
                self._made = self._new()
        return self._made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.make(), name)
