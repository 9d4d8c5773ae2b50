"""Checks of the domain's zone: signed, with keys in the parent zone's DS records, with signatures that are valid for
long.

The SOA record at the domain is looked up. If it is proven, or proven not to exist (the domain is then a name in a zone
above it), everything on the way is proven. If it is bogus, the DS and the DNSKEY records say more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from postroom.core.errors import NotNowError
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.doctor.checks import DoctorCheck, bad, good, not_found_out, skipped, warning
from postroom.doctor.expiry import Term, runs_out, time_left
from postroom.names.dnssec import Absent, Bogus, EndlessAlias, Evidence, Indeterminate, Insecure, Secure, Verdict
from postroom.names.dnssec.evidence import SignatureWindow, algorithm_name, digest_name, zones
from postroom.protocols.nlweb.reasons import DNSSEC_BOGUS, KEY_NOT_FOUND, SENDER_NOT_SIGNED

FEW_DAYS: Final = 2
"""BIND re-signs five days before the end, Knot (3.2) only an hour before caches might outlast it.

So this is a warning that may disappear by itself.
"""

NOT_CONFIRMED: Final = "the zone could not be confirmed"
"""Why no record in a zone is checked that is not good."""

_TIMES: Final = 2**32
"""Times of signatures wrap around (RFC 4034 §3.1.5)."""
_SIGN: Final = "sign the zone, and publish its DS record in the parent zone, through its registrar"
_ELSEWHERE: Final = "or use another resolver (--resolver), if it is good for others"

_CHANGED: Final = (
    "use another resolver (--resolver): this one, or a proxy in front of it, removes DNSSEC's records or answers "
    "itself; if none helps, check the trust anchor"
)


@dataclass(frozen=True, slots=True)
class ZoneFound:
    """The verdicts on the SOA record at the domain and, if that is bogus, on its DS and DNSKEY records."""

    domain: str
    soa: Verdict
    ds: Verdict | None = None
    dnskey: Verdict | None = None

    @property
    def is_good(self) -> bool:
        """Whether there can be proven records below the domain (RFC 8020: not if there is no such name)."""
        return isinstance(self.soa, Secure) or (isinstance(self.soa, Absent) and self.soa.kind == "nodata")


class _Lasting(NamedTuple):
    what: str
    term: Term


def judge_zone(found: ZoneFound, others: Iterable[Verdict], now: float) -> Iterator[DoctorCheck]:
    """The checks `delegation`, `ds`, and `signatures`: of the zone, and of `others` that were looked up in it."""
    delegation = _delegation(found)
    yield delegation
    keys = _keys(found) if delegation.is_good else skipped("ds", "the delegation could not be confirmed")
    yield keys
    if keys.is_good:
        yield _signatures(found, others, now)
    else:
        yield skipped("signatures", "its keys could not be confirmed")


def _delegation(found: ZoneFound) -> DoctorCheck:
    name, domain = "delegation", found.domain
    # A proven DS shows that the delegation is good, though the zone below is not.
    if isinstance(found.soa, Bogus) and isinstance(found.ds, Secure):
        return good(name, f"there is a DS record for {domain} in the zone above it, {_chain(found.ds.evidence)}")
    match found.ds if isinstance(found.soa, Bogus) and found.ds else found.soa:
        case Absent("nxdomain"):
            todo = "check the spelling; or register the domain and set up its zone"
            return bad(name, KEY_NOT_FOUND, f"it is proven that there is no name {domain}", todo)
        case Secure(evidence=evidence) | Absent(evidence=evidence):
            return good(name, f"{_place(domain, evidence)}: {_chain(evidence)}")
        case Insecure(why):
            return bad(name, SENDER_NOT_SIGNED, why, _SIGN)
        case EndlessAlias(why):
            return bad(name, KEY_RECORD_INVALID, why, "break the loop of aliases")
        case Indeterminate(reason, why):
            return not_found_out(name, NotNowError(reason, why))
        case Bogus(why, chain=()):
            return bad(name, DNSSEC_BOGUS, f"{why}: not even the keys of the trust anchor are proven", _CHANGED)
        case Bogus(why):
            return bad(name, DNSSEC_BOGUS, why, f"tell the operators of the parent zone; {_ELSEWHERE}")


def _keys(found: ZoneFound) -> DoctorCheck:
    name = "ds"
    match found.dnskey if isinstance(found.soa, Bogus) and found.dnskey else found.soa:
        case Secure(evidence=evidence) | Absent(evidence=evidence):
            link = evidence.chain[-1]
            digest = f"{digest_name(link.digest_type)} {link.digest[:16]}…"
            key = f"{algorithm_name(link.keys.algorithm)} key {link.keys.key_tag}"
            return good(name, f"{digest} is that of {key} of {link.zone}")
        case Indeterminate(reason, why):
            return not_found_out(name, NotNowError(reason, why))
        case Insecure(why) | Bogus(why) | EndlessAlias(why):
            todo = "publish in the parent zone the DS of a key that is in the zone and signs its keys"
            return bad(name, DNSSEC_BOGUS, why, todo)


def _signatures(found: ZoneFound, others: Iterable[Verdict], now: float) -> DoctorCheck:
    name = "signatures"
    if isinstance(found.soa, Bogus):
        return bad(name, DNSSEC_BOGUS, found.soa.why, f"sign the zone again; {_ELSEWHERE}")
    lasting = [one for verdict in (found.soa, *others) for one in _lasting(verdict, now)]
    ending = [one for one in lasting if runs_out(one.term, now, FEW_DAYS)]
    first = min(ending or lasting, key=lambda one: one.term.ends)
    detail = f"the first to end is that of {first.what}, in {time_left(first.term, now)}"
    if ending:
        return warning(name, detail, "check whether the zone's signer will renew it in time, or sign the zone again")
    return good(name, detail)


def _lasting(verdict: Verdict, now: float) -> Iterator[_Lasting]:
    """The signatures of the zone itself: over its keys, and over the records or their absence."""
    if not isinstance(verdict, Secure | Absent):
        return
    evidence, link = verdict.evidence, verdict.evidence.chain[-1]
    absence = "the absence of " if isinstance(verdict, Absent) else ""
    yield _Lasting(f"{link.zone} DNSKEY", _term(link.keys, now))
    yield _Lasting(f"{absence}{evidence.owner} {evidence.rdtype}", _term(evidence.signed, now))


def _term(window: SignatureWindow, now: float) -> Term:
    """The validity of a signature, by serial number arithmetic (RFC 1982 §3.2)."""
    ends = now + (window.expiration - int(now) + _TIMES // 2) % _TIMES - _TIMES // 2
    return Term(ends - (window.expiration - window.inception) % _TIMES, ends)


def _place(domain: str, evidence: Evidence) -> str:
    zone = evidence.chain[-1].zone
    if evidence.aliases:
        return f"{domain} leads to {evidence.owner} in the zone {zone}"
    return f"{zone} is signed" if zone == f"{domain}." else f"{domain} is in the zone {zone}, which is signed"


def _chain(evidence: Evidence) -> str:
    return f"proven by {zones(evidence.chain)}"
