"""The clock of the functions: that of the machine, and as far `ahead` as a test says. Who sleeps, sets it on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


class Clock:
    """Takes the place of `time.time` and `time.sleep`. `ahead`: seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._real = time.time
        self.really_sleep = time.sleep

    def __call__(self) -> float:
        return self._real() + self.ahead

    def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.ahead += seconds

    @contextmanager
    def installed(self) -> Iterator[None]:
        """For this process and those that it forks meanwhile."""
        with patch.object(time, "time", self), patch.object(time, "sleep", self.sleep):
            yield


CLOCK = Clock()
