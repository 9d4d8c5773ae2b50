"""Proven keys, records and denials, as values; each is valid until a time in epoch seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import dns.name
from dns.rdatatype import RdataType

from postroom.names.dns.records import Nsec3Record, NsecRecord, RrsigRecord
from postroom.names.dnssec.denial import Denial, Denials
from postroom.names.dnssec.evidence import Link
from postroom.names.dnssec.nsec import Nsecs
from postroom.names.dnssec.nsec3 import Hashes, Nsec3s
from postroom.names.dnssec.signatures import Keys


@dataclass(frozen=True)
class Zone:
    """A zone's keys; `chain` leads from the anchor to it."""

    keys: Keys
    chain: tuple[Link, ...]
    until: int


@dataclass(frozen=True)
class Proof:
    """Records, or their absence (`denial`), proven by a signature of the zone at the end of a chain."""

    chain: tuple[Link, ...]
    signature: RrsigRecord
    until: int
    denial: Denial | None = None


@dataclass(frozen=True)
class ProvenDenials:
    """NSEC and NSEC3 records of one zone, `signer`, from one answer, with a signature of one of them, if there are any.

    `nsec3s`: by the hash in their owner.
    """

    signer: dns.name.Name
    chain: tuple[Link, ...]
    nsecs: Mapping[dns.name.Name, NsecRecord]
    nsec3s: Mapping[bytes, Nsec3Record]
    signature: RrsigRecord | None
    until: int

    @cached_property
    def owners(self) -> frozenset[str]:
        """The owners of the records, as in the evidence."""
        return frozenset((*map(str, self.nsecs), *map(_shown, self.nsec3s)))

    def absence(self, name: dns.name.Name, rdtype: RdataType, hashes: Hashes) -> Denial | None:
        """As `Denials.absence`."""
        return next(filter(None, (it.absence(name, rdtype) for it in self._denials(hashes))), None)

    def no_closer(self, name: dns.name.Name, encloser: dns.name.Name, hashes: Hashes) -> Denial | None:
        """As `Denials.no_closer`."""
        return next(filter(None, (it.no_closer(name, encloser) for it in self._denials(hashes))), None)

    def only(self, denial: Denial) -> "ProvenDenials":
        """The records that a denial is based on."""
        used = {it.owner for it in denial.deniers}
        nsecs = {owner: record for owner, record in self.nsecs.items() if str(owner) in used}
        nsec3s = {owner: record for owner, record in self.nsec3s.items() if _shown(owner) in used}
        return ProvenDenials(self.signer, self.chain, nsecs, nsec3s, self.signature, self.until)

    def _denials(self, hashes: Hashes) -> list[Denials]:
        denials: list[Denials] = [Nsecs(self.signer, self.nsecs)] if self.nsecs else []
        if self.nsec3s:
            denials.append(Nsec3s(self.signer, self.nsec3s, hashes))
        return denials


def _shown(owner: bytes) -> str:
    return owner.decode().lower()
