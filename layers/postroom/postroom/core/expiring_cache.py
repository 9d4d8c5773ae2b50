"""A bounded cache with an expiry time for each entry. Not thread safe: the owner holds its lock."""

from collections import OrderedDict
from collections.abc import Hashable
from math import inf
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class CacheEntry(NamedTuple, Generic[V]):
    """A value, when it was fetched and when it ends (epoch seconds)."""

    value: V
    fetched_at: float
    expires_at: float


class Cache(Generic[V]):
    """At most `most` entries, of at most `most_weight` together; the one used longest ago leaves first.

    Where strangers decide how large a value is, it is weighed by something that its memory grows with.
    """

    def __init__(self, most: int, most_weight: float = inf) -> None:
        self._most = most
        self._most_weight = most_weight
        self._weight = 0
        self._kept: OrderedDict[Hashable, tuple[CacheEntry[V], int]] = OrderedDict()

    def get(self, key: Hashable, now: float) -> CacheEntry[V] | None:
        """The entry, if it has not ended at `now`."""
        found = self._kept.get(key)
        if found is None:
            return None
        kept, _ = found
        if kept.expires_at <= now:
            self.drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: Hashable, kept: CacheEntry[V], weight: int = 0) -> None:
        """Remember an entry; one that outweighs the whole cache is not kept."""
        self.drop(key)
        if weight > self._most_weight:
            return
        self._kept[key] = kept, weight
        self._weight += weight
        while len(self._kept) > self._most or self._weight > self._most_weight:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        """Forget an entry, if it is there."""
        _, weight = self._kept.pop(key, (None, 0))
        self._weight -= weight

    def __len__(self) -> int:
        return len(self._kept)
