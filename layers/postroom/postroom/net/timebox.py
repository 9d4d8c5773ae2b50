"""A time limit for look-ups; a result that comes later is kept for the next request."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TypeVar

from postroom.core.errors import TooSlowError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

R = TypeVar("R")


class TimeBox:
    """Limits the look-ups of one request.

    `seconds`: for all of them together, including their waits for a thread of `pool`. `monotonic`: seconds.
    """

    def __init__(self, pool: Executor, seconds: float, monotonic: Callable[[], float]) -> None:
        self._pool = pool
        self._seconds = seconds
        self._left = seconds
        self._monotonic = monotonic

    def call(self, look_up: Callable[[], R]) -> R:
        """The result of `look_up`, or its error. Raises TooSlowError when the time is over."""
        begun = self._monotonic()
        return self._wait(self.begin(look_up), begun)

    def begin(self, look_up: Callable[[], R]) -> Future[R]:
        """Begin a look-up, whose `result` is needed later. Raises as `call` does."""
        if self._left <= 0:
            raise self._over()
        return self._pool.submit(look_up)

    def result(self, running: Future[R]) -> R:
        """The result of a look-up that was begun, or its error. Raises as `call` does."""
        return self._wait(running, self._monotonic())

    def _wait(self, running: Future[R], begun: float) -> R:
        try:
            return running.result(max(0.0, self._left))
        except TimeoutError:
            # Nobody waits for a look-up that has not begun: they must not accumulate while others hang.
            running.cancel()
            raise self._over() from None
        finally:
            self._left -= self._monotonic() - begun

    def _over(self) -> TooSlowError:
        return TooSlowError(PROFILE_LOOKUP_FAILED, f"no answer within {self._seconds:g} s")
