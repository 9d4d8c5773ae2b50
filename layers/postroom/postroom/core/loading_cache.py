"""A bounded, thread-safe cache that loads missing values, each for a fixed time."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MAX_CACHED: Final = 10_000
"""Strangers choose the names that are asked for: the cache must not grow with them."""


class Cached(Generic[T]):
    """Values by key; of those who ask for one at the same moment, one reads. `clock`: epoch seconds; `seconds`: how
    long a value counts."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds, self._lock = clock, seconds, Lock()
        self._entries: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._reading: dict[str, Lock] = {}

    def get(self, key: str, load: Callable[[], T]) -> T:
        """The value of a key; where there is none that counts, what `load` answers, whose errors go through."""
        known = self._known(key)
        if known is None:
            with self._lock:
                turn = self._reading.setdefault(key, Lock())
            with turn:
                known = self._known(key) or self._load(key, load)
        return known[1]

    def _known(self, key: str) -> tuple[float, T] | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry[0] <= self._clock():
                return None
            self._entries.move_to_end(key)
            return entry

    def _load(self, key: str, load: Callable[[], T]) -> tuple[float, T]:
        try:
            value = load()
            entry = self._clock() + self._seconds, value
            with self._lock:
                self._entries[key] = entry
                self._entries.move_to_end(key)
                while len(self._entries) > MAX_CACHED:
                    self._entries.popitem(last=False)
            return entry
        finally:
            with self._lock:
                self._reading.pop(key, None)

    def drop(self, key: str) -> None:
        """Forget the value of a key."""
        with self._lock:
            self._entries.pop(key, None)
