"""The look-up of (name, type), proven from a trust anchor down. A sans-I/O state machine, and a call that runs it.

A walk is a generator: it yields a `Question`, is sent the answer, or the `NotNowError` of a failed question is thrown
in, and it returns a `Verdict`. It follows proven aliases from name to name, to the requested records or the proof that
they do not exist.
"""

from typing import Final, Literal, NamedTuple, TypedDict, Unpack

import dns.name
import dns.rdata
from dns.rdataclass import IN
from dns.rdatatype import CNAME, DNAME, SOA, RdataType

from postroom.core.errors import NotNowError
from postroom.core.steps import drive
from postroom.names.dns.question import Ask
from postroom.names.dns.records import CnameRecord, DnameRecord, SoaRecord
from postroom.names.dnssec.anchors import TrustAnchors
from postroom.names.dnssec.budget import Exceeded
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.proofs import BrokenBefore, Denied, Prover, Reply, Steps, Unsigned, place_of
from postroom.names.dnssec.proven import Proof
from postroom.names.dnssec.rrsets import Broken
from postroom.names.dnssec.verdicts import Absent, Bogus, EndlessAlias, Indeterminate, Secure, Verdict
from postroom.names.dnssec.zones import KnownZones
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY

MAX_ALIASES: Final = 8
"""CNAMEs and DNAMEs followed: at least as many as common resolvers follow; a key record needs one or two."""


class WalkOptions(TypedDict, total=False):
    """How a walk goes.

    `known`: what earlier walks have proven, from the same anchors with the same policy; this walk adds to it. `fresh`:
    ask even if an absence is known. `again`: use nothing that is known, and ask another resolver.
    """

    policy: Policy | None
    known: KnownZones | None
    fresh: bool
    again: bool


def validate(
    name: dns.name.Name,
    rdtype: RdataType,
    anchors: TrustAnchors,
    ask: Ask,
    now: float,
    **options: Unpack[WalkOptions],
) -> Verdict:
    """The verdict on (name, type), asked through `ask`; `now` in epoch seconds."""
    return drive(look_up(name, rdtype, anchors, now, **options), ask)


def look_up(
    name: dns.name.Name, rdtype: RdataType, anchors: TrustAnchors, now: float, **options: Unpack[WalkOptions]
) -> Steps[Verdict]:
    """A walk, and if it ends bogus, a second one: a zone may just have changed its keys, or a resolver may lie.

    If no server answers the second time, the verdict is indeterminate.
    """
    verdict = yield from walk(name, rdtype, anchors, now, **options)
    if isinstance(verdict, Bogus) and not verdict.is_certain:
        again: WalkOptions = {**options, "fresh": False, "again": True}
        verdict = yield from walk(name, rdtype, anchors, now, **again)
    return verdict


def walk(
    name: dns.name.Name, rdtype: RdataType, anchors: TrustAnchors, now: float, **options: Unpack[WalkOptions]
) -> Steps[Verdict]:
    """Walk the chain for (name, type), of class IN. `name` is absolute; `now` in epoch seconds."""
    policy, known = options.get("policy") or Policy(), options.get("known")
    fresh, again = options.get("fresh", False), options.get("again", False)
    prover = Prover(anchors, int(now), policy, KnownZones() if known is None else known, fresh=fresh, again=again)
    try:
        return (yield from _follow(prover, name, rdtype))
    except Unsigned as unsigned:
        return unsigned.verdict
    except Broken as broken:
        return Bogus(str(broken), prover.chain, again or isinstance(broken, BrokenBefore))
    except Exceeded as exceeded:
        return Indeterminate(DNSSEC_TOO_COSTLY, str(exceeded))
    except NotNowError as failed:
        return Indeterminate(failed.reason, failed.detail)


class _Alias(NamedTuple):
    """Where a name leads to, by a CNAME at it or a DNAME above it."""

    target: dns.name.Name
    owner: dns.name.Name
    proof: Proof


