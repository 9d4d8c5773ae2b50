"""The clock of the functions: the machine's, plus an offset that a test sets; sleeping adds to the offset."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


class Clock:
    """Replaces `time.time`, `time.monotonic` and `time.sleep`. `ahead`: the offset of `time.time` in seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._passed = 0.0
        self._real = time.time
        self._real_monotonic = time.monotonic

    def __call__(self) -> float:
        return self._real() + self.ahead

    def monotonic(self) -> float:
        """Seconds for `time.monotonic`, which no test sets."""
        return self._real_monotonic() + self._passed

    def slept(self) -> float:
        """The seconds of all sleeps: nothing else takes time by this clock."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Advance the clock without waiting."""
        self.ahead += seconds
        self._passed += seconds

    def be_right(self) -> None:
        """Remove the offset."""
        self.ahead = 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Use this clock, in this process and those that it forks within the block."""
        with patch.multiple(time, time=self, monotonic=self.monotonic, sleep=self.sleep):
            yield


CLOCK = Clock()
