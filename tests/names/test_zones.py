"""What one look-up leaves to the next: keys of zones, unsigned delegations, denials."""

import time
from base64 import b32hexencode
from dataclasses import replace

import dns.dnssec
import dns.name
import pytest
from dns.rdatatype import DNSKEY, DS, MX, NSEC, RRSIG, TXT
from tests.names.messages import answer_of, message_of

from postroom.local.zones import Mode
from postroom.names.dns import AskAnotherResolver
from postroom.names.dns.records import DnskeyRecord, Nsec3Record, NsecRecord
from postroom.names.dnssec import Absent, Insecure, KnownZones, Secure, TrustAnchors, validate
from postroom.names.dnssec.denial import Denial, Denier
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS
from postroom.names.dnssec.proven import Proof, ProvenDenials, Zone
from postroom.names.dnssec.zones import MAX_ABSENT_SECONDS, MOST_DENIALS, BrokenZone, Cut

NOW = 1_000


def name(number):
    return dns.name.from_text(f"z{number}.example")


def zone(until=NOW + 1, key_bytes=0):
    key = DnskeyRecord("IN", "DNSKEY", 257, 3, 13, bytes(key_bytes))
    return Zone({(13, 1): [key]} if key_bytes else {}, (), until)


def denials(number, until=NOW + 10, windows=1):
    owner = name(number)
    record = NsecRecord("IN", "NSEC", owner, [(window, b"\x01" * 32) for window in range(windows)])
    return ProvenDenials(dns.name.from_text("example"), (), {owner: record}, {}, None, until)


def test_a_zone_is_remembered_in_any_spelling_until_it_expires():
    known = KnownZones()
    known.put(name(1), zone(), NOW)
    assert known.get(dns.name.from_text("Z1.EXAMPLE"), NOW) == zone()
    assert known.get(name(1), NOW + 1) is None


def test_the_number_of_remembered_zones_is_limited():
    known = KnownZones(most=2)
    for number in (1, 2):
        known.put(name(number), zone(), NOW)
    assert known.get(name(1), NOW)
    known.put(name(3), zone(), NOW)
    assert known.get(name(1), NOW)
    assert known.get(name(3), NOW)
    assert known.get(name(2), NOW) is None, "the one used longest ago leaves"


def test_the_total_size_of_remembered_keys_is_limited():
    known = KnownZones(most_bytes=5_000)
    for number in range(3):
        known.put(name(number), zone(key_bytes=1_500), NOW)
    assert [known.get(name(number), NOW) is None for number in range(3)] == [True, False, False]


def test_a_delegation_without_ds_is_remembered_for_a_minute_at_most():
    known = KnownZones()
    denial = Denial(False, (Denier("NSEC", "z1.example.", "z2.example."),), is_cut=True)
    for number, until in enumerate((NOW + 5, NOW + 1_000)):
        cut = Cut("no DS", Proof((), None, until, denial))
        known.put_cut(name(number), cut, NOW)
        end = min(until, NOW + MAX_ABSENT_SECONDS)
        assert known.end(name(number), 1, end - 1) == (name(number), cut)
        assert known.end(name(number), 1, end) is None


def test_a_broken_zone_is_remembered_for_a_minute():
    known = KnownZones()
    known.put_broken(name(1), BrokenZone("broken", ()), NOW)
    assert known.end(name(1), 1, NOW + MAX_ABSENT_SECONDS - 1) == (name(1), BrokenZone("broken", ()))
    assert known.end(name(1), 1, NOW + MAX_ABSENT_SECONDS) is None


def test_the_highest_zone_without_a_chain_below_an_anchor_is_used():
    known, below = KnownZones(), dns.name.from_text("a.b.z1.example")
    known.put_broken(name(1), BrokenZone("upper", ()), NOW)
    known.put_broken(below.parent(), BrokenZone("lower", ()), NOW)
    anchors = {1: "upper", 2: "upper", 3: "lower", 4: None}
    for labels, expected in anchors.items():
        found = known.end(below, labels, NOW)
        assert (found and found[1].why) == expected


