"""Zones with any keys, digests and signatures, valid or not, and their answers as bytes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import dns.dnssec
import dns.message
import dns.name
import dns.rdata
import dns.rrset
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from dns.dnssectypes import Algorithm
from dns.rdatatype import DNSKEY, DS
from dns.rdtypes.dnskeybase import Flag
from tests.names.messages import one_by_one

from postroom.names.dns import Answer, Question
from postroom.names.dns.records import DnskeyRecord, DsRecord, RrsigRecord
from postroom.names.dns.wire import MAX_ANSWER_BYTES
from postroom.names.dnssec import TrustAnchors

NOW: Final = 1_797_000_000
"""Every signature is valid for an hour before and after."""
TTL: Final = 60
ROOT: Final = dns.name.root
ABOVE: Final = dns.name.from_text("example")

_GENERATE: Final[Mapping[Algorithm, Callable[[], dns.dnssec.PrivateKey]]] = {
    Algorithm.RSASHA256: lambda: rsa.generate_private_key(65537, 2048),
    Algorithm.ECDSAP256SHA256: lambda: ec.generate_private_key(ec.SECP256R1()),
    Algorithm.ECDSAP384SHA384: lambda: ec.generate_private_key(ec.SECP384R1()),
    Algorithm.ED25519: ed25519.Ed25519PrivateKey.generate,
}


@dataclass(frozen=True)
class Key:
    """A key pair of a zone."""

    private: dns.dnssec.PrivateKey
    record: DnskeyRecord

    @classmethod
    def generate(cls, algorithm: Algorithm) -> "Key":
        """A new key, for a zone without another."""
        private = _GENERATE[algorithm]()
        return cls(private, dns.dnssec.make_dnskey(private.public_key(), algorithm, Flag.ZONE | Flag.SEP))

    def of_the_same_tag(self, count: int) -> list[DnskeyRecord]:
        """Other keys with the same tag. A tag is a sum, so unused flags can make up the difference."""
        found: list[DnskeyRecord] = []
        while len(found) < count:
            other = Key.generate(Algorithm(self.record.algorithm)).record
            flags = (other.flags + self.record.key_id() - other.key_id()) % 2**16
            same = other.replace(flags=flags)
            if flags & Flag.ZONE and not flags & Flag.REVOKE and same.key_id() == self.record.key_id():
                found.append(same)
        return found


class Zones:
    """Signed zones by their keys, and the answers of a resolver that knows them."""

    def __init__(self, algorithm: Algorithm = Algorithm.ECDSAP256SHA256, names: Iterable[dns.name.Name] = ()) -> None:
        self._algorithm = algorithm
        self._keys: dict[dns.name.Name, Key] = {}
        self._wires: dict[Question, bytes] = {}
        for name in (ROOT, ABOVE, *names):
            self.add(name)
        self.anchors = TrustAnchors({ROOT: (self.digest(ROOT, self.key(ROOT).record),)})

    def add(
        self,
        name: dns.name.Name,
        keys: Sequence[DnskeyRecord] = (),
        digests: Sequence[DsRecord] = (),
        sign: "Callable[[Zones, dns.rrset.RRset, dns.name.Name], dns.rrset.RRset] | None" = None,
    ) -> None:
        """Sign a zone. `keys`, `digests`: instead of its own. `sign`: instead of one signature for each set."""
        sign = sign or Zones.sign
        own = self.key(name).record
        if name != ROOT:
            above = max((zone for zone in self._keys if zone != name and name.is_subdomain(zone)), key=len)
            delegation = set_of(name, *(digests or [self.digest(name, own)]))
            self.put(Question(name, DS), [delegation, sign(self, delegation, above)])
        published = set_of(name, *(keys or [own]))
        self.put(Question(name, DNSKEY), [published, sign(self, published, name)])

    def key(self, name: dns.name.Name) -> Key:
        """The key of a zone, created on first use."""
        if name not in self._keys:
            self._keys[name] = Key.generate(self._algorithm)
        return self._keys[name]

    def digest(self, name: dns.name.Name, key: DnskeyRecord) -> DsRecord:
        """The DS for a key of a zone."""
        return dns.dnssec.make_ds(name, key, "SHA256")

    def sign(self, records: dns.rrset.RRset, zone: dns.name.Name) -> dns.rrset.RRset:
        """One valid signature."""
        return dns.rrset.from_rdata(records.name, TTL, self.signature(records, zone))

    def signature(self, records: dns.rrset.RRset, zone: dns.name.Name) -> RrsigRecord:
        """The signature of a zone over a set."""
        key = self.key(zone)
        times = {"inception": NOW - 3600, "expiration": NOW + 3600}
        return dns.dnssec.sign(records, key.private, zone, key.record, verify=False, **times)

    def put(
        self, question: Question, answer: Sequence[dns.rrset.RRset], authority: Sequence[dns.rrset.RRset] = ()
    ) -> None:
        """Set the answer to a question."""
        message = dns.message.make_response(dns.message.make_query(*question))
        message.answer, message.authority = one_by_one(answer), one_by_one(authority)
        wire = message.to_wire(max_size=65_535)
        assert len(wire) <= MAX_ANSWER_BYTES, "nobody would read it"
        self._wires[question] = wire

    def put_signed(self, records: dns.rrset.RRset, zone: dns.name.Name) -> None:
        """Set the answer to a question: a set with one valid signature."""
        self.put(Question(records.name, records.rdtype), [records, self.sign(records, zone)])

    def wire(self, question: Question) -> bytes:
        """The answer to a question; empty if none was set."""
        if question not in self._wires:
            self.put(question, [])
        return self._wires[question]

    def ask(self, question: Question) -> Answer:
        """The parsed answer to a question."""
        return Answer.read(self.wire(question))


def set_of(name: dns.name.Name, *records: dns.rdata.Rdata) -> dns.rrset.RRset:
    """An RRset of these records."""
    return dns.rrset.from_rdata(name, TTL, *records)
