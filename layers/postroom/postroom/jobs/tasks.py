"""A stage of a job in one Spark task, with a thread pool, and counts that are added to those of the run."""

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeAlias, TypeVar
from zipimport import zipimporter

from postroom.jobs.tally import Counts, Tally

T = TypeVar("T")
THREADS: Final = 16
"""Concurrent requests of a task to the tables."""
Stage: TypeAlias = Callable[[Iterable[T]], Iterator[T]]


class Accumulator(Protocol):
    """The accumulator in which Spark adds counts up."""

    def add(self, term: Counts) -> None:
        """Add counts."""


def counted(counts: Accumulator, work: Callable[[Tally, ThreadPoolExecutor, Iterable[T]], Iterator[T]]) -> Stage[T]:
    """`work` as a stage; its counts are added to `counts` when it is finished."""

    def stage(batches: Iterable[T]) -> Iterator[T]:
        tally = Tally()
        with ThreadPoolExecutor(THREADS) as pool:
            yield from work(tally, pool, batches)
        counts.add(tally.take())
        _forget_archives()

    return stage


def _forget_archives() -> None:
    """Remove the archives on the path from Python's import caches; modules are found again when they are imported.

    Before each task Spark invalidates these caches. Before Python 3.12, this reads every archive again immediately,
    Spark's own included: a tenth of a second for each task, which is longer than a small task.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
