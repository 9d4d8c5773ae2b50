"""The answers of a zone tree, as a recursive resolver would give them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import dns.name
import dns.rcode
import dns.rrset
import dns.zone
from dns.rdatatype import CNAME, DNAME, DS, NSEC, RRSIG, SOA, RdataType

from postroom.local.zones import Zones
from postroom.names.dns.records import CnameRecord, DnameRecord

_MAX_CHAIN: Final = 16


class ZoneAnswer(NamedTuple):
    """The contents of an answer, signatures included."""

    rcode: dns.rcode.Rcode
    answer: list[dns.rrset.RRset]
    authority: list[dns.rrset.RRset]


def answer(zones: Zones, name: dns.name.Name, rdtype: RdataType) -> ZoneAnswer:
    """The tree's answer to a question of class IN (RFC 1034 §4.3.2, RFC 4592, RFC 6672 §3.2, RFC 4035 §3.1)."""
    chain: list[dns.rrset.RRset] = []
    # The denials for each wildcard on the way, and for the absence at its end.
    proofs: list[dns.rrset.RRset] = []
    seen: set[dns.name.Name] = set()
    while name not in seen and len(seen) < _MAX_CHAIN:
        seen.add(name)
        zone, origin = zone_of(zones, name, rdtype)
        if renaming := _renaming(zone, name):
            _add(chain, renaming)
            try:
                alias = [_renamed(name, renaming[0])]
            except dns.name.NameTooLong:
                return ZoneAnswer(dns.rcode.YXDOMAIN, chain, proofs)
        else:
            source = _source(zone, name)
            if source is None:
                _add(proofs, _denial(zone, origin, name))
                return ZoneAnswer(dns.rcode.NXDOMAIN, chain, proofs)
            if source.is_wild() and source != name:
                # An answer from a wildcard needs the proof that the name itself does not exist.
                _add(proofs, _covering(zone, name))
            if found := _signed(zone, source, rdtype, name):
                _add(chain, found)
                return ZoneAnswer(dns.rcode.NOERROR, chain, proofs)
            alias = _signed(zone, source, CNAME, name)
            if not alias:
                _add(proofs, _denial(zone, origin, name))
                return ZoneAnswer(dns.rcode.NOERROR, chain, proofs)
        chain += alias
        if rdtype == CNAME:
            break
        name = next(record.target for record in alias[0] if isinstance(record, CnameRecord))
    return ZoneAnswer(dns.rcode.NOERROR, chain, proofs)


def zone_of(zones: Zones, name: dns.name.Name, rdtype: RdataType) -> tuple[dns.zone.Zone, dns.name.Name]:
    """The zone that has a name's records of a type, and its origin: a DS is in the zone above."""
    if rdtype == DS and name in zones and name != dns.name.root:
        name = name.parent()
    origin = max((origin for origin in zones if name.is_subdomain(origin)), key=len)
    return zones[origin], origin


def _renaming(zone: dns.zone.Zone, name: dns.name.Name) -> list[dns.rrset.RRset]:
    """The DNAME above `name`, and its signatures; None if there is none."""
    owners = [owner for owner, _ in zone.iterate_rdatasets(DNAME) if name != owner and name.is_subdomain(owner)]
    # Nothing exists below a DNAME, so the highest one decides (RFC 6672 §2.4).
    highest = min(owners, key=len, default=None)
    return _signed(zone, highest, DNAME, highest) if highest else []


def _renamed(name: dns.name.Name, dname: dns.rrset.RRset) -> dns.rrset.RRset:
    """The CNAME that a DNAME makes of a name, which is not signed (RFC 6672 §3.1). Raises `NameTooLong`."""
    target = next(record.target for record in dname if isinstance(record, DnameRecord))
    renamed = name.relativize(dname.name).derelativize(target)
    return dns.rrset.from_text(name, dname.ttl, dname.rdclass, CNAME, str(renamed))


def _source(zone: dns.zone.Zone, name: dns.name.Name) -> dns.name.Name | None:
    """The name whose records answer for `name`: itself (even if empty), a wildcard, or none."""
    if _exists(zone, name):
        return name
    wildcard = dns.name.from_text("*", _encloser(zone, name))
    return wildcard if wildcard in zone.nodes else None


def _exists(zone: dns.zone.Zone, name: dns.name.Name) -> bool:
    return name in zone.nodes or any(isinstance(node, dns.name.Name) and node.is_subdomain(name) for node in zone.nodes)


def _encloser(zone: dns.zone.Zone, name: dns.name.Name) -> dns.name.Name:
    while not _exists(zone, name):
        name = name.parent()
    return name


def _denial(zone: dns.zone.Zone, origin: dns.name.Name, name: dns.name.Name) -> list[dns.rrset.RRset]:
    proof = _covering(zone, name)
    if not _exists(zone, name):
        _add(proof, _covering(zone, dns.name.from_text("*", _encloser(zone, name))))
    return _signed(zone, origin, SOA, origin) + proof


def _covering(zone: dns.zone.Zone, name: dns.name.Name) -> list[dns.rrset.RRset]:
    """The NSEC at or before `name`, with its signature; None in an unsigned zone."""
    owners = [owner for owner, _ in zone.iterate_rdatasets(NSEC) if owner <= name]
    return _signed(zone, max(owners), NSEC, max(owners)) if owners else []


def _signed(
    zone: dns.zone.Zone, source: dns.name.Name, rdtype: RdataType, owner: dns.name.Name
) -> list[dns.rrset.RRset]:
    """The RRset at `source`, named `owner`, then its signatures; empty if there is none."""
    found = zone.get_rdataset(source, rdtype)
    if not found:
        return []
    rdatasets = [found, zone.get_rdataset(source, RRSIG, rdtype)]
    return [dns.rrset.from_rdata_list(owner, r.ttl, list(r)) for r in rdatasets if r]


def _add(rrsets: list[dns.rrset.RRset], more: Iterable[dns.rrset.RRset]) -> None:
    """Add RRsets to an answer, each only once."""
    rrsets += [rrset for rrset in more if rrset not in rrsets]
