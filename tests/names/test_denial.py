"""What NSEC and NSEC3 records prove, against a model that knows all of a zone (RFC 4035 §5.4, RFC 5155 §8)."""

import base64
import hashlib
from itertools import product
from string import ascii_lowercase

import dns.name
import dns.rdtypes.ANY.NSEC
import dns.rdtypes.ANY.NSEC3
import pytest
from dns.rdatatype import CAA, CNAME, DNAME, DS, NS, SOA, TXT, URI, A, RdataType
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from postroom.names.dns.records import Nsec3Record, NsecRecord
from postroom.names.dnssec.budget import MAX_HASHES, Budget, Exceeded
from postroom.names.dnssec.denial import lists
from postroom.names.dnssec.nsec import Nsecs
from postroom.names.dnssec.nsec3 import Hashes, Nsec3s, readable

ZONE = dns.name.from_text("z.")
SALT = b"\xab"


def absolute(text):
    return dns.name.from_text(text, ZONE)


class Model:
    """A zone as its types by owner. Nothing is below a delegation or a DNAME."""

    def __init__(self, types):
        self.types = {ZONE: frozenset({SOA, NS}) | types.get(ZONE, frozenset()) - {CNAME, DS}}
        for owner in sorted(types):
            if owner != ZONE and not any(owner.is_subdomain(end) for end in self.ends()):
                self.types[owner] = types[owner]
        self.names = {above for owner in self.types for above in ancestors(owner)}

    def ends(self):
        return [owner for owner, types in self.types.items() if DNAME in types or (NS in types and SOA not in types)]

    def is_ours(self, name):
        """Whether this zone says what is at a name."""
        return not any(name.is_subdomain(end) and name != end for end in self.ends())

    def encloser(self, name):
        return next(above for above in ancestors(name) if above in self.names)

    def absence(self, name, rdtype):
        """`no name`, `no data`, or `cut`; None where there is something, or where others know."""
        if not self.is_ours(name):
            return None
        if name not in self.names:
            wildcard = dns.name.from_text("*", self.encloser(name))
            if wildcard not in self.names:
                return "no name"
            found = self._at(wildcard, rdtype)
            return None if found == "cut" else found
        return self._at(name, rdtype)

    def _at(self, name, rdtype):
        types = self.types.get(name, frozenset())
        if rdtype in types or CNAME in types or (rdtype == DS and SOA in types):
            return None
        if NS in types and SOA not in types:
            return "cut" if rdtype == DS else None
        return "no data"


def ancestors(name):
    yield name
    while name != ZONE:
        name = name.parent()
        yield name


def nsec_chain(model):
    owners = sorted(model.types)
    return {
        owner: NsecRecord("IN", "NSEC", following, dns.rdtypes.ANY.NSEC.Bitmap.from_rdtypes(list(model.types[owner])))
        for owner, following in zip(owners, [*owners[1:], owners[0]], strict=True)
    }


def hashed(name, iterations=1):
    digest = name.canonicalize().to_wire()
    for _ in range(iterations + 1):
        digest = hashlib.sha1(digest + SALT, usedforsecurity=False).digest()
    return digest


def hashed_owner(name):
    return dns.name.from_text(base64.b32hexencode(hashed(name)).decode(), ZONE)


def nsec3_chain(model, *, opt_out, iterations=1):
    left_out = {owner for owner, types in model.types.items() if opt_out and NS in types and not {SOA, DS} & types}
    signed = {above for owner in set(model.types) - left_out for above in ancestors(owner)}
    hashes = sorted((hashed(name, iterations), name) for name in signed)
    chain = {}
    for (digest, name), (following, _) in zip(hashes, [*hashes[1:], hashes[0]], strict=True):
        bitmap = dns.rdtypes.ANY.NSEC3.Bitmap.from_rdtypes(list(model.types.get(name, ())))
        owner = dns.name.from_text(base64.b32hexencode(digest).decode(), ZONE)
        chain[owner] = Nsec3Record("IN", "NSEC3", 1, int(opt_out), iterations, SALT, following, bitmap)
    return chain


