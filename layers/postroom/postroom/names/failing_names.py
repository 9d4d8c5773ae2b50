"""Names whose hosts failed, and zones with a wildcard in which several did: they are not tried again for minutes."""

import threading
from collections.abc import Callable, Iterator
from typing import Final

import dns.exception
import dns.name
from dns.rcode import NOERROR
from dns.rdatatype import CNAME, SOA

from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.names.dns import Ask, Question
from postroom.names.silent_zones import zones_of
from postroom.net.failing_addresses import FAILING_SECONDS

FAILING_NAMES: Final = 3
"""So many names must fail in a zone: in a zone that many people share, one may fail by accident."""


class FailingNames:
    """The names that failed within FAILING_SECONDS, and the zones in which FAILING_NAMES did; safe to share among
    threads.

    `clock` returns epoch seconds. `most`: names, and zones, that are remembered. A zone here is a domain below which
    all names exist, as `wildcard_above` finds it.
    """

    def __init__(self, clock: Callable[[], float], most: int) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._names: Cache[None] = Cache(most)
        self._zones: Cache[frozenset[str]] = Cache(most)

    def note(self, name: str, zone: str | None) -> None:
        """Record that the hosts of a name failed now. `zone`: that the name is in, if it is below a wildcard."""
        now = self._clock()
        with self._lock:
            self._names.put(name, CacheEntry(None, now, now + FAILING_SECONDS))
            if zone is None:
                return
            kept = self._zones.get(zone, now)
            names = kept.value if kept else frozenset()
            if len(names) < FAILING_NAMES:
                names |= {name}
            self._zones.put(zone, CacheEntry(names, now, now + FAILING_SECONDS))

    def seconds_left(self, name: str) -> float:
        """The seconds for which a name is not tried, because it failed, or a zone that it is below; 0: it is tried.

        A zone's own name stays free: made-up names are always below it.
        """
        now = self._clock()
        with self._lock:
            failed = self._names.get(name, now)
            zones = [kept for zone in _above(name) if (kept := self._zones.get(zone, now))]
        ends = [failed.expires_at] if failed else []
        ends += [kept.expires_at for kept in zones if len(kept.value) >= FAILING_NAMES]
        return max(ends, default=now) - now


def wildcard_above(domain: str, ask: Ask, label: str) -> str | None:
    """The highest domain above `domain` with a wildcard (RFC 4592), below which all names exist; None: there is none.

    `label`: drawn at random for this call, so that nobody has given it to a host. If a name with it exists below a
    domain, anybody may have made up other names there. Only the servers for that domain say so. The servers of a
    delegation, such as a stranger's domain below `co.uk`, are asked about nothing above it, and top-level domains are
    left out.

    What remains: honest people may share a domain with a wildcard, such as that of a web host, with a stranger; and
    some signed zones say of each name that it exists, without records (RFC 9824). Three names that fail stop the others
    there.
    """
    for above in zones_of(domain):
        if above == domain:
            break
        try:
            answer = ask(Question(dns.name.from_text(f"{label}.{above}"), SOA))
        except (dns.exception.DNSException, NotNowError):
            return None
        # An alias exists, whatever it leads to.
        if answer.rcode == NOERROR or answer.answer.count(CNAME):
            return above
    return None


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.partition(".")[2]
        yield name
