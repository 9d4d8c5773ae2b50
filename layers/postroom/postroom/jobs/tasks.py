"""A stage of a job in one Spark task: with threads, and a tally that is added to the run's."""

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias, TypeVar
from zipimport import zipimporter

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
        _forget_archives()

    return stage


def _forget_archives() -> None:
    """Take the archives on the path out of what Python remembers of it; what is asked for once more is found again.

    Before each task Spark has all that is remembered looked at anew, and until Python 3.12 an archive, such as Spark's
    own, is read for that at once: a tenth of a second for each task, which is more than a small one takes.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
