"""The clocks of the functions: those of the machine, and as far ahead as a test says. Who sleeps, sets them on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


class Clock:
    """Takes the place of `time.time`, `time.monotonic` and `time.sleep`. `ahead`: seconds, of `time.time`."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._passed = 0.0
        self._real = time.time
        self._real_monotonic = time.monotonic

    def __call__(self) -> float:
        return self._real() + self.ahead

    def monotonic(self) -> float:
        """Seconds that nobody sets: as many as have passed."""
        return self._real_monotonic() + self._passed

    def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.ahead += seconds
        self._passed += seconds

    def be_right(self) -> None:
        """As right as the machine's."""
        self.ahead = 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """For this process and those that it forks meanwhile."""
        with patch.multiple(time, time=self, monotonic=self.monotonic, sleep=self.sleep):
            yield


CLOCK = Clock()
