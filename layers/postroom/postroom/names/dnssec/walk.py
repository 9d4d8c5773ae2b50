"""The look-up of (name, type), proven from a trust anchor down. A sans-I/O state machine.

A walk is a generator: it yields a `Question`, is sent the answer, and returns a `Verdict`. For each RRset:
whose signature stands on it → that zone's DNSKEY RRset → the DS that vouches for it, itself an RRset of the
zone above → … until an anchor. What has no usable signature is Insecure only where the zones from the anchor down
prove that one of them delegates it unsigned, else Bogus.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import dns.message
import dns.name
import dns.rdatatype
from dns.rdatatype import CNAME, DNAME, DNSKEY, DS, NSEC, NSEC3, SOA, RdataType

from postroom.errors import NotNowError
from postroom.names.dns.question import Ask, Elsewhere, Question
from postroom.names.dns.records import (
    CnameRecord,
    DnameRecord,
    DsRecord,
    Nsec3Record,
    NsecRecord,
    RrsigRecord,
    SoaRecord,
)
from postroom.names.dnssec.anchors import TrustAnchors
from postroom.names.dnssec.budget import Budget, Exceeded
from postroom.names.dnssec.denial import Denial, Denials
from postroom.names.dnssec.evidence import Alias, Evidence, Link, Window
from postroom.names.dnssec.nsec import Nsecs
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS, Nsec3s, readable
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.rrsets import Section, Signed
from postroom.names.dnssec.signatures import (
    Broken,
    find_signature,
    is_expanded,
    seconds_left,
    usable_digests,
    usable_keys,
    vouched_for,
)
from postroom.names.dnssec.verdicts import Absent, Bogus, EndlessAlias, Indeterminate, Insecure, Secure, Verdict
from postroom.names.dnssec.zones import KnownZones, Zone
from postroom.reasons import Reason

T = TypeVar("T")
Steps = Generator[Question, dns.message.Message, T]

MAX_ALIASES: Final = 8
"""CNAMEs followed: what common resolvers follow at least; a key record needs one or two."""

MAX_DENIERS: Final = 16
"""NSEC or NSEC3 RRsets looked at in an answer: a proof takes three, and one for each wildcard on the way to it."""
_NO_PROOF: Final = "and no NSEC or NSEC3 record that came with it proves that"


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


def validate(
    name: dns.name.Name,
    rdtype: RdataType,
    anchors: TrustAnchors,
    ask: Ask,
    now: float,
    *,
    policy: Policy | None = None,
    known: KnownZones | None = None,
) -> Verdict:
    """The verdict on (name, type), asked through `ask`; `now` in epoch seconds. For the rest see `walk`.

    What is bogus is looked up a second time: a zone may have changed its keys in haste, a resolver may lie.
    """
    try:
        verdict = drive(walk(name, rdtype, anchors, now, policy=policy, known=known), ask)
        if isinstance(verdict, Bogus):
            verdict = drive(walk(name, rdtype, anchors, now, policy=policy, known=known, again=True), ask)
    except NotNowError as failed:
        return Indeterminate(failed.reason, failed.detail)
    return verdict


def walk(
    name: dns.name.Name,
    rdtype: RdataType,
    anchors: TrustAnchors,
    now: float,
    *,
    policy: Policy | None = None,
    known: KnownZones | None = None,
    again: bool = False,
) -> Steps[Verdict]:
    """Walk the chain for (name, type), of class IN. `name` is absolute; `now` in epoch seconds.

    `known`: zones proven by earlier walks from the same anchors, by the same policy; this one adds its own.
    `again`: nothing that is known is used, and another resolver is to be asked.
    """
    walking = _Walk(anchors, int(now), policy or Policy(), KnownZones() if known is None else known, again=again)
    try:
        return (yield from walking.follow(name, rdtype))
    except _Ended as end:
        return end.verdict
    except Broken as broken:
        return Bogus(str(broken))
    except Exceeded as exceeded:
        return Indeterminate(Reason.DNSSEC_TOO_COSTLY, str(exceeded))


class _Ended(Exception):  # noqa: N818 - the walk's own way out of its depth
    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict


@dataclass(frozen=True)
class _Reply:
    answer: Section
    authority: Section


@dataclass(frozen=True)
class _Proof:
    """What is proven: by a signature of a zone, until when (epoch seconds)."""

    zone: Zone
    signature: RrsigRecord
    until: int
    denial: Denial | None = None


class _Walk:
    def __init__(self, anchors: TrustAnchors, now: int, policy: Policy, known: KnownZones, *, again: bool) -> None:
        self._anchors = anchors
        self._now = now
        self._policy = policy
        self._known = known
        self._again = again
        self._budget = Budget()
        self._replies: dict[Question, _Reply] = {}
        self._zones: dict[dns.name.Name, Zone] = {}
        self._broken: dict[dns.name.Name, str] = {}
        self._aliases: list[Alias] = []
        self._until = now + 2**31 - 1  # the largest TTL there is (RFC 2181 §8)

    def follow(self, name: dns.name.Name, rdtype: RdataType) -> Steps[Verdict]:
        """From name to name along proven aliases, to the RRset asked for or its absence."""
        seen = {name}
        reply = yield from self._ask(name, rdtype)
        while True:
            if found := reply.answer.find(name, rdtype):
                proof = yield from self._prove(found, reply)
                return Secure(tuple(found.records), self._age(proof.until), self._evidence(name, rdtype, proof))
            target = yield from self._target(reply, name)
            if target is None:
                return (yield from self._absence(reply, name, rdtype))
            self._aliases.append(Alias(str(name), str(target)))
            if target in seen:
                return EndlessAlias(f"the alias {name} leads back to {target}")
            if len(self._aliases) > MAX_ALIASES:
                raise Exceeded(f"more than {MAX_ALIASES} aliases, the last one at {name}")
            seen.add(target)
            name = target
            # A resolver may follow the alias for us, or leave that to us.
            if not reply.answer.find(name, rdtype) and not reply.answer.find(name, CNAME):
                reply = yield from self._ask(name, rdtype)

    def _target(self, reply: _Reply, name: dns.name.Name) -> Steps[dns.name.Name | None]:
        """Where a proven alias leads from `name`; None where there is none."""
        # Before the CNAME: that which a DNAME makes of a name has no signature of its own (RFC 6672 §5.3.1).
        for owner in reply.answer.of_type(DNAME):
            dname = reply.answer.find(owner, DNAME) if owner != name and name.is_subdomain(owner) else None
            if dname:
                self._age((yield from self._prove(dname)).until)
                target = next(record.target for record in dname.records if isinstance(record, DnameRecord))
                try:
                    return name.relativize(owner).derelativize(target)
                except dns.name.NameTooLong:
                    raise Broken(f"{name} has no alias: what the DNAME at {owner} makes of it is too long") from None
        cname = reply.answer.find(name, CNAME)
        if not cname:
            return None
        self._age((yield from self._prove(cname, reply)).until)
        return next(record.target for record in cname.records if isinstance(record, CnameRecord))

    def _absence(self, reply: _Reply, name: dns.name.Name, rdtype: RdataType) -> Steps[Verdict]:
        proof, denial = yield from self._denied(reply, name, rdtype)
        if denial.opt_out:
            raise self._insecure(f"{name} may be in a zone that is delegated unsigned (opt-out)", name, rdtype, proof)
        ttl = self._age(proof.until)
        for owner in reply.authority.of_type(SOA):
            is_of_zone = name.is_subdomain(owner) and owner.is_subdomain(self._anchor(name))
            if is_of_zone and (soa := reply.authority.find(owner, SOA)):
                ttl = self._age((yield from self._prove(soa)).until)
                ttl = min(ttl, *(it.minimum for it in soa.records if isinstance(it, SoaRecord)))
        return Absent("nxdomain" if denial.no_name else "nodata", ttl, self._evidence(name, rdtype, proof))

    def _prove(self, found: Signed, reply: _Reply | None = None) -> Steps[_Proof]:
        """Prove an RRset, or end the walk. `reply`: where it may have been made of a wildcard's, what came with it."""
        name = found.records.name
        # The DS of a zone belongs to the zone above it (RFC 4035 §2.4).
        place = _place(name, found.records.rdtype)
        signers = _signers([found], place, self._anchor(place))
        if not signers:
            why = "is signed only by a zone that is not above it" if found.signatures else "is not signed"
            raise (yield from self._unproven(place, f"{found.what} {why}"))
        signer, zone = yield from self._zone_of(signers)
        signature, _ = find_signature(found, signer, zone.keys, self._now, self._policy, self._budget)
        proof = _Proof(zone, signature, min(zone.until, self._end(found, signature)))
        if not is_expanded(name, signature):
            return proof
        if reply is None:
            raise Broken(f"{found.what} is signed as a wildcard's, which it cannot be")
        encloser = name.split(signature.labels + 1)[1]
        denials, until, _ = self._proven_denials(reply, signer, zone)
        denial = next(filter(None, (it.no_closer(name, encloser) for it in denials)), None)
        if denial is None:
            raise Broken(f"{found.what} comes from a wildcard where no closer name may be, {_NO_PROOF}")
        proof = _Proof(zone, signature, min(proof.until, until), denial)
        if denial.opt_out:
            raise self._insecure(f"{name} may be delegated unsigned (opt-out)", name, found.records.rdtype, proof)
        return proof

    def _denied(self, reply: _Reply, name: dns.name.Name, rdtype: RdataType) -> Steps[tuple[_Proof, Denial]]:
        """The proof that an RRset is not there, or the end of the walk."""
        self._budget.step()
        what, place = f"{name} {rdtype.name} is said to be absent", _place(name, rdtype)
        signers = _signers(_deniers(reply), place, self._anchor(place))
        if not signers:
            raise (yield from self._unproven(place, f"{what}, without a signed proof"))
        signer, zone = yield from self._zone_of(signers)
        denials, until, signature = self._proven_denials(reply, signer, zone)
        denial = next(filter(None, (it.absence(name, rdtype) for it in denials)), None)
        if denial is None or signature is None:
            raise (yield from self._unproven(place, f"{what}, {_NO_PROOF}"))
        return _Proof(zone, signature, until, denial), denial

    def _proven_denials(
        self, reply: _Reply, signer: dns.name.Name, zone: Zone
    ) -> tuple[list[Denials], int, RrsigRecord | None]:
        """The proven NSEC and NSEC3 records of a zone, until when they hold, and one signature of them."""
        nsecs: dict[dns.name.Name, NsecRecord] = {}
        nsec3s: dict[dns.name.Name, Nsec3Record] = {}
        until, signature = zone.until, None
        for found in _deniers(reply):
            owner, record = found.records.name, found.records[0]
            if not owner.is_subdomain(signer):
                continue
            try:
                signature, _ = find_signature(found, signer, zone.keys, self._now, self._policy, self._budget)
            except Broken:
                # Others may prove it.
                continue
            if is_expanded(owner, signature):
                continue
            until = min(until, self._end(found, signature))
            if isinstance(record, NsecRecord):
                nsecs[owner] = record
            elif isinstance(record, Nsec3Record):
                if record.iterations > MAX_ITERATIONS:
                    why = f"{signer} has NSEC3 of {record.iterations} iterations; at most {MAX_ITERATIONS} are taken"
                    raise self._insecure(why, owner, NSEC3, _Proof(zone, signature, until))
                nsec3s[owner] = record
        denials: list[Denials] = [Nsecs(signer, nsecs)] if nsecs else []
        if known := readable(signer, nsec3s):
            denials.append(Nsec3s(signer, known, self._budget))
        return denials, until, signature

    def _unproven(self, place: dns.name.Name, why: str) -> Steps[Broken]:
        """What to end with over something unproven at `place`; ends as Insecure if it is delegated unsigned."""
        zone = self._nearest(place)
        for name in _downwards(zone, place):
            reply = yield from self._ask(name, DS)
            if reply.answer.find(name, DS):
                yield from self._zone(name)
                zone = name
            # No zone begins at an alias (RFC 6672 §2.4, RFC 1034 §3.6.2). That it is one needs no proof: it makes
            # nothing Insecure.
            elif not reply.answer.find(name, CNAME) and not any(reply.answer.of_type(DNAME)):
                proof, denial = yield from self._denied(reply, name, DS)
                if denial.is_cut or denial.opt_out:
                    raise self._no_ds(name, proof)
                if denial.no_name:
                    break
        return Broken(f"{why}, but its zone {zone} is signed")

    def _nearest(self, place: dns.name.Name) -> dns.name.Name:
        """The lowest zone above `place` whose keys are proven or anchored."""
        self._anchor(place)
        for name in _upwards(place):
            if name in self._anchors.zones or self._remembered(name):
                break
        return name

    def _remembered(self, name: dns.name.Name) -> Zone | None:
        return self._zones.get(name) or (None if self._again else self._known.get(name, self._now))

    def _anchor(self, place: dns.name.Name) -> dns.name.Name:
        """The nearest anchor above `place`; ends as Insecure where none reaches."""
        if anchor := self._anchors.above(place):
            return anchor
        raise _Ended(Insecure(f"no trust anchor is configured for {place} or above", self._age(self._until), None))

    def _zone_of(self, signers: list[dns.name.Name]) -> Steps[tuple[dns.name.Name, Zone]]:
        """The first of the signers that is a signed zone, and its keys."""
        for signer in signers[:-1]:
            try:
                return signer, (yield from self._zone(signer))
            except Broken:
                # Anybody can add a signature in any name; one that holds is enough.
                continue
        return signers[-1], (yield from self._zone(signers[-1]))

    def _zone(self, name: dns.name.Name) -> Steps[Zone]:
        """A zone's proven keys; ends the walk as Insecure where its delegation is proven to have no usable DS."""
        self._budget.step()
        if known := self._remembered(name):
            return known
        if name in self._broken:
            raise Broken(self._broken[name])
        try:
            return (yield from self._proven_zone(name))
        except Broken as broken:
            # Once: who lists every name above as a signer would have each of them tried anew for every other.
            self._broken[name] = str(broken)
            raise

    def _proven_zone(self, name: dns.name.Name) -> Steps[Zone]:
        chain, digests, until, delegated = yield from self._delegation(name)
        usable = usable_digests(digests, self._policy)
        if not usable:
            why = f"{name} has DS records only of algorithms that are not known here"
            if delegated is None:
                raise _Ended(Insecure(why, self._age(until), None))
            raise self._insecure(why, name, DS, delegated)
        reply = yield from self._ask(name, DNSKEY)
        found = reply.answer.find(name, DNSKEY)
        if found is None:
            raise Broken(f"{name} has a DS but no DNSKEY")
        keys = usable_keys(found.records, self._policy)
        entries = vouched_for(name, keys, usable, self._budget)
        trusted = usable_keys(entries, self._policy)
        signature, key = find_signature(found, name, trusted, self._now, self._policy, self._budget)
        if is_expanded(name, signature):
            raise Broken(f"{found.what} is signed as a wildcard's, which it cannot be")
        digest = entries[key]
        link = Link(str(name), int(digest.digest_type), digest.digest.hex(), _window(signature))
        zone = Zone(keys, (*chain, link), min(until, self._end(found, signature)))
        # Also of its own: what may not be kept at all holds for this walk.
        self._zones[name] = zone
        self._known.put(name, zone, self._now)
        return zone

    def _delegation(
        self, name: dns.name.Name
    ) -> Steps[tuple[tuple[Link, ...], tuple[DsRecord, ...], int, _Proof | None]]:
        """The chain above a zone, the DS records that vouch for its keys, until when, and what proves them."""
        self._anchor(name)
        if name in self._anchors.zones:
            return (), self._anchors.zones[name], self._until, None
        reply = yield from self._ask(name, DS)
        found = reply.answer.find(name, DS)
        if found is None:
            proof, denial = yield from self._denied(reply, name, DS)
            if denial.is_cut or denial.opt_out:
                raise self._no_ds(name, proof)
            raise Broken(f"{name} is no zone of its own, though a signature is said to be made by it")
        proof = yield from self._prove(found)
        return proof.zone.chain, tuple(it for it in found.records if isinstance(it, DsRecord)), proof.until, proof

    def _no_ds(self, name: dns.name.Name, proof: _Proof) -> _Ended:
        return self._insecure(f"{name} has no DS record in the zone above it", name, DS, proof)

    def _insecure(self, why: str, name: dns.name.Name, rdtype: RdataType, proof: _Proof) -> _Ended:
        return _Ended(Insecure(why, self._age(proof.until), self._evidence(name, rdtype, proof)))

    def _ask(self, name: dns.name.Name, rdtype: RdataType) -> Steps[_Reply]:
        question = Elsewhere(name, rdtype) if self._again else Question(name, rdtype)
        if question not in self._replies:
            self._budget.ask()
            message = yield question
            self._replies[question] = _Reply(Section(message.answer), Section(message.authority))
        return self._replies[question]

    def _evidence(self, name: dns.name.Name, rdtype: RdataType, proof: _Proof) -> Evidence:
        deniers = proof.denial.deniers if proof.denial else ()
        signed = _window(proof.signature)
        return Evidence(str(name), rdtype.name, tuple(self._aliases), proof.zone.chain, signed, deniers)

    def _end(self, found: Signed, signature: RrsigRecord) -> int:
        """When an RRset that this signature proves is to be forgotten (RFC 4035 §5.3.3)."""
        rest = seconds_left(signature, self._now, self._policy)
        return self._now + min(found.records.ttl, signature.original_ttl, rest)

    def _age(self, until: int) -> int:
        """Seconds that the verdict lasts: no longer than anything it rests on."""
        self._until = min(self._until, until)
        return max(0, self._until - self._now)


