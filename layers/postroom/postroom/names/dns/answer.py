"""A DNS answer, parsed lazily: the places of its records at once, their contents when needed. Pure.

`dns.message.from_wire` reads everything, wanted or not, and hashes each record by its names: 16 kB of records that
nobody asked for can take it 13 s. Records that are needed are read by dnspython here, too, one by one.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import dns.exception
import dns.flags
import dns.name
import dns.rcode
import dns.rdata
from dns.rdataclass import IN
from dns.rdatatype import AAAA, DNSKEY, DS, NSEC, NSEC3, OPT, RRSIG, TXT, A, RdataType

from postroom.names.dns.records import CnameRecord, DnameRecord, SoaRecord

_HEADER: Final = struct.Struct("!6H")
_QUESTION: Final = struct.Struct("!HH")
_RECORD: Final = struct.Struct("!HHIH")
_POINTER: Final = 0xC0
_LONGEST_LABEL: Final = 63
_LONGEST_NAME: Final = 255
_CANONICAL: Final = frozenset({A, AAAA, TXT, DNSKEY, DS, NSEC, NSEC3})
"""Types whose data is in canonical form as it comes.

They contain no names, or one that is neither compressed nor changed in case (RFC 6840 §5.1).
"""
_SOA_NUMBERS: Final = 20
"""The bytes after the names of a SOA record."""
_UNREADABLE: Final = (dns.exception.DNSException, ValueError, ArithmeticError, LookupError, TypeError, struct.error)


class Malformed(Exception):  # noqa: N818 - a fact about an answer
    """Bytes that cannot be read."""


class RecordData(NamedTuple):
    """The place of a record's data in its message, and the record's TTL in seconds (of OPT: its flags)."""

    at: int
    length: int
    ttl: int


class RRset(NamedTuple):
    """The records of one name and type."""

    rdtype: RdataType
    wire: bytes
    places: Sequence[RecordData]

    @property
    def ttl(self) -> int:
        """The smallest TTL of all records (RFC 2181 §5.2)."""
        return min(place.ttl for place in self.places)

    def read(self) -> list[dns.rdata.Rdata]:
        """The records, in the order of the answer. Raises `Malformed`."""
        try:
            return [dns.rdata.from_wire(IN, self.rdtype, self.wire, it.at, it.length) for it in self.places]
        except _UNREADABLE as error:
            raise Malformed(f"{self.rdtype.name} cannot be read") from error

    def readable(self) -> list[dns.rdata.Rdata]:
        """The records that can be read."""
        found = []
        for place in self.places:
            with suppress(Malformed):
                found += self._replace(places=[place]).read()
        return found

    def canonical(self) -> dict[bytes, dns.rdata.Rdata]:
        """The records by their data in canonical form (RFC 4034 §6.2), so that each is there once.

        Raises `Malformed`.
        """
        return {self._canonical(place, record): record for place, record in zip(self.places, self.read(), strict=True)}

    def _canonical(self, place: RecordData, record: dns.rdata.Rdata) -> bytes:
        if self.rdtype in _CANONICAL:
            return self._data(place)
        # The time of `record.to_digestable` grows with the square of the number of a name's labels.
        if isinstance(record, CnameRecord | DnameRecord):
            return record.target.to_digestable()
        if isinstance(record, SoaRecord):
            return record.mname.to_digestable() + record.rname.to_digestable() + self._data(place)[-_SOA_NUMBERS:]
        return record.to_digestable()

    def _data(self, place: RecordData) -> bytes:
        return self.wire[place.at : place.at + place.length]


_Places = dict[tuple[bytes, int], list[RecordData]]


@dataclass(frozen=True)
class AnswerSection:
    """The records of class IN in one section of a message, by name (in any case) and type."""

    wire: bytes
    _sets: Mapping[tuple[bytes, int], Sequence[RecordData]]
    _signatures: Mapping[tuple[bytes, int], Sequence[RecordData]]

    def find(self, name: dns.name.Name, rdtype: RdataType) -> RRset | None:
        """The records, if there are any."""
        places = self._sets.get((name.to_digestable(), int(rdtype)))
        return RRset(rdtype, self.wire, places) if places else None

    def signatures(self, name: dns.name.Name, rdtype: RdataType) -> RRset | None:
        """The RRSIG records over that type, if there are any."""
        places = self._signatures.get((name.to_digestable(), int(rdtype)))
        return RRset(RRSIG, self.wire, places) if places else None

    def count(self, rdtype: RdataType) -> int:
        """The number of names that have records of this type."""
        return sum(its_type == rdtype for _, its_type in self._sets)

    def of_type(self, rdtype: RdataType) -> Iterator[dns.name.Name]:
        """The owners of records of this type, in lower case."""
        return (dns.name.from_wire(owner, 0)[0] for owner, its_type in self._sets if its_type == rdtype)


@dataclass(frozen=True)
class Answer:
    """A message: header, question (in lower case; empty: there is none) and records."""

    wire: bytes
    id: int
    flags: int
    rcode: dns.rcode.Rcode
    question: bytes
    answer: AnswerSection
    authority: AnswerSection

    @property
    def is_truncated(self) -> bool:
        """Whether the answer was truncated: the rest is available over TCP."""
        return bool(self.flags & dns.flags.TC)

    @classmethod
    def read(cls, wire: bytes) -> "Answer":
        """The message in these bytes. Raises `Malformed`."""
        try:
            return _Reader(wire).message()
        except _UNREADABLE as error:
            raise Malformed("the message cannot be read") from error


class _Reader:
    """Reads the message from the first byte to the last; raises one of `_UNREADABLE`."""

    def __init__(self, wire: bytes) -> None:
        self._wire = wire
        self._at = 0
        self._names: dict[int, bytes] = {}
        """Names, and the ends of names, by their offset, because others point to them."""

    def message(self) -> Answer:
        id_, flags, questions, answers, authorities, additional = self._fields(_HEADER)
        question = self._question() if questions else b""
        if questions > 1:
            raise ValueError("more than one question")
        try:
            answer, authority = self._section(answers), self._section(authorities)
            edns = self._edns(additional)
        except _UNREADABLE:
            if not flags & dns.flags.TC:
                raise
            # Cut off because there was no more room. The question is asked again over TCP.
            answer = authority = AnswerSection(self._wire, {}, {})
            edns = 0
        return Answer(self._wire, id_, flags, dns.rcode.from_flags(flags, edns), question, answer, authority)

    def _question(self) -> bytes:
        name = self._name()
        return name + _QUESTION.pack(*self._fields(_QUESTION))

    def _section(self, count: int) -> AnswerSection:
        sets: _Places = {}
        signatures: _Places = {}
        for _ in range(count):
            owner, rdtype, rdclass, place = self._record()
            if rdclass != IN:
                continue
            if rdtype == RRSIG:
                # The type that it covers comes first (RFC 4034 §3.1).
                covered = int.from_bytes(self._wire[place.at : place.at + 2])
                signatures.setdefault((owner, covered), []).append(place)
            else:
                sets.setdefault((owner, rdtype), []).append(place)
        return AnswerSection(self._wire, sets, signatures)

    def _edns(self, count: int) -> int:
        """The flags of EDNS, with the upper bits of the rcode in them (RFC 6891 §6.1.3)."""
        flags = 0
        for _ in range(count):
            _, rdtype, _, place = self._record()
            if rdtype == OPT:
                flags = place.ttl
        return flags

    def _record(self) -> tuple[bytes, int, int, RecordData]:
        owner = self._name()
        rdtype, rdclass, ttl, length = self._fields(_RECORD)
        place = RecordData(self._at, length, ttl if ttl < 2**31 or rdtype == OPT else 0)  # RFC 2181 §8
        self._at += length
        if self._at > len(self._wire):
            raise ValueError("a record ends beyond the message")
        return owner, rdtype, rdclass, place

    def _fields(self, form: struct.Struct) -> tuple[int, ...]:
        fields = form.unpack_from(self._wire, self._at)
        self._at += form.size
        return fields

    def _name(self) -> bytes:
        """The next name, whole and in lower case (RFC 1035 §4.1.4)."""
        labels: list[tuple[int, bytes]] = []
        at = lowest = self._at
        end, total, name = 0, 0, b""
        while not name:
            length = self._wire[at]
            if length >= _POINTER:
                end = end or at + 2
                # Other names may point here: each part is followed once.
                labels.append((at, b""))
                at = (length & ~_POINTER) << 8 | self._wire[at + 1]
                # Only backwards, so that it ends.
                if at >= lowest:
                    raise ValueError("a name points forward")
                lowest = at
                name = self._names.get(at, b"")
            elif length > _LONGEST_LABEL:
                raise ValueError("no label")
            elif length:
                labels.append((at, self._wire[at : at + 1 + length].lower()))
                at += 1 + length
                total += 1 + length
                if total > _LONGEST_NAME:
                    raise ValueError("a name is too long")
            else:
                name = b"\0"
                at += 1
        self._at = end or at
        for place, label in reversed(labels):
            name = label + name
            self._names[place] = name
        if len(name) > _LONGEST_NAME:
            raise ValueError("a name is too long")
        return name
