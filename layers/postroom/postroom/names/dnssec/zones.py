"""A cache of zones: their keys, unsigned or broken delegations, denials."""

import threading
from dataclasses import replace
from typing import Final, NamedTuple

import dns.name
from dns.rdatatype import RdataType

from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.names.dnssec.evidence import Link
from postroom.names.dnssec.proven import Proof, ProvenDenials, Zone

MOST_ZONES: Final = 1_000
"""Zones remembered: the root, the domains above most senders, and the senders that write most."""

MOST_BYTES: Final = 8 << 20
"""Bytes of zones' keys, some 2 kB each; as many of delegations, and of denials.

A stranger can make all of them larger.
"""

MOST_DENIALS: Final = 16
"""Answers for each zone whose denials are remembered: all made-up names of a sender are between a few names that exist.
"""

MAX_ABSENT_SECONDS: Final = 60
"""An unsigned or broken zone, or a denied name, is remembered no longer: it is often repaired soon."""

_OBJECT_BYTES: Final = 500
_WINDOW_BYTES: Final = 200
_LABEL_BYTES: Final = 50
"""What a record, a window of its bitmap, and a label of a name take in memory."""


class Cut(NamedTuple):
    """A delegation without a usable DS: the reason, and the proof."""

    why: str
    proof: Proof


class BrokenZone(NamedTuple):
    """A zone with a DS whose keys could not be proven: the reason, and the chain above it."""

    why: str
    chain: tuple[Link, ...]


class _KnownDenial(NamedTuple):
    denials: ProvenDenials
    rdtype: RdataType
    weight: int


class KnownZones:
    """What is known of zones, by name, as long as everything that it depends on is valid. Thread-safe."""

    def __init__(self, most: int = MOST_ZONES, most_bytes: int = MOST_BYTES) -> None:
        self._lock = threading.Lock()
        self._zones: Cache[Zone] = Cache(most, most_bytes)
        self._ends: Cache[Cut | BrokenZone] = Cache(most, most_bytes)
        self._denials: Cache[tuple[_KnownDenial, ...]] = Cache(most, most_bytes)

    def get(self, name: dns.name.Name, now: float) -> Zone | None:
        """The zone, if it is remembered and still valid."""
        with self._lock:
            kept = self._zones.get(_key(name), now)
            return kept.value if kept else None

    def put(self, name: dns.name.Name, zone: Zone, now: float) -> None:
        """Remember a zone."""
        weight = sum(len(key.key) + _OBJECT_BYTES for keys in zone.keys.values() for key in keys)
        with self._lock:
            self._zones.put(_key(name), CacheEntry(zone, now, zone.until), weight)

    def depth(self, place: dns.name.Name, now: float) -> int:
        """The number of labels of the lowest remembered zone at or above `place`; 0: none."""
        key = _key(place)
        with self._lock:
            return next((len(key) - up for up in range(len(key)) if self._zones.get(key[up:], now)), 0)

    def end(self, place: dns.name.Name, above: int, now: float) -> tuple[dns.name.Name, Cut | BrokenZone] | None:
        """The highest remembered zone at or above `place`, with more labels than `above`, where no chain continues."""
        key = _key(place)
        with self._lock:
            for depth in range(above + 1, len(key) + 1):
                if kept := self._ends.get(key[-depth:], now):
                    return place.split(depth)[1], kept.value
        return None

    def put_cut(self, name: dns.name.Name, cut: Cut, now: float) -> None:
        """Remember that a zone is not signed."""
        deniers = cut.proof.denial.deniers if cut.proof.denial else ()
        weight = sum(_OBJECT_BYTES + len(it.owner) + len(it.next) for it in deniers)
        with self._lock:
            self._ends.put(_key(name), CacheEntry(cut, now, min(cut.proof.until, now + MAX_ABSENT_SECONDS)), weight)

    def put_broken(self, name: dns.name.Name, zone: BrokenZone, now: float) -> None:
        """Remember that a zone is broken: otherwise each name that anybody makes up in it would take two walks."""
        with self._lock:
            self._ends.put(_key(name), CacheEntry(zone, now, now + MAX_ABSENT_SECONDS))

    def denials(self, name: dns.name.Name, rdtype: RdataType, now: float) -> list[ProvenDenials]:
        """How a zone has denied this type at some names (RFC 8198), the latest first."""
        with self._lock:
            kept = self._denials.get(_key(name), now)
        # Not other types: a server that signs each answer separately may list fewer types than there are.
        known = kept.value if kept else ()
        return [it.denials for it in known if it.rdtype == rdtype and it.denials.until > now]

    def put_denials(self, denials: ProvenDenials, rdtype: RdataType, now: float) -> None:
        """Remember how a zone denied this type at a name."""
        until = min(denials.until, int(now) + MAX_ABSENT_SECONDS)
        if until <= now:
            return
        latest, key = _KnownDenial(replace(denials, until=until), rdtype, _weight(denials)), _key(denials.signer)
        with self._lock:
            kept = self._denials.get(key, now)
            others = [it for it in kept.value if it.denials.until > now and not _is_same(it, latest)] if kept else []
            known = (latest, *others)[:MOST_DENIALS]
            ends = max(it.denials.until for it in known)
            self._denials.put(key, CacheEntry(known, now, ends), sum(it.weight for it in known))


def _is_same(known: _KnownDenial, other: _KnownDenial) -> bool:
    return (known.rdtype, known.denials.owners) == (other.rdtype, other.denials.owners)


def _weight(denials: ProvenDenials) -> int:
    """The approximate number of bytes in memory."""
    labels = sum(len(owner) + len(record.next) for owner, record in denials.nsecs.items())
    windows = [it.windows for it in denials.nsecs.values()] + [it.windows for it in denials.nsec3s.values()]
    labels += len(denials.signer) + (len(denials.signature.signer) if denials.signature else 0)
    signed = len(denials.signature.signature) if denials.signature else 0
    return signed + labels * _LABEL_BYTES + sum(_OBJECT_BYTES + len(each) * _WINDOW_BYTES for each in windows)


def _key(name: dns.name.Name) -> tuple[bytes, ...]:
    # The labels and not the text, which would take thirty times as long.
    return tuple(label.lower() for label in name.labels)
