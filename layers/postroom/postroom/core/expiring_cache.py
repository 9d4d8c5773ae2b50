"""A bounded cache with an expiry time for each entry. Not thread-safe: the owner holds its lock."""

from collections import OrderedDict
from collections.abc import Hashable
from math import inf
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class CacheEntry(NamedTuple, Generic[V]):
    """A value, with the times at which it was fetched and expires (epoch seconds)."""

    value: V
    fetched_at: float
    expires_at: float


class Cache(Generic[V]):
    """At most `most` entries, which weigh at most `most_weight` together; the least recently used is removed first.

    If strangers decide how large a value is, its weight is a size that its memory grows with.
    """

    def __init__(self, most: int, most_weight: float = inf) -> None:
        self._most = most
        self._most_weight = most_weight
        self._weight = 0
        self._kept: OrderedDict[Hashable, tuple[CacheEntry[V], int]] = OrderedDict()

    def get(self, key: Hashable, now: float) -> CacheEntry[V] | None:
        """The entry, if it has not expired at `now`."""
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
        """Store an entry; one that outweighs the whole cache is not stored."""
        self.drop(key)
        if weight > self._most_weight:
            return
        self._kept[key] = kept, weight
        self._weight += weight
        while len(self._kept) > self._most or self._weight > self._most_weight:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        """Remove an entry, if it is there."""
        _, weight = self._kept.pop(key, (None, 0))
        self._weight -= weight

    def __len__(self) -> int:
        return len(self._kept)
