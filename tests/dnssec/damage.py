"""Cases for damaged zones: some of their answers are bogus, and the others must still be secure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from dns.rdatatype import CNAME, DNAME, DNSKEY, DS, MX, NSEC, NSEC3, RRSIG, SOA, TXT, RdataType
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.ds import no_ds, wrong_ds
from tests.dnssec.keys import ZSK
from tests.dnssec.recipe import NSEC as BY_NSEC
from tests.dnssec.recipe import NSEC3 as BY_NSEC3
from tests.dnssec.recipe import Change, Maker, Recipe
from tests.dnssec.tampering import (
    before_a_wrong_one,
    behind_a_wrong_one,
    denier_moved,
    dropped,
    flipped,
    lasting,
    moved,
    signatures,
    signed_by,
    together,
    without,
    without_denier,
    without_signatures,
)

_TEXT = f"""\
{SMALL}
other          TXT    "there"
claimed.wild   TXT    "there"
alias          CNAME  www
old            DNAME  wild
"""
_EVIL = "evil.example."


class Ask(NamedTuple):
    """A question to a damaged zone."""

    asked: str
    rdtype: RdataType
    gives: Gives
    expected: Status
    why: str
    differs: Mapping[Peer, Differs] = MappingProxyType({})


@dataclass(frozen=True)
class Damage:
    """A kind of damage: its name, how it is done, and the questions."""

    label: str
    recipe: Recipe
    asks: tuple[Ask, ...]
    child: Callable[[str], Change] | None = None
    """What is wrong with its unsigned child, by the zone's origin."""
    makers: tuple[Maker, Maker] = (Maker.KNOT, Maker.BIND)
    """Who signs and serves it with NSEC, and with NSEC3.

    A server hands out signatures and proofs only where it finds the zone signed: BIND looks for the apex's NSEC, Knot
    for the signature of the SOA.
    """


def _bogus(asked: str, rdtype: RdataType, why: str, gives: Gives = Gives.RECORDS, **differs: Differs) -> Ask:
    return Ask(asked, rdtype, gives, Status.BOGUS, why, {Peer(peer): found for peer, found in differs.items()})


def _in_its_parents_name(parent: str) -> Change:
    """A signature that does not hold, and one over the SOA, without which a server would keep it to itself."""
    return together(
        signed_by("@", SOA, parent, ZSK), signed_by("www", TXT, parent, ZSK), signatures("www", TXT, flipped)
    )


