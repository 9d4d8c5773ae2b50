"""Cases for NSEC3 with more iterations than validators accept (RFC 9276 §3.2)."""

from dns.rdatatype import DS, TXT
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Gives, Status
from tests.dnssec.recipe import Denial, Maker, Recipe

_LIMIT = 150
"""What validators agreed upon in 2021; a zone beyond it counts as unsigned wherever it has to prove an absence."""
_ITERATIONS = (51, 150, 151, 501)
_ASKED = (
    ("records", "www", TXT, Gives.RECORDS, False),
    ("no such name", "nothing", TXT, Gives.NXDOMAIN, True),
    ("wildcard", "any.wild", TXT, Gives.RECORDS, True),
    ("unsigned delegation, DS", "insecure", DS, Gives.NODATA, True),
)


def _origin(iterations: int) -> str:
    return f"iterations-{iterations}.example."


RECIPES = [
    recipe
    for iterations in _ITERATIONS
    for recipe in (
        Recipe(_origin(iterations), SMALL, Maker.KNOT, Denial("nsec3", salt_bytes=4, iterations=iterations)),
        Recipe(f"insecure.{_origin(iterations)}", SMALL, Maker.KNOT, keys=()),
    )
]
CASES = [
    Case(
        _origin(iterations), title, asked, rdtype, gives,
        Status.INSECURE if denies and iterations > _LIMIT else Status.SECURE,
        "an absence has to be proven by NSEC3" if denies else "nothing has to be denied",
    )
    for iterations in _ITERATIONS
    for title, asked, rdtype, gives, denies in _ASKED
]  # fmt: skip