def nsec3s(records):
    return Nsec3s(ZONE, readable(ZONE, records), Hashes(Budget()))


LABELS = st.sampled_from(["a", "b", "c", "*", "A", "aa", "\\000", "\\255"])
NAMES = st.lists(LABELS, max_size=4).map(lambda labels: absolute(".".join(labels)) if labels else ZONE)
EACH_TYPES = [frozenset(types) for types in ({TXT}, {CNAME}, {NS}, {NS, DS}, {DNAME}, {TXT, DNAME})]
EACH_ASKED = [TXT, DS, NS, CNAME]
TYPES = st.sampled_from(EACH_TYPES)
MODELS = st.dictionaries(NAMES, TYPES, max_size=8).map(Model)
ASKED = st.sampled_from(EACH_ASKED)


def said(denial):
    if denial is None:
        return None
    return "cut" if denial.is_cut else "no name" if denial.no_name else "no data"


@pytest.mark.parametrize("rdtype", [A, TXT, URI, CAA, RdataType.make(65_280)], ids=lambda rdtype: f"type {rdtype:d}")
def test_a_bitmap_lists_a_type_and_not_those_beside_it(rdtype):
    windows = dns.rdtypes.ANY.NSEC.Bitmap.from_rdtypes([rdtype]).windows
    near = range(max(1, rdtype - 9), rdtype + 10)
    assert [each for each in near if lists(windows, RdataType.make(each))] == [rdtype]


@pytest.mark.parametrize("types", EACH_TYPES, ids=lambda types: " ".join(sorted(each.name for each in types)))
@pytest.mark.parametrize("owner", ["a", "*", "b.a", "*.a"])
def test_all_records_of_a_zone_with_one_name_prove_exactly_what_is_absent(owner, types):
    model = Model({absolute(owner): types})
    every = [Nsecs(ZONE, nsec_chain(model)), nsec3s(nsec3_chain(model, opt_out=False))]
    for name, rdtype in product(["a", "*", "b", "b.a", "c.b.a"], EACH_ASKED):
        asked = absolute(name), rdtype
        assert [said(records.absence(*asked)) for records in every] == [model.absence(*asked)] * 2


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, ASKED)
def test_all_nsec_records_of_a_zone_prove_exactly_what_is_absent(model, name, rdtype):
    assert said(Nsecs(ZONE, nsec_chain(model)).absence(name, rdtype)) == model.absence(name, rdtype)


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, ASKED, st.data())
def test_some_nsec_records_of_a_zone_prove_nothing_untrue(model, name, rdtype, data):
    chain = nsec_chain(model)
    some = data.draw(st.lists(st.sampled_from(sorted(chain)), unique=True))
    found = said(Nsecs(ZONE, {owner: chain[owner] for owner in some}).absence(name, rdtype))
    assert found in (None, model.absence(name, rdtype))


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, NAMES)
def test_nsec_records_let_a_wildcard_answer_only_where_it_is_the_closest(model, name, encloser):
    found = Nsecs(ZONE, nsec_chain(model)).no_closer(name, encloser)
    true = model.is_ours(name) and name not in model.names and model.encloser(name) == encloser
    assert said(found) == ("no name" if true else None)


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, ASKED)
def test_all_nsec3_records_of_a_zone_prove_exactly_what_is_absent(model, name, rdtype):
    assert said(nsec3s(nsec3_chain(model, opt_out=False)).absence(name, rdtype)) == model.absence(name, rdtype)


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, ASKED, st.data())
def test_some_nsec3_records_of_a_zone_prove_nothing_untrue(model, name, rdtype, data):
    chain = nsec3_chain(model, opt_out=False)
    some = data.draw(st.lists(st.sampled_from(sorted(chain)), unique=True, min_size=1))
    found = said(nsec3s({owner: chain[owner] for owner in some}).absence(name, rdtype))
    assert found in (None, model.absence(name, rdtype))


