"""A rate limit in the memory of one process: a leaky bucket."""

from collections.abc import Callable
from threading import Lock


class LeakyBucket:
    """Admits `a_second` events per second, and `burst` at once after a pause. Safe to share. `clock`: seconds."""

    def __init__(self, a_second: float, burst: int, clock: Callable[[], float]) -> None:
        self._a_second = a_second
        self._burst = burst
        self._clock = clock
        self._lock = Lock()
        # The time at which the bucket is, or was, empty.
        self._empty_at = clock()

    def take(self) -> bool:
        """Count one event; False: there were too many, and it is not counted."""
        with self._lock:
            now = self._clock()
            empty_at = max(self._empty_at, now) + 1 / self._a_second
            # Half an event more, so that rounding never refuses the last one of a burst.
            if empty_at > now + (self._burst + 0.5) / self._a_second:
                return False
            self._empty_at = empty_at
            return True
