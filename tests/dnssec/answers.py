"""Cases for all kinds of answers and all kinds of denial, from zones signed and served by BIND and Knot."""

from dataclasses import replace
from typing import NamedTuple

from dns.rdatatype import CNAME, DNAME, DNSKEY, DS, MX, TXT, RdataType
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.ds import wrong_ds
from tests.dnssec.recipe import NSEC, NSEC3, OPT_OUT, SALTED, Maker, Recipe

SMALL = """\
www            TXT    "here"
www            A      192.0.2.1
*.wild         TXT    "from a wildcard"
"""
_TEXT = f"""\
{SMALL}
exact.wild     A      192.0.2.2
leaf.ent       TXT    "below an empty non-terminal"
alias          CNAME  www
twice          CNAME  alias
dangling       CNAME  nothing
barren         CNAME  exact.wild
*.stars        CNAME  www
far            CNAME  www.signed.example.
out            CNAME  www.unsigned.example.
astray         CNAME  www.broken.example.
old            DNAME  new
www.new        TXT    "under its new name"
through        CNAME  www.old
moved          DNAME  signed.example.
left           DNAME  unsigned.example.
LOUD           CNAME  WWW
strange        TYPE65400  \\# 3 abcdef
{"".join(f'large TXT "{number:0200}"' + chr(10) for number in range(16))}
"""


_STRANGE = RdataType.make(65_400)


class Row(NamedTuple):
    """A question to every zone, and what is expected."""

    title: str
    asked: str
    rdtype: RdataType
    gives: Gives
    expected: Status
    why: str
    opted_out: str = ""
    """Why it is insecure in a zone with opt-out."""
    differs: Differs | None = None
    """What delv finds there."""
    unbound: Differs | None = None
    """What unbound finds, in whatever zone."""


HIDDEN = "an opt-out span covers the name, and an unsigned delegation may hide there (RFC 5155 §9.2)"
UNDENIED = "the wildcard stands only where nothing else is, which an opt-out span does not prove (RFC 5155 §9.2)"
_NO_DS = "the proof is an opt-out span, which covers what it does not name (RFC 5155 §9.2)"
ABSENT = Differs(Status.SECURE, "takes the absence for proven, whether or not the span has opt-out")