def _place(name: dns.name.Name, rdtype: RdataType) -> dns.name.Name:
    """The name whose zone has a name's records of this type: the DS of a zone belongs to the zone above it."""
    return name.parent() if rdtype == DS and name != dns.name.root else name


def _deniers(reply: _Reply) -> list[Signed]:
    """The NSEC and NSEC3 RRsets of an answer."""
    owners = [(owner, rdtype) for rdtype in (NSEC, NSEC3) for owner in reply.authority.of_type(rdtype)]
    if len(owners) > MAX_DENIERS:
        raise Exceeded(f"more than {MAX_DENIERS} NSEC or NSEC3 records came with an answer")
    return [found for owner, rdtype in owners if (found := reply.authority.find(owner, rdtype))]


def _signers(sets: list[Signed], place: dns.name.Name, anchor: dns.name.Name) -> list[dns.name.Name]:
    """Who has signed that may sign for `place`, the nearest first; nobody above its anchor has a say in it."""
    signers = {it.signer for found in sets for it in found.signatures}
    may = [it for it in signers if place.is_subdomain(it) and it.is_subdomain(anchor)]
    return sorted(may, key=len, reverse=True)


def _upwards(name: dns.name.Name) -> Iterator[dns.name.Name]:
    yield name
    while name != dns.name.root:
        name = name.parent()
        yield name


def _downwards(above: dns.name.Name, name: dns.name.Name) -> Iterator[dns.name.Name]:
    """The names from right below `above` down to `name`."""
    return (name.split(length)[1] for length in range(len(above) + 1, len(name) + 1))


def _window(signature: RrsigRecord) -> Window:
    return Window(int(signature.algorithm), signature.key_tag, signature.inception, signature.expiration)
