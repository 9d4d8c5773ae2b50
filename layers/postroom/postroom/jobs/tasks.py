"""A stage of a job as one task does it: with threads, and a tally that is added to the run's. Spark calls it."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias, TypeVar

from postroom.jobs.reach import THREADS
from postroom.jobs.tally import Counts, Tally

T = TypeVar("T")
Stage: TypeAlias = Callable[[Iterable[T]], Iterator[T]]


class Accumulator(Protocol):
    """What Spark adds counts up in."""

    def add(self, term: Counts) -> None:
        """Count so much more."""


def counted(counts: Accumulator, work: Callable[[Tally, ThreadPoolExecutor, Iterable[T]], Iterator[T]]) -> Stage[T]:
    """`work` as a stage; what it counts is added to `counts` when it has come to its end."""

    def stage(batches: Iterable[T]) -> Iterator[T]:
        tally = Tally()
        with ThreadPoolExecutor(THREADS) as pool:
            yield from work(tally, pool, batches)
        counts.add(tally.take())

    return stage