def _follow(prover: Prover, name: dns.name.Name, rdtype: RdataType) -> Steps[Verdict]:
    seen = {name}
    reply: Reply | None = None
    while True:
        # A resolver may follow an alias for us, or leave that to us.
        if reply is None or not (reply.answer.find(name, rdtype) or reply.answer.find(name, CNAME)):
            if denied := prover.recall(name, rdtype):
                return _absent(prover, name, rdtype, denied)
            reply = yield from prover.ask(name, rdtype)
        if rdtype == CNAME and (made := (yield from _made_by_dname(prover, reply, name, rdtype))):
            evidence = prover.evidence(made.owner, DNAME, made.proof)
            cname = dns.rdata.from_text(IN, CNAME, str(made.target))
            return Secure((cname,), prover.seconds_left(made.proof.until), evidence)
        if found := reply.answer.find(name, rdtype):
            proof = yield from prover.prove(found, reply)
            records = tuple(found.records)
            return Secure(records, prover.seconds_left(proof.until), prover.evidence(name, rdtype, proof))
        alias = (yield from _made_by_dname(prover, reply, name, rdtype)) or (yield from _cname(prover, reply, name))
        if alias is None:
            return (yield from _absence(prover, reply, name, rdtype))
        prover.pass_alias(name, alias.target, alias.proof)
        if alias.target in seen:
            return EndlessAlias(f"the alias {name} leads back to {alias.target}")
        if len(seen) > MAX_ALIASES:
            raise Exceeded(f"more than {MAX_ALIASES} aliases, the last one at {name}")
        name = alias.target
        seen.add(name)


def _made_by_dname(prover: Prover, reply: Reply, name: dns.name.Name, rdtype: RdataType) -> Steps[_Alias | None]:
    """The alias that a proven DNAME above `name` makes of it.

    It has no signature of its own (RFC 6672 §5.3.1), so the CNAME that comes with it is ignored.
    """
    found = prover.dname_above(reply, name, place_of(name, rdtype))
    if found is None:
        return None
    proof = yield from prover.prove(found)
    target = next(record.target for record in found.records if isinstance(record, DnameRecord))
    try:
        return _Alias(name.relativize(found.name).derelativize(target), found.name, proof)
    except dns.name.NameTooLong:
        raise Broken(f"{name} has no alias: what the DNAME at {found.name} makes of it is too long") from None


def _cname(prover: Prover, reply: Reply, name: dns.name.Name) -> Steps[_Alias | None]:
    found = reply.answer.find(name, CNAME)
    if not found:
        return None
    proof = yield from prover.prove(found, reply)
    return _Alias(next(it.target for it in found.records if isinstance(it, CnameRecord)), name, proof)


def _absence(prover: Prover, reply: Reply, name: dns.name.Name, rdtype: RdataType) -> Steps[Verdict]:
    denied = yield from prover.deny(reply, name, rdtype)
    if denied.denial.opt_out:
        why = f"{name} may be in a zone that is delegated unsigned (opt-out)"
        raise prover.unsigned(why, name, rdtype, denied.proof)
    seconds = prover.seconds_left(denied.proof.until)
    if soa := reply.authority.find(denied.records.signer, SOA):
        left = prover.seconds_left((yield from prover.prove(soa)).until)
        seconds = min(seconds, left, *(it.minimum for it in soa.records if isinstance(it, SoaRecord)))
    return _absent(prover, name, rdtype, prover.remember(denied, rdtype, seconds))


def _absent(prover: Prover, name: dns.name.Name, rdtype: RdataType, denied: Denied) -> Absent:
    kind: Literal["nxdomain", "nodata"] = "nxdomain" if denied.denial.no_name else "nodata"
    evidence = prover.evidence(name, rdtype, denied.proof)
    return Absent(kind, prover.seconds_left(denied.records.until), evidence)
