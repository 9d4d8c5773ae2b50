"""What a run leaves behind wherever it dies.

That is what AWS holds at that moment: of the run itself nothing is left. So one run that comes to its end, and is
looked at before and after each of its calls, shows what all of its deaths leave, and each is gone on from once.
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
    """Of a run whose last call was `after` (empty: it made none), and of all that follow up to the next that changes
    something. `state`: what AWS holds (`tests.aws.holding`)."""

    after: str
    state: bytes


@dataclass(frozen=True)
class Deaths:
    """All that a run may die of and leave different things behind; and the calls that it made."""

    calls: list[str]
    different: list[Death]


def deaths_of(clients: Clients, run: Callable[[], object]) -> Deaths:
    """Those of a run that goes by these clients, which is played to its end."""
    found, lock = Deaths([], [Death("", _now())]), RLock()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        with lock:
            # To die before a call is to die after the one before it: nothing lies between.
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
            # It counts how often an object was read.
            bucket.keys[name]._tick = 0
    return held()
