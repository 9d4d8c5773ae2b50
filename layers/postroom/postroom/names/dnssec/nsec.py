"""Proofs of absence by NSEC records (RFC 4035 §5.4, RFC 6840 §4). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import dns.name
from dns.rdatatype import DS, RdataType

from postroom.names.dns.records import NsecRecord
from postroom.names.dnssec.denial import Denial, Denier, denies, ends_zone_below, is_delegation, says_no_name


@dataclass(frozen=True)
class Nsecs:
    """The proven NSEC records of `zone` in an answer, by owner."""

    zone: dns.name.Name
    records: Mapping[dns.name.Name, NsecRecord]

    def absence(self, name: dns.name.Name, rdtype: RdataType) -> Denial | None:
        """The proof that `name` or its type does not exist; None if these records do not prove it."""
        if name in self.records:
            return self._no_data(name, rdtype)
        owner = self._covering(name)
        if owner is None:
            return None
        if self.records[owner].next.is_subdomain(name):
            # An empty non-terminal: a name exists below it, so it exists, without records.
            return Denial(False, self._deniers(owner))
        wildcard = dns.name.from_text("*", self._encloser(owner, name))
        if wildcard in self.records:
            found = self._no_data(wildcard, rdtype)
            # A wildcard never delegates (RFC 4592 §4.2).
            return None if not found or found.is_cut else Denial(False, self._deniers(owner, wildcard))
        other = self._covering(wildcard)
        if other is None:
            return None
        # If a name exists below the wildcard, the wildcard exists, too, without records.
        no_name = not self.records[other].next.is_subdomain(wildcard)
        return Denial(no_name, self._deniers(owner, other))

    def no_closer(self, name: dns.name.Name, encloser: dns.name.Name) -> Denial | None:
        """The proof that a wildcard directly below `encloser` may answer for `name` (RFC 4035 §5.3.4)."""
        owner = self._covering(name)
        if owner is None or self.records[owner].next.is_subdomain(name) or self._encloser(owner, name) != encloser:
            return None
        return Denial(True, self._deniers(owner))

    def _no_data(self, owner: dns.name.Name, rdtype: RdataType) -> Denial | None:
        windows = self.records[owner].windows
        if not denies(windows, rdtype, owner):
            return None
        return Denial(says_no_name(windows), self._deniers(owner), is_cut=rdtype == DS and is_delegation(windows))

    def _covering(self, name: dns.name.Name) -> dns.name.Name | None:
        """The owner before `name` whose next name comes after it, and which may deny it: a zone has only one."""
        for owner, record in self.records.items():
            # The last one leads back to the apex.
            after = name < record.next or record.next == self.zone
            if owner < name and after and not (name.is_subdomain(owner) and ends_zone_below(record.windows)):
                return owner
        return None

    def _encloser(self, owner: dns.name.Name, name: dns.name.Name) -> dns.name.Name:
        """The longest ancestor of `name` that exists: it is one of its next neighbour on either side."""
        return max((_common(name, owner), _common(name, self.records[owner].next)), key=len)

    def _deniers(self, *owners: dns.name.Name) -> tuple[Denier, ...]:
        return tuple(Denier("NSEC", str(owner), str(self.records[owner].next)) for owner in dict.fromkeys(owners))


def _common(name: dns.name.Name, other: dns.name.Name) -> dns.name.Name:
    _, _, labels = name.fullcompare(other)
    return name.split(labels)[1]
