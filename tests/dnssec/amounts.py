"""Cases at our limits: long chains of aliases, and sets with many records."""

from typing import NamedTuple

from dns.rdatatype import TXT, A
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.recipe import NSEC, NSEC3, Maker, Recipe

from postroom.names.dnssec.rrsets import MAX_RECORDS
from postroom.names.dnssec.walk import MAX_ALIASES

# Each link is of a wildcard, so that each needs a proof of its own that nothing closer is there.
_LINKS = "".join(f"*.link{left} CNAME any.link{left - 1}\n" for left in range(2, MAX_ALIASES + 2))


def _hosts(owner: str, records: int) -> str:
    return "".join(f"{owner} A 192.0.2.{number}\n" for number in range(1, records + 1))


_TEXT = f"""\
{SMALL}
*.link1        CNAME  www
{_LINKS}{_hosts("many", MAX_RECORDS)}{_hosts("more", MAX_RECORDS + 1)}"""


class Row(NamedTuple):
    """A question to every zone, and what is expected."""

    title: str
    asked: str
    why: str
    ours: Differs | None = None


_ROWS = (
    Row(f"{MAX_ALIASES} aliases, each by a wildcard", f"any.link{MAX_ALIASES}", "each link is signed and proven"),
    Row(f"{MAX_ALIASES + 1} aliases", f"any.link{MAX_ALIASES + 1}", "each link is signed and proven",
        Differs(Status.INDETERMINATE, f"follows {MAX_ALIASES}")),
    Row(f"{MAX_RECORDS} records", "many", "signed, and the chain leads to the key"),
    Row(f"{MAX_RECORDS + 1} records", "more", "signed, and the chain leads to the key",
        Differs(Status.INDETERMINATE, f"looks into sets of {MAX_RECORDS}")),
)  # fmt: skip


def _signed(zone: Recipe, row: Row) -> Case:
    rdtype = A if row.asked in ("many", "more") else TXT
    differs = {Peer.OURS: row.ours} if row.ours else {}
    return Case(zone.origin, row.title, row.asked, rdtype, Gives.RECORDS, Status.SECURE, row.why, differs)


_SIGNED = (
    Recipe("amounts-nsec.example.", _TEXT, Maker.KNOT, NSEC),
    Recipe("amounts-nsec3.example.", _TEXT, Maker.BIND, NSEC3),
)
_UNSIGNED = Recipe("amounts-unsigned.example.", _TEXT, Maker.KNOT, keys=())
RECIPES = [*_SIGNED, _UNSIGNED]
CASES = [
    *(_signed(zone, row) for row in _ROWS for zone in _SIGNED),
    Case(_UNSIGNED.origin, f"{MAX_RECORDS + 1} records", "more", A, Gives.RECORDS, Status.INSECURE,
         "the parent proves that there is no DS, however much there is"),
]  # fmt: skip
