"""A bounded, thread-safe cache that loads missing values.

Look-ups of keys (`names/keys.py`) have a cache of their own: there, a failure applies to a whole domain, and a proven
key stays if a later answer is not proven.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from math import inf
from threading import Lock
from typing import Final, Generic, TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.core.expiring_cache import Cache, CacheEntry

V = TypeVar("V")
E = TypeVar("E", bound=BaseException)

MAX_CACHED: Final = 10_000
"""Strangers choose the names that are looked up: the cache must not grow with them."""


class LoadingCache(Generic[V]):
    """Values by key. If several callers need one at the same moment, one loads it, and all get the value.

    They get its error, too, if errors of that class are cached; any other error may have been temporary, so each caller
    then tries by itself. `clock`: epoch seconds. `seconds`: how long a value is cached from when its loading began.
    `errors`: how long an error of which class is cached; others are not. At most `most` values, which weigh at most
    `most_weight` together, and as many errors.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        seconds: float | Callable[[V], float],
        *,
        most: int = MAX_CACHED,
        weigh: Callable[[V], int] = lambda _: 0,
        most_weight: float = inf,
        errors: Mapping[type[TheirError | NotNowError], float] | None = None,
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._weigh = weigh
        self._error_seconds = errors or {}
        self._values: Cache[V] = Cache(most, most_weight)
        # Separate, because anybody can make up names without a value: they must not displace values.
        self._errors: Cache[TheirError | NotNowError] = Cache(most)
        self._loading: dict[tuple[str, float | Callable[[V], float]], Future[V]] = {}
        self._lock = Lock()

    def get(self, key: str, load: Callable[[], V], *, max_age: float | Callable[[V], float] = inf) -> V:
        """The value of a key; if none is younger than `max_age` seconds, which may depend on it, `load` is called.

        Raises what `load` raises, or raised a moment ago.
        """
        now = self._clock()
        with self._lock:
            kept = self._values.get(key, now)
            if kept is not None and now < kept.fetched_at + (max_age(kept.value) if callable(max_age) else max_age):
                return kept.value
            failed = self._errors.get(key, now)
            if failed is not None:
                raise _anew(failed.value)
            mine: Future[V] = Future()
            loading = self._loading.setdefault((key, max_age), mine)
        if loading is mine:
            return self._lead(key, load, max_age, now, mine)
        try:
            return loading.result()
        except tuple(self._error_seconds) as error:
            raise _anew(error) from None
        except Exception:  # noqa: S110 - told by the one that it befell
            pass
        return self._load(key, load, self._clock())

    def last(self, key: str) -> V | None:
        """The value of a key that was cached last, whatever its age; None: it is cached no longer."""
        with self._lock:
            kept = self._values.get(key, self._clock())
        return kept.value if kept else None

    def drop(self, key: str) -> None:
        """Remove the value of a key."""
        with self._lock:
            self._values.drop(key)

    def _lead(
        self,
        key: str,
        load: Callable[[], V],
        max_age: float | Callable[[V], float],
        now: float,
        loading: Future[V],
    ) -> V:
        try:
            value = self._load(key, load, now)
        except BaseException as error:
            with self._lock:
                del self._loading[key, max_age]
            loading.set_exception(_anew(error))
            raise
        with self._lock:
            del self._loading[key, max_age]
        loading.set_result(value)
        return value

    def _load(self, key: str, load: Callable[[], V], now: float) -> V:
        try:
            value = load()
            seconds = self._seconds(value) if callable(self._seconds) else self._seconds
            weight = self._weigh(value)
        except BaseException as error:
            with self._lock:
                self._keep_error(key, error)
            raise
        with self._lock:
            self._values.put(key, CacheEntry(value, now, now + seconds), weight)
        return value

    def _keep_error(self, key: str, error: BaseException) -> None:
        for kind, seconds in self._error_seconds.items():
            if isinstance(error, kind):
                now = self._clock()
                self._errors.put(key, CacheEntry(_anew(error), now, now + seconds))


def _anew(error: E) -> E:
    """The same error without a traceback, which keeps all frames alive; a fault of ours is not changed."""
    return type(error)(error.reason, error.detail) if isinstance(error, TheirError | NotNowError) else error
