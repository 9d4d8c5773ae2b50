"""Retries of requests to a throttled table, with growing pauses."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from postroom.core.errors import NotNowError
from postroom.jobs.pace import Pace
from postroom.jobs.tally import Tally

R = TypeVar("R")

TRIES: Final = 8
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 10.0


class PacedRequests:
    """Sends requests, never faster than its pace.

    `what`: `read` or `write`, for the counts. Safe to share among threads.
    """

    def __init__(self, what: str, pace: Pace, tally: Tally, sleep: Callable[[float], None] = time.sleep) -> None:
        self._what = what
        self._pace = pace
        self._tally = tally
        self._sleep = sleep

    def ask(self, request: Callable[[], R]) -> R:
        """The result of a request of one unit. Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` attempts."""

        def paced() -> R:
            self._tally.add(f"dynamodb.{self._what}")
            try:
                return request()
            finally:
                self._tally.add(f"units.{self._what}")

        return self.keep_asking(paced, lambda: 1)

    def keep_asking(self, request: Callable[[], R], units: Callable[[], int]) -> R:
        """The result of a request that takes several units. `units`: those of each attempt.

        Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` attempts.
        """

        def paced() -> R:
            self._pace.take(units())
            return request()

        def throttled() -> None:
            self._pace.throttled()
            self._tally.add(f"throttled.{self._what}s")

        return _again(paced, throttled, self._sleep)

    def charge(self, units: float) -> None:
        """Count further units that a request took, as its answer says: later requests wait for them."""
        if (more := round(units)) > 0:
            self._pace.take(more)
            self._tally.add(f"units.{self._what}", more)


def retrying(request: Callable[[], R], tally: Tally, sleep: Callable[[float], None]) -> R:
    """The result of a request to S3, repeated if it fails temporarily.

    Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` attempts.
    """
    return _again(request, lambda: tally.add("throttled.s3"), sleep)


def _again(request: Callable[[], R], throttled: Callable[[], None], sleep: Callable[[float], None]) -> R:
    for pause in _pauses():
        try:
            return request()
        except NotNowError:
            throttled()
            sleep(pause)
    # Somebody who reads the log should see why the run is slow.
    return request()


def _pauses() -> Iterator[float]:
    """Growing pauses, different for two tasks that were throttled together."""
    longest = _FIRST_PAUSE_SECONDS
    for _ in range(TRIES - 1):
        yield random.uniform(0, longest)  # noqa: S311 - no secret
        longest = min(longest * 2, _LONGEST_PAUSE_SECONDS)
