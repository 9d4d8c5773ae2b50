"""Zones in which the hosts of several names failed: further names in them are not tried for some minutes."""

import threading
from collections.abc import Callable, Iterator
from typing import Final

import dns.exception
import dns.name
from dns.rdatatype import SOA

from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.names.dns import Ask, Question

FAILING_SECONDS: Final = 300
FAILING_NAMES: Final = 3
"""So many names must fail in a zone: in a zone that many people share, one may fail by accident."""
MAX_ZONES: Final = 4096


class FailingZones:
    """The zones in which FAILING_NAMES names failed within FAILING_SECONDS; safe to share among threads.

    `clock` returns epoch seconds. A zone here is what its servers answer for: names that have zones of their own, such
    as the domains of other people below `co.uk`, do not count towards the zone above them.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: Cache[frozenset[str]] = Cache(MAX_ZONES)

    def note(self, name: str, zone: str) -> None:
        """Record that the hosts of a name in this zone failed now."""
        now = self._clock()
        with self._lock:
            kept = self._failed.get(zone, now)
            names = kept.value if kept else frozenset()
            if len(names) < FAILING_NAMES:
                names |= {name}
            self._failed.put(zone, CacheEntry(names, now, now + FAILING_SECONDS))

    def zone_above(self, name: str) -> str | None:
        """A failing zone that a name is below. The zone's own name stays free: made-up names are always below it."""
        now = self._clock()
        with self._lock:
            for zone in _above(name):
                kept = self._failed.get(zone, now)
                if kept and len(kept.value) >= FAILING_NAMES:
                    return zone
        return None


def zone_of(name: str, ask: Ask) -> str | None:
    """The zone that a host name is in, by the SOA record in the answer; None if the answer does not say."""
    try:
        at = dns.name.from_text(name.encode("ascii"))
        answer = ask(Question(at, SOA))
    except (dns.exception.DNSException, UnicodeError, NotNowError):
        return None
    owners = (*answer.answer.of_type(SOA), *answer.authority.of_type(SOA))
    # Never a zone with a single label: a failing server must not stop a whole top-level domain.
    return next((it.to_text(omit_final_dot=True) for it in owners if at.is_subdomain(it) and len(it.labels) > 2), None)


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.partition(".")[2]
        yield name
