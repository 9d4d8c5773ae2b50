"""postroom's own DNS server says of a zone what BIND says of it, signatures and proofs included."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rrset
import pytest
from dns.rdatatype import CNAME, DNAME, MX, NS, NSEC, TXT, RdataType
from tests.dnssec.authorities import named
from tests.dnssec.recipe import Recipe
from tests.dnssec.servers import serving
from tests.patience import PATIENCE

from postroom.local.answers import answer
from postroom.local.ports import HOST
from postroom.local.zones import ZoneTree

pytestmark = [pytest.mark.xdist_group("dnssec"), pytest.mark.validators]

ZONE = "sender.example."
TEXT = f"""
www            TXT    "here"
*.wild         TXT    "from a wildcard"
exact.wild     TXT    "there"
leaf.ent       TXT    "below an empty non-terminal"
alias          CNAME  www
twice          CNAME  alias
dangling       CNAME  nothing
barren         CNAME  leaf.ent
*.stars        CNAME  www
*.more         CNAME  any.stars
*.lost         CNAME  nothing
*.thin         CNAME  leaf.ent
old            DNAME  new
www.new        TXT    "under its new name"
again.new      CNAME  www.old
back.new       CNAME  old
through        CNAME  www.old
wide           DNAME  stars
long           DNAME  {".".join(["l" * 60] * 3)}
"""
NAMES = (
    "@", "www", "nothing", "a.b.nothing",
    "any.wild", "a.b.wild", "*.wild", "exact.wild", "a.exact.wild", "ent", "nothing.ent",
    "alias", "twice", "dangling", "barren",
    "any.stars", "*.stars", "any.more", "any.lost", "any.thin",
    "old", "www.old", "nothing.old", "again.old", "back.old", "through", "any.wide", "a.b.wide",
    f"{'a' * 40}.long", f"{'a' * 60}.long",
)  # fmt: skip
TYPES = (TXT, MX, CNAME, DNAME, NSEC)


@pytest.fixture(scope="module")
def tree() -> ZoneTree:
    tree = ZoneTree()
    tree.put(ZONE, TEXT)
    return tree


@pytest.fixture(scope="module")
def port(programs: None, tree: ZoneTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where BIND serves the zone, as our tree has signed it."""
    file: Path = tmp_path_factory.mktemp("zones") / "zone"
    file.write_text(tree.zones()[dns.name.from_text(ZONE)].to_text(relativize=False))
    with serving(named({Recipe(ZONE): file})) as port:
        yield port


def as_text(section: Sequence[dns.rrset.RRset]) -> list[str]:
    """The records in text; their order and TTLs left aside, and name servers, which need not be told, left out."""
    sets = [it for it in section if NS not in (it.rdtype, it.covers)]
    return sorted(f"{it.name} {it.rdtype.name} {record}" for it in sets for record in it)


@pytest.mark.parametrize("rdtype", TYPES, ids=lambda rdtype: rdtype.name)
@pytest.mark.parametrize("relative", NAMES)
def test_an_answer_is_the_same_as_binds(port: int, tree: ZoneTree, relative: str, rdtype: RdataType) -> None:
    name = dns.name.from_text(relative, dns.name.from_text(ZONE))
    query = dns.message.make_query(name, rdtype, want_dnssec=True)
    theirs = dns.query.tcp(query, HOST, timeout=PATIENCE, port=port)
    ours = answer(tree.zones(), name, rdtype)
    assert ours.rcode == theirs.rcode()
    assert (as_text(ours.answer), as_text(ours.authority)) == (as_text(theirs.answer), as_text(theirs.authority))


def test_a_name_that_a_dname_makes_too_long_is_among_them(tree: ZoneTree) -> None:
    zones, origin = tree.zones(), dns.name.from_text(ZONE)
    rcodes = [answer(zones, dns.name.from_text(relative, origin), TXT).rcode for relative in NAMES[-2:]]
    assert rcodes == [dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN]
