"""A bounded memory of what was read, each for its time."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MAX_CACHED: Final = 10_000
"""Strangers choose the names that are asked for: the cache must not grow with them."""


class Cached(Generic[T]):
    """Values by key. `clock`: epoch seconds; `seconds`: how long a value counts."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds, self._lock = clock, seconds, Lock()
        self._entries: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, key: str, load: Callable[[], T]) -> T:
        """The value of a key; where there is none that counts, what `load` answers, whose errors go through."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        if entry is not None and entry[0] > self._clock():
            return entry[1]
        value = load()
        with self._lock:
            self._entries[key] = (self._clock() + self._seconds, value)
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_CACHED:
                self._entries.popitem(last=False)
        return value

    def drop(self, key: str) -> None:
        """Forget the value of a key."""
        with self._lock:
            self._entries.pop(key, None)
