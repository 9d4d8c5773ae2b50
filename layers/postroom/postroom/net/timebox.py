"""A time limit for look-ups; a result that comes later is kept for the next request."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from postroom.core.errors import NotNowError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

R = TypeVar("R")


class TimeBox:
    """Limits look-ups. `seconds`: for each call, including its wait for a thread of `pool`."""

    def __init__(self, pool: Executor, seconds: float) -> None:
        self._pool = pool
        self._seconds = seconds

    def call(self, look_up: Callable[[], R]) -> R:
        """The result of `look_up`, or its error. Raises NotNowError(PROFILE_LOOKUP_FAILED) when the time is over."""
        running = self._pool.submit(look_up)
        try:
            return running.result(self._seconds)
        except TimeoutError:
            # Nobody waits for a look-up that has not begun: they must not accumulate while others hang.
            running.cancel()
            raise NotNowError(PROFILE_LOOKUP_FAILED, f"no answer within {self._seconds:g} s") from None
