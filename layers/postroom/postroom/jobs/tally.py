"""The counts of a run, which are the sums of its tasks' counts."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias

Counts: TypeAlias = Counter[str]
"""By name: `read`, `dropped.acked`, `s3.get`, `us.look up` (microseconds of all tasks together), and so on."""


class Tally:
    """Counts what one task does, in several threads. Safe to share among them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counts = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Add to a count."""
        with self._lock:
            self._counts[name] += count

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Count how long a step takes."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(f"us.{step}", round((time.perf_counter() - began) * 1_000_000))

    def take(self) -> Counts:
        """Return and reset the counts."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return taken


class CountersAccumulator:
    """The rules by which Spark adds counts up: an "accumulator parameter" in its terms."""

    def zero(self, _value: Counts) -> Counts:
        """The empty counts."""
        return Counter()

    def addInPlace(self, one: Counts, other: Counts) -> Counts:  # noqa: N802 - the name is Spark's
        """The sum of two counts."""
        one.update(other)
        return one
