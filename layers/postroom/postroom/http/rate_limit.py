"""Rate limits of mailboxes and of peers: leaky buckets in the memory of one instance of the function.

The limit applies to each instance, so a mailbox that many instances serve may get a multiple of it. It stops a faulty
program before it costs its owner money; it does not count exactly.
"""

from collections.abc import Callable
from math import inf
from typing import Final

from postroom.api.reasons import TOO_MANY_REQUESTS
from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.leaky_bucket import LeakyBucket

MOST_NAMES: Final = 10_000
NEWCOMERS_PER_SECOND: Final = 20
BURST_SECONDS: Final = 5
"""How many seconds of unused requests are saved up."""


class Rate:
    """A rate limit. `a_second`: requests; `clock`: seconds."""

    def __init__(self, a_second: int, clock: Callable[[], float]) -> None:
        self._a_second = a_second
        self._clock = clock
        self._buckets: Cache[LeakyBucket] = Cache(MOST_NAMES)

    def take(self, name: str) -> None:
        """Count one request of a mailbox or a peer. Raises NotNowError(TOO_MANY_REQUESTS)."""
        if not self._bucket(name).take():
            raise NotNowError(TOO_MANY_REQUESTS)

    def _bucket(self, name: str) -> LeakyBucket:
        now = self._clock()
        kept = self._buckets.get(name, now)
        if kept is not None:
            return kept.value
        bucket = LeakyBucket(self._a_second, self._a_second * BURST_SECONDS, self._clock)
        self._buckets.put(name, CacheEntry(bucket, now, inf))
        return bucket


class NewcomerRate:
    """A rate limit for the requests of all peers together of whom no mailbox is known yet.

    Each may name another mailbox, which is looked up. Whoever owns one is not counted. `clock`: seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._bucket = LeakyBucket(NEWCOMERS_PER_SECOND, NEWCOMERS_PER_SECOND * BURST_SECONDS, clock)
        self._owners: Cache[None] = Cache(MOST_NAMES)

    def take(self, peer: str) -> None:
        """Count one request. Raises NotNowError(TOO_MANY_REQUESTS)."""
        if self._owners.get(peer, self._clock()) is None and not self._bucket.take():
            raise NotNowError(TOO_MANY_REQUESTS)

    def prove(self, peer: str) -> None:
        """An owner let this peer do something: it is a newcomer no more."""
        self._owners.put(peer, CacheEntry(None, self._clock(), inf))
