"""The chain walk: from an RRset up, by who signed it, to a trust anchor. A sans-I/O state machine.

A walk is a generator: it yields a `Question`, is sent the answer, and returns a `Verdict`. For each RRset:
whose signature stands on it → that zone's DNSKEY RRset → the DS that vouches for it, itself an RRset of the
zone above → … until an anchor. An RRset without a usable signature is Insecure if its zone has no DS, else Bogus.

DNAME is not followed: the CNAME that a resolver makes of one has no signature and so counts as Bogus.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal, TypeVar

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from dns.rdatatype import CNAME, DNSKEY, DS, RRSIG, SOA, RdataType

from postroom.names.dns.question import Ask, Question
from postroom.names.dns.records import CnameRecord, DsRecord, RrsigRecord, SoaRecord
from postroom.names.dnssec.anchors import TrustAnchors
from postroom.names.dnssec.evidence import Alias, Evidence, Link, Window
from postroom.names.dnssec.signatures import (
    MAX_RECORDS,
    Broken,
    Checks,
    Keys,
    find_signature,
    usable_digests,
    usable_keys,
    vouched_for,
)
from postroom.names.dnssec.verdicts import Absent, Bogus, EndlessAlias, Insecure, Secure, Verdict

T = TypeVar("T")
Steps = Generator[Question, dns.message.Message, T]

MAX_ALIASES = 8
"""CNAMEs followed: what common resolvers follow at least; a key record needs one or two."""

MAX_QUESTIONS = 64
"""Asked per walk: also bounds its depth. An honest walk asks two per zone and one per alias."""


def drive(steps: Steps[T], ask: Ask) -> T:
    """Run a walk with real answers. Raises what `ask` raises (`NotNowError`)."""
    answer: dns.message.Message | None = None
    while True:
        try:
            # Both start and resume: a generator that has not started takes None.
            question = steps.send(answer)  # type: ignore[arg-type]
        except StopIteration as stop:
            result: T = stop.value
            return result
        answer = ask(question)


def validate(name: dns.name.Name, rdtype: RdataType, anchors: TrustAnchors, ask: Ask, now: float) -> Verdict:
    """The verdict on (name, type), asked through `ask`; `now` in epoch seconds."""
    return drive(walk(name, rdtype, anchors, now), ask)


def walk(name: dns.name.Name, rdtype: RdataType, anchors: TrustAnchors, now: float) -> Steps[Verdict]:
    """Walk the chain for (name, type), of class IN. `name` is absolute; `now` in epoch seconds."""
    try:
        return (yield from _Walk(anchors, now).follow(name, rdtype))
    except _Ended as end:
        return end.verdict
    except Broken as broken:
        return Bogus(str(broken))


class _Ended(Exception):  # noqa: N818 - the walk's own way out of its depth
    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict


@dataclass(frozen=True)
class _Zone:
    """A zone whose keys are proven; `chain` leads from the anchor down to it."""

    keys: Keys
    chain: tuple[Link, ...]


@dataclass(frozen=True)
class _Found:
    """An RRset of an answer with the signatures that came with it; nothing about it is proven."""

    records: dns.rrset.RRset
    signatures: tuple[RrsigRecord, ...]


@dataclass(frozen=True)
class _Proof:
    """An RRset that is proven, by which signature and through which zones."""

    records: dns.rrset.RRset
    signature: RrsigRecord
    chain: tuple[Link, ...]

    def evidence(self, aliases: list[Alias]) -> Evidence:
        owner, rdtype = str(self.records.name), self.records.rdtype.name
        return Evidence(owner, rdtype, tuple(aliases), self.chain, _window(self.signature))


class _Walk:
    def __init__(self, anchors: TrustAnchors, now: float) -> None:
        self._anchors = anchors
        self._now = now
        self._checks = Checks()
        self._questions = 0
        self._zones: dict[dns.name.Name, _Zone] = {}
        self._ttl = 2**31 - 1  # the largest TTL there is (RFC 2181 §8)

    def follow(self, name: dns.name.Name, rdtype: RdataType) -> Steps[Verdict]:
        """From name to name along proven CNAMEs, to the RRset asked for or its absence."""
        aliases: list[Alias] = []
        seen = {name}
        message = yield from self._ask(name, rdtype)
        while True:
            if found := _pick(message.answer, name, rdtype):
                proof = yield from self._prove(found)
                return Secure(tuple(found.records), self._ttl, proof.evidence(aliases))
            alias = _pick(message.answer, name, CNAME)
            if alias is None:
                return (yield from self._absence(message, name, aliases))
            yield from self._prove(alias)
            target = next(record.target for record in alias.records if isinstance(record, CnameRecord))
            aliases.append(Alias(str(name), str(target)))
            if target in seen:
                return EndlessAlias(f"the CNAME of {name} leads back to {target}")
            if len(aliases) > MAX_ALIASES:
                return EndlessAlias(f"more than {MAX_ALIASES} CNAMEs, the last one at {name}")
            seen.add(target)
            name = target
            # A resolver may follow the CNAME for us, or leave that to us.
            if not _pick(message.answer, name, rdtype) and not _pick(message.answer, name, CNAME):
                message = yield from self._ask(name, rdtype)

    def _absence(self, message: dns.message.Message, name: dns.name.Name, aliases: list[Alias]) -> Steps[Verdict]:
        kind: Literal["nxdomain", "nodata"] = "nxdomain" if message.rcode() == dns.rcode.NXDOMAIN else "nodata"
        for rrset in message.authority:
            # None but SOAs are looked for: an answer may hold thousands of other sets, and a search asks all of them.
            is_soa = rrset.rdtype == SOA and rrset.rdclass == dns.rdataclass.IN and name.is_subdomain(rrset.name)
            found = _pick(message.authority, rrset.name, SOA) if is_soa else None
            if found:
                proof = yield from self._prove(found)
                minimum = min(record.minimum for record in found.records if isinstance(record, SoaRecord))
                return Absent(kind, min(self._ttl, minimum), proof.evidence(aliases))
        raise (yield from self._unproven(name, f"{name} is said to be absent, without a SOA"))

    def _prove(self, found: _Found) -> Steps[_Proof]:
        """Prove an RRset, or end the walk."""
        records = found.records
        # The DS of a zone belongs to the zone above it (RFC 4035 §2.4).
        place = records.name.parent() if records.rdtype == DS else records.name
        signers = {s.signer for s in found.signatures if place.is_subdomain(s.signer)}
        if not signers:
            why = "is signed only by a zone that is not above it" if found.signatures else "is not signed"
            what = f"{records.name} {records.rdtype.name}"
            raise (yield from self._unproven(place, f"{what} {why}"))
        signer = max(signers, key=len)
        zone = yield from self._zone(signer)
        by_signer = [s for s in found.signatures if s.signer == signer]
        signature, _ = find_signature(records, by_signer, zone.keys, self._now, self._checks)
        self._age(records, signature)
        return _Proof(records, signature, zone.chain)

    def _unproven(self, place: dns.name.Name, why: str) -> Steps[Broken]:
        """What to end with over something unproven at `place`; ends as Insecure if its zone is not signed."""
        zone = yield from self._zone_of(place)
        yield from self._zone(zone)
        return Broken(f"{why}, but its zone {zone} is signed")

    def _zone_of(self, place: dns.name.Name) -> Steps[dns.name.Name]:
        """The zone that holds `place`, by its SOA."""
        for name in _upwards(place):
            message = yield from self._ask(name, SOA)
            # A CNAME stands at no zone's apex, so its zone is that of the name above.
            if _pick(message.answer, name, CNAME):
                continue
            for rrset in (*message.answer, *message.authority):
                if rrset.rdtype == SOA and name.is_subdomain(rrset.name):
                    return rrset.name
        raise Broken(f"no zone is found that holds {place}")

    def _zone(self, zone: dns.name.Name) -> Steps[_Zone]:
        """A zone's proven keys; ends the walk as Insecure where no DS leads to it."""
        if zone not in self._zones:
            chain, digests = yield from self._delegation(zone)
            usable = usable_digests(digests)
            if not usable:
                raise _Ended(Insecure(f"{zone} has DS records only of algorithms that are not known here"))
            message = yield from self._ask(zone, DNSKEY)
            found = _pick(message.answer, zone, DNSKEY)
            if found is None:
                raise Broken(f"{zone} has a DS but no DNSKEY")
            keys = usable_keys(found.records)
            entries = vouched_for(zone, keys, usable, self._checks)
            own = [s for s in found.signatures if s.signer == zone]
            signature, key = find_signature(found.records, own, usable_keys(entries), self._now, self._checks)
            self._age(found.records, signature)
            digest = entries[key]
            link = Link(str(zone), int(digest.digest_type), digest.digest.hex(), _window(signature))
            self._zones[zone] = _Zone(keys, (*chain, link))
        return self._zones[zone]

    def _delegation(self, zone: dns.name.Name) -> Steps[tuple[tuple[Link, ...], tuple[DsRecord, ...]]]:
        """The chain above a zone and the DS records that vouch for its keys."""
        if zone in self._anchors.zones:
            return (), self._anchors.zones[zone]
        if not self._anchors.cover(zone):
            raise _Ended(Insecure(f"no trust anchor is configured for {zone} or above"))
        message = yield from self._ask(zone, DS)
        found = _pick(message.answer, zone, DS)
        if found is None:
            raise _Ended(Insecure(f"{zone} has no DS record in the zone above it"))
        proof = yield from self._prove(found)
        return proof.chain, tuple(record for record in found.records if isinstance(record, DsRecord))

    def _ask(self, name: dns.name.Name, rdtype: RdataType) -> Steps[dns.message.Message]:
        if self._questions >= MAX_QUESTIONS:
            raise Broken(f"more than {MAX_QUESTIONS} questions would be needed")
        self._questions += 1
        return (yield Question(name, rdtype))

    def _age(self, records: dns.rrset.RRset, signature: RrsigRecord) -> None:
        """A verdict lasts no longer than anything it rests on (RFC 4035 §5.3.3)."""
        rest = int(signature.expiration - self._now)
        self._ttl = max(0, min(self._ttl, records.ttl, signature.original_ttl, rest))


def _pick(section: list[dns.rrset.RRset], name: dns.name.Name, rdtype: RdataType) -> _Found | None:
    """The RRset of a section, if it is there; raises `Broken` where it is too large to be looked into."""
    here = [r for r in section if r.name == name and r.rdclass == dns.rdataclass.IN and len(r) > 0]
    records = next((rrset for rrset in here if rrset.rdtype == rdtype), None)
    if records is None:
        return None
    if len(records) > MAX_RECORDS:
        what = f"{name} {rdtype.name}: more than {MAX_RECORDS} records"
        raise Broken(f"{what}, more than a key record or a zone's keys ever need")
    signatures = [s for r in here if r.rdtype == RRSIG and r.covers == rdtype for s in r]
    return _Found(records, tuple(s for s in signatures if isinstance(s, RrsigRecord)))


def _upwards(name: dns.name.Name) -> Generator[dns.name.Name, None, None]:
    yield name
    while name != dns.name.root:
        name = name.parent()
        yield name


def _window(signature: RrsigRecord) -> Window:
    return Window(int(signature.algorithm), signature.key_tag, signature.inception, signature.expiration)