def test_the_lowest_zone_above_a_name_is_found():
    known = KnownZones()
    for each in (dns.name.root, name(1)):
        known.put(each, zone(), NOW)
    depths = {"a.b.Z1.example": 3, "z1.example": 3, "example": 1, "z2.example": 1, ".": 1}
    assert {text: known.depth(dns.name.from_text(text), NOW) for text in depths} == depths
    assert known.depth(name(1), NOW + 1) == 0


def test_each_denial_is_remembered_for_a_minute_at_most():
    known = KnownZones()
    known.put_denials(denials(1, until=NOW + 5), TXT, NOW)
    known.put_denials(denials(2, until=NOW + 1_000), TXT, NOW)
    example = dns.name.from_text("example")
    assert len(known.denials(example, TXT, NOW + 4)) == 2
    assert [it.owners for it in known.denials(example, TXT, NOW + 5)] == [{str(name(2))}]
    assert known.denials(example, TXT, NOW + MAX_ABSENT_SECONDS) == []


def test_the_number_of_remembered_denials_of_a_zone_is_limited():
    known = KnownZones()
    for number in range(MOST_DENIALS + 1):
        known.put_denials(denials(number), TXT, NOW)
    kept = known.denials(dns.name.from_text("example"), TXT, NOW)
    assert [it.owners for it in kept] == [{str(name(number))} for number in range(MOST_DENIALS, 0, -1)]


def test_a_newer_denial_replaces_the_older_one():
    known = KnownZones()
    known.put_denials(denials(1, until=NOW + 5), TXT, NOW)
    known.put_denials(denials(1, until=NOW + 9), TXT, NOW)
    assert known.denials(dns.name.from_text("example"), TXT, NOW) == [denials(1, until=NOW + 9)]


def test_the_total_size_of_remembered_denials_is_limited():
    known = KnownZones(most_bytes=20_000)
    for number in range(3):
        known.put_denials(replace(denials(number, windows=45), signer=name(number)), TXT, NOW)
    assert [known.denials(name(number), TXT, NOW) == [] for number in range(3)] == [True, False, False]


# --- in look-ups ---------------------------------------------------------------------------------------------


@pytest.fixture
def questions():
    return []


@pytest.fixture
def judge_knowing(ask, anchors, questions):
    known, now = KnownZones(), time.time()

    def asking(question):
        questions.append(str(question))
        return ask(question)

    def judge(name, rdtype=TXT, anchors=anchors, seconds=0):
        del questions[:]
        return validate(dns.name.from_text(name), rdtype, anchors, asking, now + seconds, known=known)

    return judge


def test_a_remembered_denial_has_the_evidence_and_the_end_of_the_first(judge_knowing, questions):
    first = judge_knowing("none.sender.example")
    assert isinstance(first, Absent)
    second = judge_knowing("noon.sender.example", seconds=9)
    assert questions == []
    assert (second.kind, second.ttl, second.evidence.deniers) == (first.kind, first.ttl - 9, first.evidence.deniers)
    assert second.evidence.owner == "noon.sender.example."


def test_an_existing_name_is_found_among_remembered_denials(judge_knowing, tree):
    tree.put("sender.example", "\n".join([*(f"k{i} TXT x" for i in range(9)), "*.wild TXT any", "deep.er TXT x"]))
    tree.put("sub.sender.example", "k TXT x")
    there = [*(f"k{i}" for i in range(9)), "x.wild", "deep.er", "k.sub"]
    for missing in ("k", "k00", "k9", "j", "z", "a.k3", "er", "x.er", "wild", "_domainkey", "su", "subb", "deep"):
        assert isinstance(judge_knowing(f"{missing}.sender.example"), Absent)
    for name in there:
        assert isinstance(judge_knowing(f"{name}.sender.example"), Secure)


def test_other_types_at_a_name_are_found_among_remembered_denials(judge_knowing, tree):
    tree.put("sender.example", "k TXT x\nk A 192.0.2.1")
    assert isinstance(judge_knowing("k.sender.example", DS), Absent)
    assert isinstance(judge_knowing("k.sender.example"), Secure)


