"""RRsets of an answer with the signatures that came with them. Nothing here is proven."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import dns.name
import dns.rdataclass
import dns.rrset
from dns.rdatatype import RRSIG, RdataType

from postroom.names.dns.records import RrsigRecord
from postroom.names.dnssec.budget import Exceeded

MAX_RECORDS: Final = 32
"""In an RRset: more records than a key record or a zone's keys ever need. Each is sorted, digested and encoded
for every check."""


@dataclass(frozen=True)
class Signed:
    """An RRset and the signatures over its type that stand at its name."""

    records: dns.rrset.RRset
    signatures: tuple[RrsigRecord, ...]

    @property
    def what(self) -> str:
        """As in `sender.example. DNSKEY`."""
        return f"{self.records.name} {self.records.rdtype.name}"


class Section:
    """The RRsets of class IN of one section of a message, found by name and type."""

    def __init__(self, rrsets: Iterable[dns.rrset.RRset]) -> None:
        # Once: an answer may hold thousands of sets, and a search for one asks all of them.
        self._rrsets: dict[tuple[dns.name.Name, RdataType], dns.rrset.RRset] = {}
        self._signatures: dict[tuple[dns.name.Name, RdataType], list[RrsigRecord]] = {}
        for rrset in rrsets:
            if rrset.rdclass != dns.rdataclass.IN or not rrset:
                continue
            if rrset.rdtype == RRSIG:
                over = self._signatures.setdefault((rrset.name, rrset.covers), [])
                over += [record for record in rrset if isinstance(record, RrsigRecord)]
            else:
                self._rrsets.setdefault((rrset.name, rrset.rdtype), rrset)

    def find(self, name: dns.name.Name, rdtype: RdataType) -> Signed | None:
        """The RRset, if it is there; raises `Exceeded` where it is too large to be looked into."""
        records = self._rrsets.get((name, rdtype))
        if records is None:
            return None
        if len(records) > MAX_RECORDS:
            what = f"{name} {rdtype.name}: more than {MAX_RECORDS} records"
            raise Exceeded(f"{what}, more than a key record or a zone's keys ever need")
        return Signed(records, tuple(self._signatures.get((name, rdtype), ())))

    def of_type(self, rdtype: RdataType) -> Iterator[dns.name.Name]:
        """The owners of RRsets of this type."""
        return (name for name, its_type in self._rrsets if its_type == rdtype)