ROWS = (
    Row("records", "www", TXT, Gives.RECORDS, Status.SECURE, "signed, and the chain leads to the key"),
    Row("records at the apex", "@", DNSKEY, Gives.RECORDS, Status.SECURE, "a DS vouches for the key that signed them"),
    Row("records of a type that has no name", "strange", _STRANGE, Gives.RECORDS, Status.SECURE,
        "what is not known is signed as it stands (RFC 3597 §7)"),
    Row("records that no datagram holds", "large", TXT, Gives.RECORDS, Status.SECURE, "asked for again over TCP"),
    Row("no data", "www", MX, Gives.NODATA, Status.SECURE, "the name's own NSEC or NSEC3 does not list the type"),
    Row("no data at the apex", "@", MX, Gives.NODATA, Status.SECURE,
        "the NSEC or NSEC3 of the zone's own name does not list the type"),
    Row("no such name", "nothing", TXT, Gives.NXDOMAIN, Status.SECURE,
        "neither the name nor a wildcard for it is there", HIDDEN, ABSENT),
    Row("no such name, three labels down", "a.b.nothing", TXT, Gives.NXDOMAIN, Status.SECURE,
        "the closest encloser is the zone itself", HIDDEN, ABSENT),
    Row("wildcard", "any.wild", TXT, Gives.RECORDS, Status.SECURE,
        "the signature has fewer labels, and the name itself is denied", UNDENIED),
    Row("wildcard, three labels for one", "a.b.c.wild", TXT, Gives.RECORDS, Status.SECURE,
        "a wildcard stands for any number of labels", UNDENIED),
    Row("wildcard by its own name", "*.wild", TXT, Gives.RECORDS, Status.SECURE, "asked by that name it is a record"),
    Row("wildcard, no data", "any.wild", MX, Gives.NODATA, Status.SECURE,
        "the name is denied, and the wildcard does not have the type", HIDDEN, ABSENT),
    Row("a name beside a wildcard", "exact.wild", TXT, Gives.NODATA, Status.SECURE,
        "a name that is there keeps the wildcard away"),
    Row("no such name below a name that keeps a wildcard away", "a.exact.wild", TXT, Gives.NXDOMAIN, Status.SECURE,
        "the closest encloser is that name, and it has no wildcard", HIDDEN, ABSENT),
    Row("empty non-terminal", "ent", TXT, Gives.NODATA, Status.SECURE,
        "a name with names below it is there, without records (RFC 8020)"),
    Row("no such name below an empty non-terminal", "nothing.ent", TXT, Gives.NXDOMAIN, Status.SECURE,
        "the closest encloser has no records", HIDDEN, ABSENT),
    Row("empty non-terminal above an unsigned delegation only", "hollow", TXT, Gives.NODATA, Status.SECURE,
        "a name with names below it is there, though opt-out may leave it out (RFC 5155 §7.1)",
        HIDDEN, ABSENT),
    Row("alias", "alias", TXT, Gives.RECORDS, Status.SECURE, "each link is signed"),
    Row("alias of an alias", "twice", TXT, Gives.RECORDS, Status.SECURE, "each link is signed"),
    Row("alias itself", "alias", CNAME, Gives.RECORDS, Status.SECURE, "asked for, it is a record"),
    Row("alias in capital letters", "loud", TXT, Gives.RECORDS, Status.SECURE,
        "what is signed is the canonical form, in small letters (RFC 4034 §6.2)"),
    Row("alias to no data", "barren", TXT, Gives.NODATA, Status.SECURE, "the link is signed, the absence proven"),
    Row("alias to no such name", "dangling", TXT, Gives.NXDOMAIN, Status.SECURE,
        "the link is signed, the absence proven", HIDDEN, ABSENT),
    Row("alias by a wildcard", "any.stars", TXT, Gives.RECORDS, Status.SECURE,
        "the link comes of a wildcard, and the name itself is denied", UNDENIED),
    Row("alias into another signed zone", "far", TXT, Gives.RECORDS, Status.SECURE, "each link in its own zone"),
    Row("alias into an unsigned zone", "out", TXT, Gives.RECORDS, Status.INSECURE,
        "a chain is no better than its weakest link"),
    Row("alias into a broken zone", "astray", TXT, Gives.RECORDS, Status.BOGUS,
        "a chain is no better than its weakest link"),
    Row("alias into a DNAME", "through", TXT, Gives.RECORDS, Status.SECURE, "the CNAME and the DNAME are signed"),
    Row("DNAME", "www.old", TXT, Gives.RECORDS, Status.SECURE,
        "the DNAME is signed; the CNAME made of it is not, and follows from it (RFC 6672 §5.3.1)"),
    Row("alias that a DNAME makes, itself", "www.old", CNAME, Gives.RECORDS, Status.SECURE,
        "it is not signed, and follows from the DNAME, which is (RFC 6672 §5.3.1)",
        unbound=Differs(Status.BOGUS, "looks for a signature on the alias")),
    Row("DNAME itself", "old", DNAME, Gives.RECORDS, Status.SECURE, "asked for, it is a record"),
    Row("DNAME to no such name", "nothing.old", TXT, Gives.NXDOMAIN, Status.SECURE,
        "the DNAME is signed, the absence proven", HIDDEN, ABSENT),
    Row("DNAME into another signed zone", "www.moved", TXT, Gives.RECORDS, Status.SECURE, "each link in its own zone"),
    Row("DNAME into an unsigned zone", "www.left", TXT, Gives.RECORDS, Status.INSECURE,
        "a chain is no better than its weakest link"),
    Row("signed delegation", "www.secure", TXT, Gives.RECORDS, Status.SECURE, "a DS leads to the child's keys"),
    Row("signed delegation, no such name", "nothing.secure", TXT, Gives.NXDOMAIN, Status.SECURE,
        "proven by the child, not by its parent", HIDDEN, ABSENT),
    Row("signed delegation, DS", "secure", DS, Gives.RECORDS, Status.SECURE, "a DS belongs to the parent"),
    Row("unsigned delegation", "www.insecure", TXT, Gives.RECORDS, Status.INSECURE,
        "the parent proves that there is no DS, if need be by an opt-out span (RFC 5155 §8.9)"),
    Row("unsigned delegation, no such name", "nothing.insecure", TXT, Gives.NXDOMAIN, Status.INSECURE,
        "the parent proves that there is no DS"),
    Row("unsigned delegation, no data", "www.insecure", MX, Gives.NODATA, Status.INSECURE,
        "the parent proves that there is no DS"),
    Row("unsigned delegation, DS", "insecure", DS, Gives.NODATA, Status.SECURE,
        "the parent proves that there is none", _NO_DS, ABSENT),
    Row("unsigned delegation below an empty non-terminal", "www.insecure.hollow", TXT, Gives.RECORDS, Status.INSECURE,
        "the parent proves that there is no DS, two labels down"),
    Row("broken delegation", "www.broken", TXT, Gives.RECORDS, Status.BOGUS, "the DS fits no key of the child"),
    Row("broken delegation, DS", "broken", DS, Gives.RECORDS, Status.SECURE,
        "the parent signed the DS, whatever it is worth"),
)  # fmt: skip


def _family(zone: Recipe) -> list[Recipe]:
    """A zone with the children that its answers lead to, all of one maker."""
    children = [
        Recipe("secure.", SMALL, denial=zone.denial),
        Recipe("broken.", SMALL, ds=wrong_ds),
        Recipe("insecure.", SMALL, keys=()),
        Recipe("insecure.hollow.", SMALL, keys=()),
    ]
    return [zone, *(replace(child, origin=child.origin + zone.origin, maker=zone.maker) for child in children)]


def _case(zone: Recipe, row: Row) -> Case:
    opted_out = zone.denial.opt_out and row.opted_out
    differs = {Peer.DELV: row.differs} if opted_out and row.differs else {}
    if row.unbound:
        differs[Peer.UNBOUND] = row.unbound
    return Case(
        zone.origin, row.title, row.asked, row.rdtype, row.gives,
        Status.INSECURE if opted_out else row.expected, row.opted_out if opted_out else row.why, differs,
    )  # fmt: skip


_ZONES = [
    Recipe(f"{maker.lower()}-{denial.label}.example.", _TEXT, maker, denial)
    for maker, denials in (
        (Maker.BIND, (NSEC, NSEC3, SALTED, OPT_OUT)),
        (Maker.KNOT, (NSEC, NSEC3, SALTED, OPT_OUT)),
        (Maker.KNOTD, (NSEC, NSEC3)),
    )
    for denial in denials
]
RECIPES = [
    Recipe("signed.example.", SMALL, Maker.KNOT),
    Recipe("unsigned.example.", SMALL, keys=()),
    Recipe("broken.example.", SMALL, ds=wrong_ds),
    *(recipe for zone in _ZONES for recipe in _family(zone)),
]
CASES = [_case(zone, row) for row in ROWS for zone in _ZONES]
