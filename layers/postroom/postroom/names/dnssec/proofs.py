"""Proofs of records, of their absence and of zones' keys, from a trust anchor down. Sans-I/O: steps of a walk.

For each RRset: the signer of its signature → that zone's DNSKEY RRset → the DS that names its key, which is an RRset of
the zone above → … until an anchor. An RRset without a valid signature is Insecure only if the zones from the anchor
down prove that one of them delegates it unsigned; otherwise it is `Broken`.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

import dns.name
from dns.rdatatype import CNAME, DNAME, DNSKEY, DS, NSEC, NSEC3, RdataType

from postroom.names.dns.answer import Answer
from postroom.names.dns.question import AskAnotherResolver, Question
from postroom.names.dns.records import DsRecord, Nsec3Record, NsecRecord, RrsigRecord
from postroom.names.dnssec.anchors import TrustAnchors
from postroom.names.dnssec.budget import Budget, Exceeded
from postroom.names.dnssec.denial import Denial
from postroom.names.dnssec.evidence import Alias, Evidence, Link, SignatureWindow
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS, Hashes, readable
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.proven import Proof, ProvenDenials, Zone
from postroom.names.dnssec.rrsets import Broken, Section, Signed
from postroom.names.dnssec.signatures import (
    find_signature,
    is_expanded,
    seconds_left,
    usable_digests,
    usable_keys,
    vouched_for,
)
from postroom.names.dnssec.verdicts import Insecure
from postroom.names.dnssec.zones import BrokenZone, Cut, KnownZones

T = TypeVar("T")
Steps = Generator[Question, Answer, T]
"""Yields questions, is sent their answers, and returns its result."""

MAX_DENIERS: Final = 16
"""NSEC or NSEC3 RRsets read in an answer: a proof takes three, and one for each wildcard on the way."""
MAX_SIGNERS: Final = 4
"""Zones named by the signatures of an answer: one, or also the one above it, while a zone is moved into another."""
_NO_PROOF: Final = "and no NSEC or NSEC3 record that came with it proves that"


class Unsigned(Exception):  # noqa: N818 - a finding that becomes a verdict
    """The name is not signed, by a proof or by a setting."""

    def __init__(self, verdict: Insecure) -> None:
        super().__init__()
        self.verdict = verdict


class Denied(NamedTuple):
    """The proof that an RRset does not exist: the denial, and its records."""

    proof: Proof
    denial: Denial
    records: ProvenDenials


class _NotSigned(Broken):
    """There is no proof at all."""


class BrokenBefore(Broken):
    """A zone was found broken a moment ago, and by a second resolver, too."""


@dataclass(frozen=True)
class Reply:
    """An answer. Nothing in it is proven, except denials that were proven before, by the zone that signed them.

    Each alias in it may need them again.
    """

    answer: Section
    authority: Section
    proven: dict[dns.name.Name, ProvenDenials] = field(default_factory=dict)

    @cached_property
    def deniers(self) -> list[Signed]:
        """The NSEC and NSEC3 RRsets of the answer; raises `Exceeded`."""
        if self.authority.count(NSEC) + self.authority.count(NSEC3) > MAX_DENIERS:
            raise Exceeded(f"more than {MAX_DENIERS} NSEC or NSEC3 records came with an answer")
        owners = [(owner, rdtype) for rdtype in (NSEC, NSEC3) for owner in self.authority.of_type(rdtype)]
        return [found for owner, rdtype in owners if (found := self.authority.find(owner, rdtype))]


class Prover:
    """What one walk has found out, and what is left of its budget.

    All steps raise `Broken`, `Unsigned` or `Exceeded` if they have no result.
    """

    def __init__(
        self, anchors: TrustAnchors, now: int, policy: Policy, known: KnownZones, *, fresh: bool, again: bool
    ) -> None:
        self._anchors = anchors
        self._now = now
        self._policy = policy
        self._known = known
        self._fresh = fresh
        self._again = again
        self._budget = Budget()
        self._hashes = Hashes(self._budget)
        # A budget of its own: work on remembered records, which strangers can cause, must leave enough to ask and to
        # prove the answer.
        self._recalled = Hashes(Budget())
        self._replies: dict[Question, Reply] = {}
        self._zones: dict[dns.name.Name, Zone] = {}
        self._failed: dict[dns.name.Name, Broken | Exceeded] = {}
        self._aliases: list[Alias] = []
        self.chain: tuple[Link, ...] = ()
        """The chain down to the zone that was proven, or recalled, last."""
        self._until = now + 2**31 - 1  # the largest TTL there is (RFC 2181 §8)

    def ask(self, name: dns.name.Name, rdtype: RdataType) -> Steps[Reply]:
        """The answer to a question, which is asked once."""
        question = AskAnotherResolver(name, rdtype) if self._again else Question(name, rdtype)
        if question not in self._replies:
            self._budget.ask()
            answer = yield question
            self._replies[question] = Reply(Section(answer.answer), Section(answer.authority))
        return self._replies[question]

    def prove(self, found: Signed, reply: Reply | None = None) -> Steps[Proof]:
        """Prove an RRset. `reply`: the answer it came with, if it may have been made from a wildcard."""
        name = found.name
        place = place_of(name, found.rdtype)
        try:
            signers = _signers([found], place, self._anchor(place))
            if not signers:
                why = "is signed only by a zone that is not above it" if found.signatures else "is not signed"
                raise _NotSigned(f"{found.what} {why}")
            signer, zone = yield from self._zone_of(signers)
            signature, _ = find_signature(found, signer, zone.keys, self._now, self._policy, self._budget)
        except (Broken, Exceeded) as error:
            raise (yield from self._unless_unsigned(place, error)) from None
        proof = Proof(zone.chain, signature, min(zone.until, self._end(found, signature)))
        if not is_expanded(name, signature):
            return proof
        if reply is None:
            raise _not_a_wildcards(found)
        encloser = name.split(signature.labels + 1)[1]
        denials = self._proven_denials(reply, signer, zone)
        denial = denials.no_closer(name, encloser, self._hashes)
        if denial is None:
            raise Broken(f"{found.what} comes from a wildcard where no closer name may be, {_NO_PROOF}")
        proof = Proof(zone.chain, signature, min(proof.until, denials.until), denial)
        if denial.opt_out:
            raise self.unsigned(f"{name} may be delegated unsigned (opt-out)", name, found.rdtype, proof)
        return proof

    def deny(self, reply: Reply, name: dns.name.Name, rdtype: RdataType) -> Steps[Denied]:
        """Prove that an RRset does not exist."""
        self._budget.step()
        what, place = f"{name} {rdtype.name} is said to be absent", place_of(name, rdtype)
        try:
            signers = _signers(reply.deniers, place, self._anchor(place))
            if not signers:
                raise _NotSigned(f"{what}, without a signed proof")
            signer, zone = yield from self._zone_of(signers)
            records = self._proven_denials(reply, signer, zone)
            if denied := _denied_by(records, name, rdtype, self._hashes):
                return denied
            raise _NotSigned(f"{what}, {_NO_PROOF}")
        except (Broken, Exceeded) as error:
            raise (yield from self._unless_unsigned(place, error)) from None

    def recall(self, name: dns.name.Name, rdtype: RdataType) -> Denied | None:
        """The remembered proof that an RRset does not exist (RFC 8198), so that no server is asked.

        Raises `Unsigned` if its zone is proven not to be signed.
        """
        place = place_of(name, rdtype)
        anchor = self._anchor(place)
        if self._again or self._fresh:
            return None
        if found := self._known.end(place, len(anchor), self._now):
            above, end = found
            if isinstance(end, Cut):
                raise self.unsigned(end.why, above, DS, end.proof)
            self.chain = end.chain
            raise BrokenBefore(end.why)
        # If the budget has no hashes left, asking takes less work.
        with suppress(Exceeded):
            for records in self._known.denials(self._nearest(place), rdtype, self._now):
                denied = _denied_by(records, name, rdtype, self._recalled)
                if denied and not denied.denial.opt_out:
                    return denied
        return None

    def remember(self, denied: Denied, rdtype: RdataType, seconds: int) -> Denied:
        """Remember a denial for later look-ups, for this many seconds."""
        # The other records of the answer deny other things, and a stranger can choose them.
        records = replace(denied.records.only(denied.denial), until=self._now + seconds)
        self._known.put_denials(records, rdtype, self._now)
        return denied._replace(records=records)

    def pass_alias(self, owner: dns.name.Name, target: dns.name.Name, proof: Proof) -> None:
        """From now on, the result also depends on this alias."""
        self._aliases.append(Alias(str(owner), str(target)))
        self._until = min(self._until, proof.until)

    def dname_above(self, reply: Reply, name: dns.name.Name, place: dns.name.Name) -> Signed | None:
        """The DNAME in an answer that makes an alias of `name`, not above the anchor of `place`; not proven."""
        if not reply.answer.count(DNAME):
            return None
        depths = range(len(self._anchor(place)), len(name))
        return next(filter(None, (reply.answer.find(name.split(depth)[1], DNAME) for depth in depths)), None)

    def unsigned(self, why: str, name: dns.name.Name, rdtype: RdataType, proof: Proof) -> Unsigned:
        """The exception for a name that is proven not to be signed."""
        return Unsigned(Insecure(why, self.seconds_left(proof.until), self.evidence(name, rdtype, proof)))

    def evidence(self, name: dns.name.Name, rdtype: RdataType, proof: Proof) -> Evidence:
        """A proof as data, with the aliases that led to it."""
        deniers = proof.denial.deniers if proof.denial else ()
        signed = _window(proof.signature)
        return Evidence(str(name), rdtype.name, tuple(self._aliases), proof.chain, signed, deniers)

    def seconds_left(self, until: int) -> int:
        """How long the verdict is valid: until then, and no longer than anything it depends on."""
        self._until = min(self._until, until)
        return max(0, self._until - self._now)

    def _proven_denials(self, reply: Reply, signer: dns.name.Name, zone: Zone) -> ProvenDenials:
        if signer not in reply.proven:
            reply.proven[signer] = self._prove_denials(reply, signer, zone)
        return reply.proven[signer]

    def _prove_denials(self, reply: Reply, signer: dns.name.Name, zone: Zone) -> ProvenDenials:
        nsecs: dict[dns.name.Name, NsecRecord] = {}
        nsec3s: dict[dns.name.Name, Nsec3Record] = {}
        until, signature = zone.until, None
        for found in reply.deniers:
            owner = found.name
            if not owner.is_subdomain(signer):
                continue
            try:
                record = found.records[0]
                # A next name outside the zone would cover names that others sign (RFC 4034 §4.1.1).
                if isinstance(record, NsecRecord) and not record.next.is_subdomain(signer):
                    continue
                holds, _ = find_signature(found, signer, zone.keys, self._now, self._policy, self._budget)
            except Broken:
                # Other denials may prove it.
                continue
            if is_expanded(owner, holds):
                continue
            signature = holds
            until = min(until, self._end(found, signature))
            if isinstance(record, NsecRecord):
                nsecs[owner] = record
            elif isinstance(record, Nsec3Record):
                if record.iterations > MAX_ITERATIONS:
                    why = f"{signer} has NSEC3 of {record.iterations} iterations; at most {MAX_ITERATIONS} are taken"
                    raise self.unsigned(why, owner, NSEC3, Proof(zone.chain, signature, until))
                nsec3s[owner] = record
        return ProvenDenials(signer, zone.chain, nsecs, readable(signer, nsec3s), signature, until)

    def _unless_unsigned(self, place: dns.name.Name, error: Broken | Exceeded) -> Steps[Broken | Exceeded]:
        """The exception for an RRset at `place` that cannot be proven.

        Raises `Unsigned` if it need not be proven: below an unsigned delegation a signature says nothing, not even that
        it is wrong.
        """
        chain = self.chain
        if isinstance(error, _NotSigned):
            zone_name = yield from self._signed_zone_of(place)
            return Broken(f"{error}, but its zone {zone_name} is signed")
        with suppress(Broken):
            yield from self._signed_zone_of(place)
        self.chain = chain
        return error

    def _signed_zone_of(self, place: dns.name.Name) -> Steps[dns.name.Name]:
        """The signed zone of `place`; raises `Unsigned` if it is proven to be in none."""
        zone = self._nearest(place)
        # An anchor may have only keys that we cannot check.
        yield from self._zone(zone)
        for name in _downwards(zone, place):
            reply = yield from self.ask(name, DS)
            if reply.answer.find(name, DS):
                yield from self._zone(name)
                zone = name
            # No zone begins at an alias (RFC 6672 §2.4, RFC 1034 §3.6.2). The alias itself needs no proof: it makes
            # nothing Insecure.
            elif not reply.answer.find(name, CNAME) and not self.dname_above(reply, name, name):
                denied = yield from self.deny(reply, name, DS)
                self._end_at_cut(name, denied)
                if denied.denial.no_name:
                    break
        return zone

    def _nearest(self, place: dns.name.Name) -> dns.name.Name:
        """The lowest zone above `place` whose keys are proven or anchored."""
        own = (len(it) for it in self._zones if place.is_subdomain(it))
        known = 0 if self._again else self._known.depth(place, self._now)
        return place.split(max(len(self._anchor(place)), known, *own))[1]

    def _remembered(self, name: dns.name.Name) -> Zone | None:
        return self._zones.get(name) or (None if self._again else self._known.get(name, self._now))

    def _anchor(self, place: dns.name.Name) -> dns.name.Name:
        """The nearest anchor above `place`."""
        anchor, negative = self._anchors.above(place), self._anchors.negative_above(place)
        if anchor and not negative:
            return anchor
        why = f"no trust anchor is configured for {place} or above"
        if negative:
            why = f"{negative} is set to count as not signed (negative trust anchor)"
        raise Unsigned(Insecure(why, self.seconds_left(self._until), None))

    def _zone_of(self, signers: list[dns.name.Name]) -> Steps[tuple[dns.name.Name, Zone]]:
        """The first of the signers that is a signed zone, and its keys."""
        for signer in signers[:-1]:
            try:
                return signer, (yield from self._zone(signer))
            except Broken:
                # Anybody can add a signature in any name; one valid signature is enough.
                continue
        return signers[-1], (yield from self._zone(signers[-1]))

    def _zone(self, name: dns.name.Name) -> Steps[Zone]:
        """A zone's proven keys; raises `Unsigned` if its delegation is proven to have no usable DS."""
        self._budget.step()
        if failed := self._failed.get(name):
            raise type(failed)(str(failed))
        try:
            zone = self._remembered(name) or (yield from self._prove_zone(name))
        except (Broken, Exceeded) as error:
            # Only once: if every name above is listed as a signer, each would be tried again for every other.
            self._failed[name] = error
            raise
        self.chain = zone.chain
        return zone

    def _prove_zone(self, name: dns.name.Name) -> Steps[Zone]:
        chain, digests, until, delegated = yield from self._delegation(name)
        usable = usable_digests(digests, self._policy)
        if not usable:
            why = f"{name} has DS records only of algorithms that are not known here"
            if delegated is None:
                raise Unsigned(Insecure(why, self.seconds_left(until), None))
            raise self._cut(name, why, delegated)
        reply = yield from self.ask(name, DNSKEY)
        try:
            zone = self._zone_by(reply, name, chain, usable, until)
        except Broken as broken:
            # Not sooner: one resolver may lie. Not without a proven DS either: strangers can name any signer.
            if self._again:
                self._known.put_broken(name, BrokenZone(str(broken), chain), self._now)
            raise
        # For this walk, too: what may not be cached at all is still valid for this walk.
        self._zones[name] = zone
        self._known.put(name, zone, self._now)
        return zone

    def _zone_by(
        self, reply: Reply, name: dns.name.Name, chain: tuple[Link, ...], usable: list[DsRecord], until: int
    ) -> Zone:
        """The zone whose DNSKEY records are in an answer, if one of its usable DS records names one of them."""
        found = reply.answer.find(name, DNSKEY)
        if found is None:
            raise Broken(f"{name} has a DS but no DNSKEY")
        keys = usable_keys(found.records, self._policy)
        entries = vouched_for(name, keys, usable, self._budget)
        trusted = usable_keys(entries, self._policy)
        signature, key = find_signature(found, name, trusted, self._now, self._policy, self._budget)
        if is_expanded(name, signature):
            raise _not_a_wildcards(found)
        digest = entries[key]
        link = Link(str(name), int(digest.digest_type), digest.digest.hex(), _window(signature))
        return Zone(keys, (*chain, link), min(until, self._end(found, signature)))

    def _delegation(
        self, name: dns.name.Name
    ) -> Steps[tuple[tuple[Link, ...], tuple[DsRecord, ...], int, Proof | None]]:
        """The chain above a zone, the DS records of its keys, until when they are valid, and the proof."""
        self._anchor(name)
        if name in self._anchors.zones:
            return (), self._anchors.zones[name], self._until, None
        reply = yield from self.ask(name, DS)
        found = reply.answer.find(name, DS)
        if found is None:
            self._end_at_cut(name, (yield from self.deny(reply, name, DS)))
            raise Broken(f"{name} is not a zone of its own, but a signature names it as its signer")
        proof = yield from self.prove(found)
        return proof.chain, tuple(it for it in found.records if isinstance(it, DsRecord)), proof.until, proof

    def _end_at_cut(self, name: dns.name.Name, denied: Denied) -> None:
        """Raises `Unsigned` if the denial of a name's DS says that the name is delegated, or may be."""
        if denied.denial.is_cut or denied.denial.opt_out:
            raise self._cut(name, f"{name} has no DS record in the zone above it", denied.proof)

    def _cut(self, name: dns.name.Name, why: str, proof: Proof) -> Unsigned:
        self._known.put_cut(name, Cut(why, proof), self._now)
        return self.unsigned(why, name, DS, proof)

    def _end(self, found: Signed, signature: RrsigRecord) -> int:
        """When an RRset that this signature proves expires (RFC 4035 §5.3.3)."""
        rest = seconds_left(signature, self._now, self._policy)
        return self._now + min(found.ttl, signature.original_ttl, rest)