def test_nsec3_records_around_a_name_are_no_proof_without_those_around_the_name_below_its_closest_encloser():
    model = Model({absolute("*.a"): frozenset({TXT}), absolute("b"): frozenset({TXT})})
    chain = nsec3_chain(model, opt_out=False)
    by_hash = {str(owner.labels[0], "ascii").upper().encode(): owner for owner in chain}
    everything = nsec3s(chain)
    tried = 0
    for letter in ascii_lowercase:
        name = absolute(f"{letter}.a")
        around = {by_hash[everything._covering(each)] for each in (name, absolute("*"))}
        some = {hashed_owner(ZONE), *around} - {hashed_owner(absolute("a"))}
        if around <= some:
            tried += 1
            assert model.absence(name, TXT) is None, "the wildcard answers for it"
            assert nsec3s({owner: chain[owner] for owner in some}).absence(name, TXT) is None
    assert tried


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, ASKED)
def test_names_covered_by_opt_out_are_unproven(model, name, rdtype):
    found = nsec3s(nsec3_chain(model, opt_out=True)).absence(name, rdtype)
    types = model.types.get(name, frozenset())
    is_unsigned = not model.is_ours(name) or (NS in types and DS not in types)
    if (found is None or not found.opt_out) and not is_unsigned:
        assert said(found) == model.absence(name, rdtype)
    if found is not None:
        # Whatever is signed at the name is not denied.
        assert rdtype not in types or is_unsigned


@settings(max_examples=examples(1_000))
@given(MODELS, NAMES, NAMES)
def test_nsec3_records_let_a_wildcard_answer_only_where_nothing_closer_is(model, name, encloser):
    if name == encloser or not name.is_subdomain(encloser):
        return
    found = nsec3s(nsec3_chain(model, opt_out=False)).no_closer(name, encloser)
    is_there = name.split(len(encloser) + 1)[1] in model.names
    assert said(found) == (None if is_there else "no name")


def record(**changes):
    return next(iter(nsec3_chain(Model({}), opt_out=False).values())).replace(**changes)


OWNER = dns.name.from_text("0" * 32, ZONE)


@pytest.mark.parametrize(
    ("owner", "changes", "is_readable"),
    [
        (OWNER, {}, True),
        (OWNER, {"flags": 1}, True),
        (OWNER, {"flags": 2}, False),
        (OWNER, {"algorithm": 2}, False),
        (OWNER, {"next": b"short"}, False),
        (dns.name.from_text("0" * 31, ZONE), {}, False),
        (dns.name.from_text("0" * 32 + ".below", ZONE), {}, False),
        (dns.name.from_text("0" * 32 + ".other."), {}, False),
        (ZONE, {}, False),
    ],
)
def test_unreadable_nsec3_records_are_ignored(owner, changes, is_readable):
    assert bool(readable(ZONE, {owner: record(**changes)})) is is_readable


@pytest.mark.parametrize("changes", [{"salt": b"other"}, {"iterations": 2}])
def test_nsec3_records_with_other_parameters_than_the_first_are_ignored(changes):
    first, second = dns.name.from_text("0" * 32, ZONE), dns.name.from_text("1" * 32, ZONE)
    assert list(readable(ZONE, {first: record(), second: record(**changes)})) == [b"0" * 32]
    assert len(readable(ZONE, {first: record(), second: record()})) == 2


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_number_of_hashes_is_limited(beyond):
    """A name of many labels, none of them there: each is hashed on the way up to the zone, and so is the zone."""
    iterations = 49
    labels = MAX_HASHES // (iterations + 1) - 2 + beyond
    chain = nsec3_chain(Model({}), opt_out=False, iterations=iterations)
    deep = absolute(".".join(["a"] * labels))
    found = Nsec3s(ZONE, readable(ZONE, chain), Hashes(Budget()))
    if beyond:
        with pytest.raises(Exceeded, match=f"more than {MAX_HASHES} hashes would be needed"):
            found.absence(deep, TXT)
    else:
        assert said(found.absence(deep, TXT)) == "no name"


def test_a_name_is_hashed_once():
    chain = nsec3_chain(Model({}), opt_out=False, iterations=MAX_HASHES // 4)
    found = Nsec3s(ZONE, readable(ZONE, chain), Hashes(Budget()))
    for _ in range(3):
        assert said(found.absence(absolute("a"), TXT)) == "no name"
