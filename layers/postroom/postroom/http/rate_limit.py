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
NEWCOMERS_AT_ONCE: Final = 40
"""The look-ups of all newcomers together, after a pause."""
NEWCOMER_PER_SECOND: Final = 2
"""Those of one."""
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
    """A rate limit for the look-ups of mailboxes that peers name whom the owner has not let do anything there.

    Each request may name another mailbox. A peer has a share of all; who has ten keys can take all shares. `clock`:
    seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._shares = Rate(NEWCOMER_PER_SECOND, clock)
        self._bucket = LeakyBucket(NEWCOMERS_PER_SECOND, NEWCOMERS_AT_ONCE, clock)
        self._known: Cache[None] = Cache(MOST_NAMES)

    def take(self, peer: str) -> None:
        """Count the look-up of a mailbox. Raises NotNowError(TOO_MANY_REQUESTS)."""
        self._shares.take(peer)
        if not self._bucket.take():
            raise NotNowError(TOO_MANY_REQUESTS)

    def once(self, peer: str) -> Callable[[], None]:
        """What counts the look-up of a mailbox when it is first called. That raises as `take` does."""
        is_counted = False

        def take() -> None:
            nonlocal is_counted
            if not is_counted:
                self.take(peer)
                is_counted = True

        return take

    def is_known(self, peer: str, mailbox: str) -> bool:
        """Whether the owner of the mailbox let this peer do something."""
        return self._known.get((peer, mailbox), self._clock()) is not None

    def note_known(self, peer: str, mailbox: str) -> None:
        """The owner of the mailbox let this peer do something."""
        self._known.put((peer, mailbox), CacheEntry(None, self._clock(), inf))
