"""Bounded memory with an end for each entry. Not thread safe: the owner holds its lock."""

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class Kept(NamedTuple, Generic[V]):
    """A value, when it was fetched and when it ends (epoch seconds)."""

    value: V
    fetched_at: float
    expires_at: float


class Cache(Generic[V]):
    """At most `most` entries; the one used longest ago leaves first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, Kept[V]] = OrderedDict()

    def get(self, key: str, now: float) -> Kept[V] | None:
        """The entry, if it has not ended at `now`."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.expires_at <= now:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: str, kept: Kept[V]) -> None:
        """Remember an entry."""
        self._kept[key] = kept
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: str) -> None:
        """Forget an entry, if it is there."""
        self._kept.pop(key, None)

    def __len__(self) -> int:
        return len(self._kept)