def place_of(name: dns.name.Name, rdtype: RdataType) -> dns.name.Name:
    """The name whose zone has records of this type for `name`: a zone's DS is in the zone above it (RFC 4035 §2.4)."""
    return name.parent() if rdtype == DS and name != dns.name.root else name


def _denied_by(records: ProvenDenials, name: dns.name.Name, rdtype: RdataType, hashes: Hashes) -> Denied | None:
    denial = records.absence(name, rdtype, hashes)
    if denial is None or records.signature is None:
        return None
    return Denied(Proof(records.chain, records.signature, records.until, denial), denial, records)


def _signers(sets: list[Signed], place: dns.name.Name, anchor: dns.name.Name) -> list[dns.name.Name]:
    """The signers that may sign for `place`, the nearest first; none above its anchor."""
    signers = {it.signer for found in sets for it in found.signatures}
    may = [it for it in signers if place.is_subdomain(it) and it.is_subdomain(anchor)]
    if len(may) > MAX_SIGNERS:
        raise Exceeded(f"more than {MAX_SIGNERS} zones are said to have signed something at {place}")
    return sorted(may, key=len, reverse=True)


def _not_a_wildcards(found: Signed) -> Broken:
    return Broken(f"{found.what} is signed as a wildcard's, which it cannot be")


def _downwards(above: dns.name.Name, name: dns.name.Name) -> Iterator[dns.name.Name]:
    """The names from directly below `above` down to `name`."""
    return (name.split(length)[1] for length in range(len(above) + 1, len(name) + 1))


def _window(signature: RrsigRecord) -> SignatureWindow:
    return SignatureWindow(int(signature.algorithm), signature.key_tag, signature.inception, signature.expiration)
