"""Cases for all algorithms of signatures (RFC 8624 §3.1)."""

from dns.dnssectypes import Algorithm
from dns.rdatatype import MX, TXT, RdataType
from tests.dnssec.answers import ABSENT, HIDDEN, SMALL, UNDENIED
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.keys import Key
from tests.dnssec.recipe import NSEC, NSEC3, OPT_OUT, Maker, Recipe

_ALGORITHMS = (
    Algorithm.RSASHA1,
    Algorithm.RSASHA1NSEC3SHA1,
    Algorithm.RSASHA256,
    Algorithm.RSASHA512,
    Algorithm.ECDSAP256SHA256,
    Algorithm.ECDSAP384SHA384,
    Algorithm.ED25519,
    Algorithm.ED448,
)
_ASKED = (
    ("records", "www", TXT, Gives.RECORDS),
    ("no data", "www", MX, Gives.NODATA),
    ("no such name", "nothing", TXT, Gives.NXDOMAIN),
    ("wildcard", "any.wild", TXT, Gives.RECORDS),
)
_MAKERS = ((Maker.BIND, NSEC), (Maker.KNOT, NSEC3), (Maker.KNOTD, OPT_OUT))

RECIPES = [
    Recipe(
        f"{algorithm.name.lower()}-{maker.lower()}.example.", SMALL, maker,
        # The two numbers of RSASHA1 determine which denial a zone may have (RFC 5155 §2).
        NSEC if algorithm is Algorithm.RSASHA1 else NSEC3 if algorithm is Algorithm.RSASHA1NSEC3SHA1 else denial,
        keys=(Key("only", algorithm, sep=True, ds=True),),
    )
    for algorithm in _ALGORITHMS
    for maker, denial in _MAKERS
]  # fmt: skip
_SHA1 = {Peer.OURS: Differs(Status.INSECURE, "takes SHA-1 only where it is set so, as RFC 9905 asks")}
_OPTED_OUT = {"no such name": HIDDEN, "wildcard": UNDENIED}


def _case(zone: Recipe, title: str, asked: str, rdtype: RdataType, gives: Gives) -> Case:
    why, expected, differs = f"signed by {zone.keys[0].algorithm.name}", Status.SECURE, {}
    if "SHA1" in why:
        differs = _SHA1
    elif zone.denial.opt_out and title in _OPTED_OUT:
        why, expected = f"{why}, but {_OPTED_OUT[title]}", Status.INSECURE
        differs = {Peer.DELV: ABSENT} if gives is Gives.NXDOMAIN else {}
    return Case(zone.origin, title, asked, rdtype, gives, expected, why, differs)


CASES = [_case(zone, *asked) for zone in RECIPES for asked in _ASKED]
