"""Cases for a zone that Knot signs online, with compact denials (RFC 9824)."""

from dns.rdatatype import CNAME, DS, MX, TXT, RdataType
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Gives, Status
from tests.dnssec.recipe import COMPACT, Maker, Recipe

_TEXT = f"""\
{SMALL}
leaf.ent       TXT    "below an empty non-terminal"
alias          CNAME  www
dangling       CNAME  nothing
*.stars        CNAME  www
old            DNAME  new
www.new        TXT    "under its new name"
"""
_THERE = "of each name it is said that it is there, also of those that are not"
_ROWS: tuple[tuple[str, str, RdataType, Gives, Status, str], ...] = (
    ("records", "www", TXT, Gives.RECORDS, Status.SECURE, "signed, and the chain leads to the key"),
    ("no data", "www", MX, Gives.NODATA, Status.SECURE, "the name's own NSEC does not list the type"),
    ("no such name", "nothing", TXT, Gives.NODATA, Status.SECURE, _THERE),
    ("no such name, three labels down", "a.b.nothing", TXT, Gives.NODATA, Status.SECURE, _THERE),
    ("wildcard", "any.wild", TXT, Gives.RECORDS, Status.SECURE, "signed as if it stood there by itself"),
    ("wildcard, no data", "any.wild", MX, Gives.NODATA, Status.SECURE, _THERE),
    ("empty non-terminal", "ent", TXT, Gives.NODATA, Status.SECURE, "a name with names below it is there"),
    ("alias", "alias", TXT, Gives.RECORDS, Status.SECURE, "each link is signed"),
    ("alias itself", "alias", CNAME, Gives.RECORDS, Status.SECURE, "asked for, it is a record"),
    ("alias to no such name", "dangling", TXT, Gives.NODATA, Status.SECURE, _THERE),
    ("alias by a wildcard", "any.stars", TXT, Gives.RECORDS, Status.SECURE, "signed as if it stood there by itself"),
    ("DNAME", "www.old", TXT, Gives.RECORDS, Status.SECURE, "the DNAME is signed"),
    ("signed delegation", "www.secure", TXT, Gives.RECORDS, Status.SECURE, "a DS leads to the child's keys"),
    ("unsigned delegation", "www.insecure", TXT, Gives.RECORDS, Status.INSECURE,
     "the parent proves that there is no DS"),
    ("unsigned delegation, DS", "insecure", DS, Gives.NODATA, Status.SECURE, "the parent proves that there is none"),
)  # fmt: skip
_ORIGIN = "knotd-compact.example."

RECIPES = [
    Recipe(_ORIGIN, _TEXT, Maker.KNOTD, COMPACT),
    Recipe(f"secure.{_ORIGIN}", SMALL, Maker.KNOT),
    Recipe(f"insecure.{_ORIGIN}", SMALL, Maker.KNOT, keys=()),
]
CASES = [Case(_ORIGIN, *row) for row in _ROWS]
