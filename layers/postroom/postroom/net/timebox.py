"""A time limit for look-ups; a result that comes later is kept for the next request."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from postroom.core.errors import NotNowError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

R = TypeVar("R")


class TimeBox:
    """`seconds` for each call, its waiting for a thread of `pool` included."""

    def __init__(self, pool: Executor, seconds: float) -> None:
        self._pool = pool
        self._seconds = seconds

    def call(self, look_up: Callable[[], R]) -> R:
        """What `look_up` answers, or raises. Raises NotNowError(PROFILE_LOOKUP_FAILED) when the time is over."""
        running = self._pool.submit(look_up)
        try:
            return running.result(self._seconds)
        except TimeoutError:
            # Nobody waits for what has not begun: it must not heap up while look-ups hang.
            running.cancel()
            raise NotNowError(PROFILE_LOOKUP_FAILED, f"no answer within {self._seconds:g} s") from None
