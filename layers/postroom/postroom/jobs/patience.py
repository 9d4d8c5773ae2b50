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


class Patience:
    """Asks, never faster than its pace. `what`: `read` or `write`, as it is counted. Safe to share."""

    def __init__(self, what: str, pace: Pace, tally: Tally, sleep: Callable[[float], None] = time.sleep) -> None:
        self._what = what
        self._pace = pace
        self._tally = tally
        self._sleep = sleep

    def ask(self, request: Callable[[], R]) -> R:
        """What a request of one unit answers. Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` tries."""

        def paced() -> R:
            self._tally.add(f"dynamodb.{self._what}")
            try:
                return request()
            finally:
                self._tally.add(f"units.{self._what}")

        return self.keep_asking(paced, lambda: 1)

    def keep_asking(self, request: Callable[[], R], units: Callable[[], int]) -> R:
        """The same of a request that counts for itself. `units`: how many each try of it takes.

        Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` tries.
        """

        def paced() -> R:
            self._pace.take(units())
            return request()

        def throttled() -> None:
            self._pace.throttled()
            self._tally.add(f"throttled.{self._what}s")

        return _again(paced, throttled, self._sleep)

    def owe(self, units: float) -> None:
        """A request took so many units more than one, as its answer says: the next ones wait for them."""
        if (more := round(units)) > 0:
            self._pace.take(more)
            self._tally.add(f"units.{self._what}", more)


def again(request: Callable[[], R], tally: Tally, sleep: Callable[[float], None]) -> R:
    """What a request of S3 answers, made again where it cannot be answered now.

    Raises NotNowError(STORE_UNAVAILABLE) after `TRIES` tries.
    """
    return _again(request, lambda: tally.add("throttled.s3"), sleep)


def _again(request: Callable[[], R], throttled: Callable[[], None], sleep: Callable[[float], None]) -> R:
    for pause in _pauses():
        try:
            return request()
        except NotNowError:
            throttled()
            sleep(pause)
    # What is in its way now, whoever looks into the log is to see.
    return request()


def _pauses() -> Iterator[float]:
    """Longer and longer, and never the same for two tasks that were throttled together."""
    longest = _FIRST_PAUSE_SECONDS
    for _ in range(TRIES - 1):
        yield random.uniform(0, longest)  # noqa: S311 - no secret
        longest = min(longest * 2, _LONGEST_PAUSE_SECONDS)
