"""RRsets of an answer with the signatures that came with them. Nothing here is proven."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import dns.name
import dns.rdata
from dns.rdatatype import RdataType

from postroom.names.dns import answer
from postroom.names.dns.answer import Malformed
from postroom.names.dns.records import RrsigRecord
from postroom.names.dnssec.budget import Exceeded

MAX_RECORDS: Final = 32
"""The most records in an RRset to be proven, and signatures over it: more than a key record or a zone's keys ever have.

Each record is read, sorted, digested and encoded.
"""


class Broken(Exception):  # noqa: N818 - a finding that becomes a verdict
    """Something exists and does not prove what it should; the text says why."""


@dataclass(frozen=True)
class Signed:
    """An RRset and the signatures over it, each read when it is needed.

    Reading them raises `Exceeded` if there are too many, `Broken` if they cannot be read.
    """

    name: dns.name.Name
    rdtype: RdataType
    ttl: int
    _records: answer.RRset
    _signatures: answer.RRset | None

    @property
    def what(self) -> str:
        """Its name and type, such as `sender.example. DNSKEY`."""
        return f"{self.name} {self.rdtype.name}"

    @property
    def records(self) -> list[dns.rdata.Rdata]:
        """The records, each once."""
        return list(self._canonical.values())

    @cached_property
    def signatures(self) -> list[RrsigRecord]:
        """The signatures that can be read: one valid signature is enough."""
        if self._signatures is None:
            return []
        self._check(self._signatures, "signatures")
        return [it for it in self._signatures.readable() if isinstance(it, RrsigRecord)]

    @cached_property
    def canonical(self) -> list[bytes]:
        """The records' data in canonical form and order (RFC 4034 §6)."""
        return sorted(self._canonical)

    @cached_property
    def _canonical(self) -> dict[bytes, dns.rdata.Rdata]:
        # Only once: a stranger may have long data signed many times.
        self._check(self._records, "records")
        try:
            return self._records.canonical()
        except Malformed as malformed:
            raise Broken(f"{self.what}: {malformed}") from None

    def _check(self, records: answer.RRset, what: str) -> None:
        if len(records.places) > MAX_RECORDS:
            said = f"{self.what}: more than {MAX_RECORDS} {what}"
            raise Exceeded(f"{said}, more than a key record or a zone's keys ever need")


class Section:
    """The RRsets of one section of a message, found by name and type."""

    def __init__(self, section: answer.AnswerSection) -> None:
        self._section = section

    def find(self, name: dns.name.Name, rdtype: RdataType) -> Signed | None:
        """The RRset, if it is there."""
        found = self._section.find(name, rdtype)
        if found is None:
            return None
        signatures = self._section.signatures(name, rdtype)
        ttl = min(found.ttl, signatures.ttl) if signatures else found.ttl
        return Signed(name, rdtype, ttl, found, signatures)

    def count(self, rdtype: RdataType) -> int:
        """The number of RRsets of this type."""
        return self._section.count(rdtype)

    def of_type(self, rdtype: RdataType) -> Iterator[dns.name.Name]:
        """The owners of RRsets of this type."""
        return self._section.of_type(rdtype)