_PENDING = Differs(
    Status.INDETERMINATE, 'finds the denial proven and the SOA not, and says "signed answer, pending validation"'
)
_STUCK = Differs(
    Status.INDETERMINATE, "asks for a DS at the alias, is given the alias again, and gives up after twelve seconds"
)
_HASTY = Differs(Status.BOGUS, "tries the signature before it looks for a delegation")
_WWW = Ask("www", TXT, Gives.RECORDS, Status.SECURE, "what is whole is believed")
DAMAGES = (
    Damage("expired", Recipe("", days=(-60, -30)), (
        _bogus("www", TXT, "the signatures were valid until a month ago"),
        _bogus("nothing", TXT, "the signatures were valid until a month ago", Gives.NXDOMAIN),
    )),
    Damage("too-new", Recipe("", days=(30, 60)), (
        _bogus("www", TXT, "the signatures will be valid in a month"),
        _bogus("nothing", TXT, "the signatures will be valid in a month", Gives.NXDOMAIN),
    )),
    Damage("unsigned-records", Recipe("", change=signatures("www", TXT, dropped)), (
        _bogus("www", TXT, "no signature, where the zone is signed"),
        Ask("other", TXT, Gives.RECORDS, Status.SECURE, "what is whole is believed"),
    )),
    Damage("unsigned-keys", Recipe("", change=signatures("@", DNSKEY, dropped)), (
        _bogus("www", TXT, "the keys are not signed by the key that the DS names"),
    )),
    Damage("unsigned-all", Recipe("", change=without(RRSIG, NSEC, NSEC3)), (
        _bogus("www", TXT, "nothing is signed, where a DS is"),
        _bogus("nothing", TXT, "nothing is signed, where a DS is", Gives.NXDOMAIN),
    )),
    Damage("unsigned-denial", Recipe("", change=without_signatures(NSEC, NSEC3)), (
        _WWW,
        _bogus("nothing", TXT, "what denies the name is not signed", Gives.NXDOMAIN),
        _bogus("www", MX, "what denies the type is not signed", Gives.NODATA),
        _bogus("any.wild", TXT, "what denies the name itself is not signed"),
    )),
    Damage("unsigned-soa", Recipe("", change=signatures("@", SOA, dropped)), (
        _bogus("nothing", TXT, "the SOA that comes with the proof is not signed", Gives.NXDOMAIN, delv=_PENDING),
        _bogus("www", MX, "the SOA that comes with the proof is not signed", Gives.NODATA, delv=_PENDING),
    ), makers=(Maker.BIND, Maker.BIND)),
    Damage("unsigned-alias", Recipe("", change=signatures("alias", CNAME, dropped)), (
        _bogus("alias", TXT, "the link is not signed, though its end is", delv=_STUCK),
    )),
    Damage("unsigned-dname", Recipe("", change=signatures("old", DNAME, dropped)), (
        _bogus("a.old", TXT, "the DNAME is not signed, though its end is"),
    )),
    Damage("no-denial", Recipe("", change=without(NSEC, NSEC3)), (
        _WWW,
        _bogus("nothing", TXT, "nothing denies the name", Gives.NXDOMAIN),
        _bogus("www", MX, "nothing denies the type", Gives.NODATA),
        _bogus("any.wild", TXT, "nothing denies the name itself, for which the wildcard stands"),
        _bogus("www.insecure", TXT, "nothing denies the DS"),
        _bogus("insecure", DS, "nothing denies the DS", Gives.NODATA),
    )),
    Damage("stripped-wildcard", Recipe("", change=without_denier("*")), (
        Ask("www", MX, Gives.NODATA, Status.SECURE, "what is whole is believed"),
        _bogus("nothing", TXT, "nothing denies the wildcard that could stand for the name", Gives.NXDOMAIN),
    )),
    Damage("stripped-delegation", Recipe("", change=without_denier("insecure")), (
        _WWW,
        _bogus("www.insecure", TXT, "nothing denies the DS"),
        _bogus("insecure", DS, "nothing denies the DS", Gives.NODATA),
    )),
    Damage("swapped-denial", Recipe("", change=denier_moved("www", "other")), (
        Ask("other", TXT, Gives.RECORDS, Status.SECURE, "what is whole is believed"),
        _bogus("other", MX, "proof and signature are those of another name", Gives.NODATA),
    )),
    Damage("flipped", Recipe("", change=signatures("www", TXT, flipped)), (
        _bogus("www", TXT, "the signature has a bit changed"),
    )),
    Damage("good-then-wrong", Recipe("", change=signatures("www", TXT, before_a_wrong_one)), (
        Ask("www", TXT, Gives.RECORDS, Status.SECURE, "one signature that holds is enough (RFC 4035 §5.3.3)"),
    )),
    Damage("wrong-then-good", Recipe("", change=signatures("www", TXT, behind_a_wrong_one)), (
        Ask("www", TXT, Gives.RECORDS, Status.SECURE, "one signature that holds is enough (RFC 4035 §5.3.3)",
            {Peer.DELV: Differs(Status.BOGUS, "gives up at the first signature that does not hold, against KeyTrap")}),
    )),
    Damage("swapped-owner", Recipe("", change=moved("www", "other", TXT)), (
        _bogus("other", TXT, "records and signature are those of another name"),
    )),
    Damage("wildcard-for-a-name", Recipe("", change=moved("*.wild", "claimed.wild", TXT)), (
        _bogus("claimed.wild", TXT, "the wildcard's signature holds, but the name is there and is not denied"),
    )),
    Damage("signed-by-stranger", Recipe("", change=signed_by("www", TXT, _EVIL, ZSK)), (
        _bogus("www", TXT, "the signer is a zone beside this one"),
    )),
    Damage("signed-by-stranger-too", Recipe("", change=signed_by("www", TXT, _EVIL, ZSK, beside=True)), (
        Ask("www", TXT, Gives.RECORDS, Status.SECURE, "one signature that holds is enough, whoever else signed",
            {Peer.UNBOUND: Differs(Status.BOGUS, "takes the first signature's signer for that of all")}),
    )),
    Damage("signed-by-parent", Recipe("", change=signed_by("www", TXT, "example.", ZSK)), (
        Ask("www", TXT, Gives.RECORDS, Status.SECURE,
            "RFC 4035 §5.3.1 wants the zone's own key, but a parent can put its own keys there at any time"),
    )),
    Damage("signed-by-child", Recipe("", change=signed_by("www", TXT, "child", ZSK)), (
        _bogus("www", TXT, "the signer is a zone below this one"),
    )),
    Damage("claimed-for-parent", Recipe(""), (
        Ask("www.insecure", TXT, Gives.RECORDS, Status.INSECURE,
            "the parent proves that there is no DS, whatever signature in its name is there and does not hold",
            {Peer.UNBOUND: _HASTY, Peer.DELV: _HASTY}),
    ), child=_in_its_parents_name, makers=(Maker.BIND, Maker.BIND)),
    Damage("keys-signed-by-parent", Recipe("", change=signed_by("@", DNSKEY, "example.", ZSK)), (
        _bogus("www", TXT, "the keys are signed, but not by the key that the DS names"),
    )),
    Damage("no-keys", Recipe("", change=without(DNSKEY)), (
        _bogus("www", TXT, "a DS leads here, but to no keys"),
    )),
    Damage("longer-ttl", Recipe("", change=lasting("www", TXT, 86_400)), (
        Ask("www", TXT, Gives.RECORDS, Status.SECURE, "no longer than the signature says (RFC 4035 §5.3.3)"),
    )),
    Damage("wrong-ds", Recipe("", ds=wrong_ds), (
        _bogus("www", TXT, "the DS has a bit changed"),
        _bogus("nothing", TXT, "the DS has a bit changed", Gives.NXDOMAIN),
    )),
    Damage("no-ds", Recipe("", ds=no_ds), (
        Ask("www", TXT, Gives.RECORDS, Status.INSECURE, "signed, but no DS leads here: an island"),
        Ask("nothing", TXT, Gives.NXDOMAIN, Status.INSECURE, "signed, but no DS leads here: an island"),
    )),
)  # fmt: skip


def _zones(damage: Damage) -> list[Recipe]:
    """The zone by NSEC and by NSEC3, each with an unsigned child."""
    zones = []
    for maker, denial in zip(damage.makers, (BY_NSEC, BY_NSEC3), strict=True):
        whole = replace(damage.recipe, maker=maker, denial=denial)
        origin = f"{damage.label}-{denial.label}.example."
        child = Recipe(f"insecure.{origin}", SMALL, maker, keys=())
        if damage.child:
            # BIND hands out no signature of a zone without keys.
            child = replace(child, maker=Maker.KNOT, change=damage.child(origin))
        zones += [whole.at(origin, _TEXT), child]
    return zones


def _cases(damage: Damage, origin: str) -> list[Case]:
    return [
        Case(origin, f"{asked} {rdtype.name}", asked, rdtype, gives, expected, why, differs)
        for asked, rdtype, gives, expected, why, differs in damage.asks
    ]


RECIPES = [Recipe(_EVIL, SMALL), *(zone for damage in DAMAGES for zone in _zones(damage))]
CASES = [case for damage in DAMAGES for zone in _zones(damage) if zone.keys for case in _cases(damage, zone.origin)]
