"""The AWS clients of a function."""

import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import boto3
from botocore.config import Config

from postroom.core.own_faults import OwnFaults
from postroom.core.side_by_side import THREADS
from postroom.net.aws_errors import with_error_context

AWS_TRIES: Final = 3
AWS_CONNECT_SECONDS: Final = 3
AWS_READ_SECONDS: Final = 10
HANDLER_READ_SECONDS: Final = 15
"""The wait for an operator's handler: the inbox must end before its sender is told that it is unavailable."""
AWS: Final = Config(
    retries={"mode": "standard", "total_max_attempts": AWS_TRIES}, max_pool_connections=THREADS,
    connect_timeout=AWS_CONNECT_SECONDS, read_timeout=AWS_READ_SECONDS,
    # Small calls take a quarter of the time with these (benchmarks, `flow`): mypy checks the types of arguments, and
    # without a name of our own the user agent would be made twice for each request.
    parameter_validation=False, user_agent="postroom",
)  # fmt: skip
"""For every client of a function except that of handlers."""
AWS_ONCE: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=AWS_CONNECT_SECONDS, read_timeout=HANDLER_READ_SECONDS
)
"""For operators' handlers: a call without an answer may have been executed, and must not be repeated by us."""

_MAKING: Final = Lock()
"""boto3's session makes one client at a time, and the worker has threads."""


class FunctionClients:
    """The clients of a function, one for each service, because creating one takes longer than most calls.

    `at_once`: the services that almost every event needs; for the others see `late_client`.
    """

    def __init__(self, own_faults: OwnFaults, *at_once: str) -> None:
        self._own_faults = own_faults
        self._at_once = at_once
        self._made: dict[str, Any] = {}

    def __call__(self, service: str, /) -> Any:
        """That of a service."""
        if service not in self._made:
            config = AWS_ONCE if service == "lambda" else AWS
            make = _make if service in self._at_once else late_client
            self._made[service] = make(service, self._own_faults, config)
        return self._made[service]


def _make(service: str, own_faults: OwnFaults, config: Config) -> Any:
    new: Callable[..., Any] = boto3.client  # whose types know services by their literal names
    return with_error_context(new(service, config=config), own_faults)


def late_client(service: str, own_faults: OwnFaults, config: Config = AWS) -> Any:
    """A client that many instances of a function never need: created at its first call.

    Clients that every event needs are better created at the start, when Lambda gives a small function more processor
    time than afterwards. If instances start before their events (SnapStart, provisioned concurrency), this one is
    created at the start, too, because nobody waits for it.
    """
    client = _LateClient(lambda: _make(service, own_faults, config))
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
