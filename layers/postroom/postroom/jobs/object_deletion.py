"""Compact 5: deletion of objects whose lines are all past."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from postroom.jobs.bucket import MOST_DELETED, Bucket
from postroom.jobs.past_lines import PastLines
from postroom.jobs.tally import Tally

T = TypeVar("T")


class ObjectDeleter:
    """Deletes objects in bulk. `dry_run`: only counts. Raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, bucket: Bucket, tally: Tally, *, dry_run: bool) -> None:
        self._bucket = bucket
        self._tally = tally
        self._dry_run = dry_run

    def delete(self, known: Iterable[PastLines]) -> None:
        """Delete the objects whose lines are all past. `known`: all evidence about each object, added up."""
        for _ in self.delete_while_reading(known):
            self._tally.add("objects.left")

    def delete_while_reading(self, found: Iterable[T | PastLines]) -> Iterator[T | PastLines]:
        """Yield what was found, except objects whose lines are all past: those are deleted on the way."""
        names: list[str] = []
        for each in found:
            if not (isinstance(each, PastLines) and each.all_past):
                yield each
                continue
            self._tally.add("objects.collected")
            self._tally.add("bytes.collected", each.size)
            names.append(each.source)
            if len(names) == MOST_DELETED:
                self._delete(names)
                names = []
        if names:
            self._delete(names)

    def _delete(self, names: list[str]) -> None:
        if not self._dry_run:
            with self._tally.timed("collect"):
                self._bucket.delete_all(names)
