"""Proofs of absence by NSEC3 records (RFC 5155 §8). Pure."""

from base64 import b32hexencode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Final

import dns.name
from dns.rdatatype import DS, RdataType
from dns.rdtypes.ANY.NSEC3 import OPTOUT, SHA1

from postroom.names.dns.records import Nsec3Record
from postroom.names.dnssec.budget import Budget
from postroom.names.dnssec.denial import Denial, Denier, denies, ends_zone_below, is_delegation, says_no_name

MAX_ITERATIONS: Final = 150
"""A denial by a zone with more iterations counts as unsigned (RFC 9276 §3.2, which asks zones for 0)."""
_HASH_BYTES: Final = 20
_HASH_LABEL: Final = 32


class Hashes:
    """Hashes of names, each computed once, within a budget (RFC 5155 §5)."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._made: dict[tuple[bytes, int, dns.name.Name], bytes] = {}

    def of(self, name: dns.name.Name, salt: bytes, iterations: int) -> bytes:
        """The hash as in the owner of an NSEC3 record. Raises `Exceeded`."""
        key = salt, iterations, name
        if key not in self._made:
            self._budget.hash(iterations + 1)
            digest = name.to_digestable()
            for _ in range(iterations + 1):
                digest = sha1(digest + salt, usedforsecurity=False).digest()
            self._made[key] = b32hexencode(digest)
        return self._made[key]


@dataclass(frozen=True)
class Nsec3s:
    """The proven NSEC3 records of `zone` in an answer, by the hash in their owner (`readable`).

    Raises `Exceeded` if more names would have to be hashed than allowed.
    """

    zone: dns.name.Name
    records: Mapping[bytes, Nsec3Record]
    hashes: Hashes

    def absence(self, name: dns.name.Name, rdtype: RdataType) -> Denial | None:
        """The proof that `name` or its type does not exist; None if these records do not prove it."""
        if own := self._matching(name):
            return self._no_data(own, name, rdtype)
        encloser = self._closest_encloser(name)
        closer = encloser and self._covering(_child(name, encloser))
        if not encloser or not closer:
            return None
        proof = (self._hash(encloser), closer)
        if self._is_opt_out(closer):
            # An unsigned delegation takes precedence over any wildcard.
            return Denial(False, self._deniers(*proof), opt_out=True)
        wildcard = dns.name.from_text("*", encloser)
        if at_wildcard := self._matching(wildcard):
            found = self._no_data(at_wildcard, wildcard, rdtype)
            # A wildcard never delegates (RFC 4592 §4.2).
            return None if not found or found.is_cut else Denial(False, self._deniers(*proof, at_wildcard))
        around_wildcard = self._covering(wildcard)
        return Denial(True, self._deniers(*proof, around_wildcard)) if around_wildcard else None

    def no_closer(self, name: dns.name.Name, encloser: dns.name.Name) -> Denial | None:
        """The proof that a wildcard directly below `encloser` may answer for `name` (RFC 5155 §8.8)."""
        closer = self._covering(_child(name, encloser))
        return Denial(True, self._deniers(closer), self._is_opt_out(closer)) if closer else None

    def _no_data(self, own: bytes, name: dns.name.Name, rdtype: RdataType) -> Denial | None:
        windows = self.records[own].windows
        if not denies(windows, rdtype, name):
            return None
        return Denial(says_no_name(windows), self._deniers(own), is_cut=rdtype == DS and is_delegation(windows))

    def _closest_encloser(self, name: dns.name.Name) -> dns.name.Name | None:
        """The longest ancestor of `name` that exists, and in whose zone the names below it are (RFC 5155 §8.3)."""
        while name != self.zone:
            name = name.parent()
            if found := self._matching(name):
                return None if ends_zone_below(self.records[found].windows) else name
        return None

    def _matching(self, name: dns.name.Name) -> bytes | None:
        hashed = self._hash(name)
        return hashed if hashed in self.records else None

    def _covering(self, name: dns.name.Name) -> bytes | None:
        hashed = self._hash(name)
        for before, record in self.records.items():
            after = b32hexencode(record.next)
            # The last one leads back to the first.
            if before < hashed < after or (after <= before and (hashed > before or hashed < after)):
                return before
        return None

    def _is_opt_out(self, owner: bytes) -> bool:
        return bool(self.records[owner].flags & OPTOUT)

    def _hash(self, name: dns.name.Name) -> bytes:
        record = next(iter(self.records.values()))
        return self.hashes.of(name, record.salt, record.iterations)

    def _deniers(self, *owners: bytes) -> tuple[Denier, ...]:
        return tuple(
            Denier("NSEC3", owner.decode().lower(), b32hexencode(self.records[owner].next).decode().lower())
            for owner in dict.fromkeys(owners)
        )


def readable(zone: dns.name.Name, records: Mapping[dns.name.Name, Nsec3Record]) -> dict[bytes, Nsec3Record]:
    """Those of a zone's NSEC3 records that can be read here, by the hash in their owner.

    Records with another hash than SHA-1, with unknown flags (RFC 5155 §8.1, §8.2), or with another salt or count than
    the first one are ignored: one answer has one set of parameters.
    """
    found: dict[bytes, Nsec3Record] = {}
    for owner, record in records.items():
        label = owner.labels[0].upper()
        known = record.algorithm == SHA1 and not record.flags & ~OPTOUT and len(record.next) == _HASH_BYTES
        first = next(iter(found.values()), record)
        alike = (record.salt, record.iterations) == (first.salt, first.iterations)
        if known and alike and owner.parent() == zone and len(label) == _HASH_LABEL:
            found[label] = record
    return found


def _child(name: dns.name.Name, encloser: dns.name.Name) -> dns.name.Name:
    """The ancestor of `name`, or `name` itself, directly below `encloser`."""
    return name.split(len(encloser) + 1)[1]
