"""A rate limit for the requests of a task to a table, so that a nightly run never throttles the functions."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final

SLOWEST: Final = 1.0
"""The least number of units a second: a task that requests nothing would not notice that there is capacity again."""
_BURST_SECONDS: Final = 0.5
_GAIN: Final = 0.1
"""The share of the limit that the rate grows by in each second without throttling."""


class Pace:
    """Limits a rate. After throttling, the rate is halved, and grows again slowly. Safe to share among threads.

    `most`: units a second. `clock`: seconds that never go back.
    """

    def __init__(
        self,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._most = max(most, SLOWEST)
        self._rate = self._most
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._there = self._most * _BURST_SECONDS
        self._at = clock()
        self._throttled_at = self._at

    def take(self, units: int) -> None:
        """Wait until `units` units may be used."""
        with self._lock:
            self._pass_time()
            # A request may take more units than are available; then the next request waits for both.
            self._there -= units
            wait = -self._there / self._rate
        if wait > 0:
            self._sleep(wait)

    def throttled(self) -> None:
        """Reduce the rate, because the table was throttled. Within a second of the last time it is the same event."""
        with self._lock:
            self._pass_time()
            if self._at - self._throttled_at >= 1 or self._rate == self._most:
                self._rate = max(self._rate / 2, SLOWEST)
                self._throttled_at = self._at

    def _pass_time(self) -> None:
        now = self._clock()
        passed, self._at = now - self._at, now
        self._rate = min(self._rate + passed * _GAIN * self._most, self._most)
        self._there = min(self._there + passed * self._rate, self._rate * _BURST_SECONDS)
