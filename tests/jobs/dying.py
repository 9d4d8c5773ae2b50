"""The states that a run of a job leaves if it dies at any of its calls.

A run that dies leaves the state of AWS at that moment, and nothing else. So one run is completed, and the state of AWS
is recorded before and after each call; a test continues once from each of these states.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from tests.aws import Clients, gate_calls, held


@dataclass(frozen=True)
class Death:
    """A death after the call `after` (empty: before the first call), or later, but before the next call that changes
    something. `state`: that of AWS then, for `tests.aws.holding`."""

    after: str
    state: bytes


@dataclass(frozen=True)
class Deaths:
    """The calls of a run, and its deaths that leave different states."""

    calls: list[str]
    different: list[Death]


def deaths_of(clients: Clients, run: Callable[[], object]) -> Deaths:
    """Complete a run, which uses these clients. Each state in between is one death."""
    found, lock = Deaths([], [Death("", _now())]), RLock()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        with lock:
            # Nothing changes between two calls, so a death before a call equals one after the previous call.
            assert _now() == found.different[-1].state
            try:
                yield
            finally:
                found.calls.append(operation)
                state = _now()
                if state != found.different[-1].state:
                    found.different.append(Death(operation, state))

    gate_calls(clients, gate)
    run()
    return found


def _now() -> bytes:
    for bucket in get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].buckets.values():
        for name in bucket.keys:
            # moto counts how often an object was read.
            bucket.keys[name]._tick = 0
    return held()
