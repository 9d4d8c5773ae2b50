"""Zones whose keys are proven, and the memory of them between look-ups."""

import threading
from dataclasses import dataclass
from typing import Final

import dns.name

from postroom.names.cache import Cache, Kept
from postroom.names.dnssec.evidence import Link
from postroom.names.dnssec.signatures import Keys

MOST_ZONES: Final = 1_000
"""Remembered: the root, the domains above most senders, and those who write most. Their keys take some 2 kB each."""


@dataclass(frozen=True)
class Zone:
    """A zone whose keys are proven; `chain` leads from the anchor down to it, `until` is in epoch seconds."""

    keys: Keys
    chain: tuple[Link, ...]
    until: int


class KnownZones:
    """Zones by name, as long as all holds that they rest on. Thread safe."""

    def __init__(self, most: int = MOST_ZONES) -> None:
        self._lock = threading.Lock()
        self._zones: Cache[Zone] = Cache(most)

    def get(self, name: dns.name.Name, now: float) -> Zone | None:
        """The zone, if it is remembered and still holds."""
        with self._lock:
            kept = self._zones.get(_key(name), now)
            return kept.value if kept else None

    def put(self, name: dns.name.Name, zone: Zone, now: float) -> None:
        """Remember a zone."""
        with self._lock:
            self._zones.put(_key(name), Kept(zone, now, zone.until))


def _key(name: dns.name.Name) -> str:
    return name.canonicalize().to_text()
