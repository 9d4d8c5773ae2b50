"""The rate limit of a mailbox: a leaky bucket for each, in the memory of one instance of the function.

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

MOST_MAILBOXES: Final = 10_000
BURST_SECONDS: Final = 5
"""How many seconds of unused requests are saved up."""


class Rate:
    """A rate limit. `a_second`: requests; `clock`: seconds."""

    def __init__(self, a_second: int, clock: Callable[[], float]) -> None:
        self._a_second = a_second
        self._clock = clock
        self._buckets: Cache[LeakyBucket] = Cache(MOST_MAILBOXES)

    def take(self, mailbox: str) -> None:
        """Count one request. Raises NotNowError(TOO_MANY_REQUESTS)."""
        if not self._bucket(mailbox).take():
            raise NotNowError(TOO_MANY_REQUESTS)

    def _bucket(self, mailbox: str) -> LeakyBucket:
        now = self._clock()
        kept = self._buckets.get(mailbox, now)
        if kept is not None:
            return kept.value
        bucket = LeakyBucket(self._a_second, self._a_second * BURST_SECONDS, self._clock)
        self._buckets.put(mailbox, CacheEntry(bucket, now, inf))
        return bucket
