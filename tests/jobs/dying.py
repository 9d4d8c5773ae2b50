"""What a run leaves behind when it dies, at any of its calls.

A dead run leaves what AWS holds at that moment, and nothing else. So one run is played to its end, and what AWS holds
is kept before and after each call: a test goes on from each of these states once.
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
    something. `state`: what AWS holds then, for `tests.aws.holding`."""

    after: str
    state: bytes


@dataclass(frozen=True)
class Deaths:
    """The calls of a run, and those of its deaths that leave different states."""

    calls: list[str]
    different: list[Death]


def deaths_of(clients: Clients, run: Callable[[], object]) -> Deaths:
    """Play a run, which uses these clients, to its end. Each state that it leads to is one death."""
    found, lock = Deaths([], [Death("", _now())]), RLock()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        with lock:
            # Nothing changes between two calls, so a death before a call is a death after the call before it.
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
