"""Every algorithm that a validator may be asked to check (RFC 8624 §3.1)."""

from dns.dnssectypes import Algorithm
from dns.rdatatype import MX, TXT
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.keys import Key
from tests.dnssec.recipe import NSEC, NSEC3, Maker, Recipe

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
)

RECIPES = [
    Recipe(
        f"{algorithm.name.lower()}-{maker.lower()}.example.", SMALL, maker,
        # The two names of RSASHA1 are there to tell which denial a zone may have (RFC 5155 §2).
        NSEC if algorithm is Algorithm.RSASHA1 else NSEC3 if algorithm is Algorithm.RSASHA1NSEC3SHA1 else denial,
        keys=(Key("only", algorithm, sep=True, ds=True),),
    )
    for algorithm in _ALGORITHMS
    for maker, denial in ((Maker.BIND, NSEC), (Maker.KNOT, NSEC3))
]  # fmt: skip
_SHA1 = {Peer.OURS: Differs(Status.INSECURE, "takes SHA-1 only where it is set so, as RFC 9905 asks")}
CASES = [
    Case(recipe.origin, title, asked, rdtype, gives, Status.SECURE, f"signed by {recipe.keys[0].algorithm.name}",
         _SHA1 if "SHA1" in recipe.keys[0].algorithm.name else {})
    for recipe in RECIPES
    for title, asked, rdtype, gives in _ASKED
]  # fmt: skip