def test_a_denial_is_not_remembered_of_other_types(judge_knowing, questions):
    """Servers that sign each answer anew may list fewer types than there are."""
    assert isinstance(judge_knowing("sender.example"), Absent)
    assert isinstance(judge_knowing("sender.example", MX), Absent)
    assert questions == ["sender.example. MX"]


def test_only_records_that_deny_something_are_remembered(anchors, tree, ask):
    tree.put("sender.example", "\n".join(f"k{number} TXT x" for number in range(9)))
    zone, known = tree.zones()[dns.name.from_text("sender.example")], KnownZones()

    def add_others(question):
        message = message_of(ask(question))
        if question.rdtype == TXT:
            for owner in (dns.name.from_text(f"k{number}.sender.example") for number in range(9)):
                if not any(rrset.name == owner for rrset in message.authority):
                    message.authority += [zone.find_rrset(owner, NSEC), zone.find_rrset(owner, RRSIG, NSEC)]
        return answer_of(message)

    validate(dns.name.from_text("k00.sender.example"), TXT, anchors, add_others, time.time(), known=known)
    [answer_to] = known.denials(dns.name.from_text("sender.example"), TXT, time.time())
    assert answer_to.owners == {"k0.sender.example.", "sender.example."}


def test_remembered_denials_leave_enough_hashes_for_a_proof(anchors, tree, ask, meddle, forge):
    """Strangers who make up names in a zone of many iterations, which changes its salt now and then."""
    known, now, zone = KnownZones(), time.time(), dns.name.from_text("sender.example")
    for number in range(MOST_DENIALS):
        record = Nsec3Record("IN", "NSEC3", 1, 0, MAX_ITERATIONS, bytes([number]), bytes(20), [(0, b"\x01")])
        owner = b32hexencode(bytes([number] * 20))
        known.put_denials(ProvenDenials(zone, (), {}, {owner: record}, None, int(now) + 60), TXT, now)

    def change(message):
        own = dns.dnssec.nsec3_hash(zone, b"", MAX_ITERATIONS, 1)
        message.authority = forge(f"{own}.sender.example. 60 NSEC3 1 0 {MAX_ITERATIONS} - {own} SOA NS")

    name = "a.b.c.d.e.f.g.h.sender.example"
    verdict = validate(dns.name.from_text(name), TXT, anchors, meddle(change, name), now, known=known)
    assert isinstance(verdict, Absent)


def test_a_name_below_a_delegation_without_ds_needs_no_question(judge_knowing, tree, questions):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    first = judge_knowing("pk1._domainkey.plain.example")
    assert isinstance(first, Insecure)
    assert judge_knowing("anything.plain.example") == first
    assert questions == []
    assert isinstance(judge_knowing("example"), Absent)
    assert isinstance(judge_knowing("plain.example", DS), Absent), "which the zone above knows"


def test_a_zone_without_keys_in_the_answer_of_one_resolver_alone_is_not_remembered_as_broken(ask, anchors):
    known, zone = KnownZones(), dns.name.from_text("sender.example")

    def ask_a_liar_first(question):
        message = message_of(ask(question))
        if (question.name, question.rdtype) == (zone, DNSKEY) and not isinstance(question, AskAnotherResolver):
            message.answer = []
        return answer_of(message)

    for text in ("pk1._domainkey.sender.example", "short.sender.example"):
        verdict = validate(dns.name.from_text(text), TXT, anchors, ask_a_liar_first, time.time(), known=known)
        assert isinstance(verdict, Secure)


def test_an_anchor_overrides_a_delegation_without_ds(judge_knowing, tree):
    tree.put("plain.example", "k TXT x", Mode.UNSIGNED)
    tree.put("corp.plain.example", "k TXT x")
    assert isinstance(judge_knowing("k.plain.example"), Insecure)
    assert isinstance(judge_knowing("k.corp.plain.example"), Insecure)
    own = TrustAnchors.parse(f"corp.plain.example. IN DNSKEY {tree.key('corp.plain.example').record}")
    assert isinstance(judge_knowing("k.corp.plain.example", anchors=own), Secure)
