"""Addresses that refused or held a connection, which are not connected to again for some minutes."""

import threading
import time
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.reason import Reason

FAILING_SECONDS: Final = 300
"""How long an address that failed is left alone; a name, too. Honest hosts may share the address, at a content delivery
network for example: they wait no longer than this for what others did there."""
HELD_SECONDS: Final = 1.0
"""An address that was given less time than this may have been too slow only because the look-up of its name was."""
MAX_FAILING: Final = 4096
_HOST_BITS: Final = 64
"""A customer of a provider has at least 2⁶⁴ IPv6 addresses (RFC 6177): they count as one."""


class FailedRecentlyError(NotNowError):
    """Nothing was tried, because it failed a moment ago; the reason is OutboundFailed. `seconds`: until it is tried."""

    def __init__(self, reason: Reason, detail: str = "", seconds: float = 0) -> None:
        super().__init__(reason, detail)
        self.seconds = seconds


class FailingAddresses:
    """The addresses that failed within FAILING_SECONDS; safe to share among threads. `clock`: monotonic seconds.

    A name is no use for this: whoever has a zone has any number of names that lead to one address.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: Cache[None] = Cache(MAX_FAILING)

    def note(self, address: IPv4Address | IPv6Address) -> None:
        """Record that an address failed now."""
        now = self._clock()
        with self._lock:
            self._failing.put(key_of(address), CacheEntry(None, now, now + FAILING_SECONDS))

    def without(self, addresses: Iterable[IPv4Address | IPv6Address]) -> list[IPv4Address | IPv6Address]:
        """Those of the addresses that did not fail a moment ago."""
        now = self._clock()
        with self._lock:
            return [each for each in addresses if self._failing.get(key_of(each), now) is None]

    def seconds_left(self, addresses: Iterable[IPv4Address | IPv6Address]) -> float:
        """The seconds until the first of the addresses may be connected to; 0: now."""
        now = self._clock()
        with self._lock:
            kept = [self._failing.get(key_of(each), now) for each in addresses]
        return min((each.expires_at - now if each else 0 for each in kept), default=0)


def key_of(address: IPv4Address | IPv6Address) -> tuple[int, int]:
    """The address, or the network of 64 bits of an IPv6 address."""
    return address.version, int(address) >> (_HOST_BITS if isinstance(address, IPv6Address) else 0)
