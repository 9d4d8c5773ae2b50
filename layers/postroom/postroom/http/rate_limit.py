"""The rate limit of a mailbox: a leaky bucket for each, in the memory of one instance of the function.

The limit applies to each instance, so a mailbox that many instances serve may get a multiple of it. It stops a faulty
program before it costs its owner money; it does not count exactly.
"""

from collections.abc import Callable
from typing import Final

from postroom.api.reasons import TOO_MANY_REQUESTS
from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry

MOST_MAILBOXES: Final = 10_000
BURST_SECONDS: Final = 5
"""How many seconds of unused requests are saved up."""


class Rate:
    """A rate limit. `a_second`: requests; `clock`: seconds."""

    def __init__(self, a_second: int, clock: Callable[[], float]) -> None:
        self._a_second = a_second
        self._clock = clock
        # The time at which a bucket is, or was, empty.
        self._empty_at: Cache[float] = Cache(MOST_MAILBOXES)

    def take(self, mailbox: str) -> None:
        """Count one request. Raises NotNowError(TOO_MANY_REQUESTS)."""
        now = self._clock()
        kept = self._empty_at.get(mailbox, now)
        empty_at = (kept.value if kept else now) + 1 / self._a_second
        if empty_at > now + BURST_SECONDS:
            raise NotNowError(TOO_MANY_REQUESTS)
        self._empty_at.put(mailbox, CacheEntry(empty_at, now, empty_at))
