import asyncio
import struct
import threading
import time

import dns.dnssec
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
from dns.dnssec import allow_all_policy
from dns.rdatatype import CNAME, DNSKEY, DS, NSEC, RRSIG, SOA, TXT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.names.messages import answer_of, message_of
from tests.patience import PATIENCE
from tests.tiers import examples

from postroom.core.errors import NotNowError
from postroom.core.steps import drive
from postroom.local.zones import Mode
from postroom.names.dns import Answer, Malformed, Question
from postroom.names.dnssec import (
    Absent,
    Alias,
    Bogus,
    EndlessAlias,
    Indeterminate,
    Insecure,
    KnownZones,
    Secure,
    TrustAnchors,
    validate,
    walk,
)
from postroom.names.dnssec.budget import MAX_QUESTIONS, MAX_STEPS, Budget, Exceeded
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS
from postroom.names.dnssec.proofs import MAX_DENIERS, MAX_SIGNERS
from postroom.names.dnssec.rrsets import MAX_RECORDS
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY, KEY_LOOKUP_FAILED

KEY = "pk1._domainkey.sender.example"
DAY = 86_400


def answering(*rrsets):
    def change(message):
        message.answer = list(rrsets)

    return change


def test_records_with_a_chain_to_the_anchor_are_secure(judge, tree):
    verdict = judge()
    assert isinstance(verdict, Secure)
    assert verdict.records[0].strings == (b"v=DKIM1; k=ed25519; ", b"p=abc")
    chain = verdict.evidence.chain
    assert [link.zone for link in chain] == [".", "example.", "sender.example."]
    assert [link.keys.key_tag for link in chain] == [tree.key(link.zone).record.key_id() for link in chain]
    assert verdict.evidence.signed.key_tag == chain[-1].keys.key_tag


def test_the_case_of_a_name_does_not_matter(judge):
    assert isinstance(judge("PK1._DomainKey.Sender.EXAMPLE"), Secure)


def test_an_anchor_may_stand_at_any_zone(ask, tree):
    anchors = TrustAnchors.parse(f"example. IN DNSKEY {tree.key('example.').record}")
    verdict = validate(dns.name.from_text(KEY), TXT, anchors, ask, time.time())
    assert isinstance(verdict, Secure)
    assert [link.zone for link in verdict.evidence.chain] == ["example.", "sender.example."]


def test_a_name_below_no_anchor_is_insecure(ask, tree):
    anchors = TrustAnchors.parse(f"test. IN DNSKEY {tree.key('test.').record}")
    verdict = validate(dns.name.from_text(KEY), TXT, anchors, ask, time.time())
    assert verdict == Insecure(f"no trust anchor is configured for {KEY}. or above", 2**31 - 1, None)


def test_a_name_below_a_negative_anchor_is_insecure_without_a_question(tree):
    """RFC 7646."""
    anchors = TrustAnchors.parse(tree.anchor_text, "sender.example")

    def nobody(question):
        raise AssertionError(question)

    verdict = validate(dns.name.from_text(KEY), TXT, anchors, nobody, time.time())
    assert verdict == Insecure("sender.example. is set to count as not signed (negative trust anchor)", 2**31 - 1, None)


def test_an_alias_that_leads_below_a_negative_anchor_is_insecure(ask, hosted):
    anchors = TrustAnchors.parse(hosted.anchor_text, "host.test")
    verdict = validate(dns.name.from_text("pk2._domainkey.sender.example"), TXT, anchors, ask, time.time())
    assert isinstance(verdict, Insecure)


def test_a_negative_anchor_does_not_affect_names_above_it_or_below_a_lower_anchor(ask, tree):
    own = f"sender.example. IN DNSKEY {tree.key('sender.example').record}"
    anchors = TrustAnchors.parse(f"{tree.anchor_text}{own}", "example")
    for name, rdtype in ((KEY, TXT), ("example", DS)):
        assert isinstance(validate(dns.name.from_text(name), rdtype, anchors, ask, time.time()), Secure)


def test_the_ds_at_a_negative_anchor_is_proven_by_the_zone_above(ask, tree):
    tree.put("plain.example", "", Mode.UNSIGNED)
    anchors = TrustAnchors.parse(tree.anchor_text, "plain.example")
    assert isinstance(validate(dns.name.from_text("plain.example"), DS, anchors, ask, time.time()), Absent)


def test_an_anchor_with_another_key_is_bogus(ask):
    verdict = validate(dns.name.from_text(KEY), TXT, TrustAnchors.parse(), ask, time.time())
    assert verdict == Bogus("no DNSKEY of . matches its DS")


# --- zones without DNSSEC, and with a broken one -------------------------------------------------------------


def test_a_zone_without_a_ds_is_insecure(judge, tree):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    verdict = judge("pk1._domainkey.plain.example")
    assert isinstance(verdict, Insecure)
    assert verdict.why == "plain.example. has no DS record in the zone above it"
    assert verdict.ttl == 60
    evidence = verdict.evidence
    assert (evidence.owner, evidence.rdtype) == ("plain.example.", "DS")
    assert [link.zone for link in evidence.chain] == [".", "example."]
    assert [(denier.rdtype, denier.owner) for denier in evidence.deniers] == [("NSEC", "plain.example.")]


def test_a_missing_ds_that_is_not_proven_to_be_missing_is_bogus(judge, tree, meddle, stripped):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    verdict = judge("pk1._domainkey.plain.example", ask=meddle(stripped, "plain.example", DS))
    why = "plain.example. DS is said to be absent, without a signed proof, but its zone example. is signed"
    assert verdict == Bogus(why)


def test_the_name_servers_of_a_signed_zone_do_not_make_it_insecure(judge, meddle, answer_to, stripped):
    """The DS is taken away; what proves that the name is delegated says that there is one, too."""
    name = dns.name.from_text("sender.example")

    def take_away(message):
        message.answer = []
        message.authority = answer_to(Question(name, TXT)).authority + answer_to(Question(name.parent(), TXT)).authority

    assert isinstance(judge(ask=meddle(take_away, "sender.example", DS)), Bogus)


def test_an_alias_in_a_zone_without_a_ds_is_insecure(judge, tree):
    tree.put("example", "here TXT x")
    tree.put("plain.example", "pk1._domainkey CNAME here.example.", Mode.UNSIGNED)
    assert isinstance(judge("pk1._domainkey.plain.example"), Insecure)


def test_signatures_in_a_zone_without_a_ds_prove_nothing(judge, tree, meddle, forge):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    name = "pk1._domainkey.plain.example"
    forged = answering(*forge(f"{name}. 60 TXT forged", zone="plain.example"))
    assert isinstance(judge(name, ask=meddle(forged, name)), Insecure)


def test_a_broken_signature_in_the_name_of_the_parent_zone_proves_nothing(judge, tree, meddle, forge):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    name = "pk1._domainkey.plain.example"
    forged = answering(*forge(f"{name}. 60 TXT forged", zone="plain.example", signer="example"))
    verdict = judge(name, ask=meddle(forged, name))
    assert isinstance(verdict, Insecure)
    assert verdict.why == "plain.example. has no DS record in the zone above it"


def test_too_many_signatures_in_an_insecure_zone_prove_nothing(judge, tree, meddle, forge):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    name = "pk1._domainkey.plain.example"
    records, [signature] = forge(f"{name}. 60 TXT forged", zone="plain.example", signer="example")
    many = [signature.replace(key_tag=number) for number in range(MAX_RECORDS + 1)]
    forged = answering(records, dns.rrset.from_rdata(records.name, 60, *many))
    assert isinstance(judge(name, ask=meddle(forged, name)), Insecure)


@pytest.mark.parametrize(("name", "expected"), [(KEY, Secure), ("pk1._domainkey.plain.example", Insecure)])
def test_unreadable_signatures_are_ignored(judge, tree, ask, name, expected):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)

    def asking(question):
        answer = ask(question)
        if question != Question(dns.name.from_text(name), TXT):
            return answer
        message = message_of(answer)
        message.authority, message.additional = [], []
        message.use_edns(False)
        wire = bytearray(message.to_wire())
        wire[7] += 1
        return Answer.read(bytes(wire) + b"\xc0\x0c" + struct.pack("!HHIH", RRSIG, 1, 60, 3) + b"\0\x10\1")

    assert isinstance(judge(name, ask=asking), expected)


def test_unsigned_records_are_insecure_and_may_be_of_any_size(judge, tree):
    tree.put("plain.example", "\n".join(f"many TXT {number}" for number in range(100)), Mode.UNSIGNED)
    assert isinstance(judge("many.plain.example"), Insecure)


def test_below_an_anchor_of_unknown_algorithms_nothing_is_signed(ask, tree):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    anchors = TrustAnchors.parse(f"plain.example. IN DS 1 99 2 {'00' * 32}")
    verdict = validate(dns.name.from_text("pk1._domainkey.plain.example"), TXT, anchors, ask, time.time())
    why = "plain.example. has DS records only of algorithms that are not known here"
    assert verdict == Insecure(why, 2**31 - 1, None)


def test_the_ad_bit_is_ignored(judge, tree, meddle):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)

    def say_authentic(message):
        message.flags |= dns.flags.AD

    assert isinstance(judge("pk1._domainkey.plain.example", ask=meddle(say_authentic)), Insecure)


def test_a_zone_with_broken_signatures_is_bogus(judge, tree):
    tree.put("bad.example", "pk1._domainkey TXT x", Mode.BOGUS)
    verdict = judge("pk1._domainkey.bad.example")
    tag = tree.key("bad.example").record.key_id()
    assert verdict == Bogus(f"pk1._domainkey.bad.example. TXT: the signature by key {tag} does not hold")


def test_missing_signatures_in_a_signed_zone_are_bogus(judge, meddle, stripped):
    verdict = judge(ask=meddle(stripped, KEY))
    assert verdict == Bogus(f"{KEY}. TXT is not signed, but its zone sender.example. is signed")


def test_a_resolver_that_drops_all_signatures_makes_everything_bogus(judge, meddle, stripped):
    assert isinstance(judge(ask=meddle(stripped)), Bogus)


def test_a_ds_that_names_another_key_is_bogus(judge, tree):
    other = dns.dnssec.make_ds("sender.example.", tree.key("elsewhere.").record, "SHA256")
    tree.put("example", f"sender DS {other}")
    assert judge() == Bogus("no DNSKEY of sender.example. matches its DS")


def test_a_ds_of_sha_1_only_counts_as_no_ds(judge, tree):
    sha1 = dns.dnssec.make_ds("sender.example.", tree.key("sender.example").record, "SHA1", policy=allow_all_policy)
    tree.put("example", f"sender DS {sha1}")
    verdict = judge()
    assert isinstance(verdict, Insecure)
    assert verdict.why == "sender.example. has DS records only of algorithms that are not known here"


def test_a_ds_of_an_unknown_algorithm_beside_a_known_one_does_no_harm(judge, tree):
    good = dns.dnssec.make_ds("sender.example.", tree.key("sender.example").record, "SHA384")
    tree.put("example", f"sender DS {good}\nsender DS 1 5 1 {'00' * 20}")
    assert isinstance(judge(), Secure)


def test_a_signed_zone_without_keys_is_bogus(judge, meddle):
    assert judge(ask=meddle(answering(), "sender.example", DNSKEY)) == Bogus("sender.example. has a DS but no DNSKEY")


# --- time ----------------------------------------------------------------------------------------------------


def test_an_expired_signature_is_bogus(judge, meddle, forge):
    past = answering(*forge(f"{KEY}. 60 TXT x", inception=1_700_000_000, expiration=1_700_000_100))
    verdict = judge(ask=meddle(past, KEY))
    assert verdict == Bogus(f"{KEY}. TXT: the signature expired at 2023-11-14T22:15:00Z")


def test_a_signature_of_the_future_is_bogus(judge, meddle, forge):
    future = answering(*forge(f"{KEY}. 60 TXT x", inception=3_000_000_000, expiration=3_000_000_100))
    verdict = judge(ask=meddle(future, KEY))
    assert verdict == Bogus(f"{KEY}. TXT: the signature is not valid before 2065-01-24T05:20:00Z")


@pytest.mark.parametrize("days", [-1, 31])
def test_a_chain_that_is_not_valid_now_is_bogus(judge, days):
    assert isinstance(judge(now=time.time() + days * DAY), Bogus)


def test_a_verdict_lasts_no_longer_than_its_shortest_ttl(judge):
    assert judge().ttl == 60
    assert judge("short.sender.example").ttl == 5


def test_a_ttl_raised_on_the_way_does_not_count(judge, meddle):
    def raise_ttl(message):
        for rrset in message.answer:
            rrset.ttl = DAY

    assert judge(ask=meddle(raise_ttl)).ttl == 60


def test_a_ttl_that_a_resolver_has_counted_down_counts(judge, meddle):
    def count_down(message):
        for rrset in message.answer:
            rrset.ttl = 3

    assert judge(ask=meddle(count_down, KEY)).ttl == 3


def test_a_verdict_ends_with_its_signature(judge, meddle, forge):
    now = int(time.time())
    ending = answering(*forge(f"{KEY}. 60 TXT x", expiration=now + 7))
    assert judge(ask=meddle(ending, KEY), now=now).ttl == 7


# --- who may sign for whom -----------------------------------------------------------------------------------


def test_a_victims_record_signed_by_another_zone_is_bogus(judge, tree, meddle, forge):
    tree.put("attacker.example", "")
    forged = answering(*forge(f"{KEY}. 60 TXT forged", zone="attacker.example"))
    why = "is signed only by a zone that is not above it, but its zone sender.example. is signed"
    assert judge(ask=meddle(forged, KEY)) == Bogus(f"{KEY}. TXT {why}")


def test_a_signature_that_only_claims_to_be_the_zones_is_bogus(judge, tree, meddle, forge):
    forged = answering(*forge(f"{KEY}. 60 TXT forged", key_of="attacker.example"))
    tag = tree.key("attacker.example").record.key_id()
    why = f"its zone has no trusted key {tag}, which is said to have signed it"
    assert judge(ask=meddle(forged, KEY)) == Bogus(f"{KEY}. TXT: {why}")


def test_a_false_signature_in_the_name_of_the_zone_above_does_no_harm_beside_the_zones_own(judge, meddle):
    def add(message):
        signatures = message.answer[1]
        false = [it.replace(signer=dns.name.from_text("example")) for it in signatures]
        message.answer[1] = dns.rrset.from_rdata(signatures.name, 60, *signatures, *false)

    assert isinstance(judge(ask=meddle(add, KEY)), Secure)


def test_a_key_slipped_into_a_zones_keys_is_bogus(judge, tree, meddle, forge):
    """The attacker's key stands beside the zone's own, and has signed both the keys and the record."""
    own, foreign = tree.key("sender.example").record, tree.key("attacker.example").record
    both = dns.rrset.from_rdata("sender.example.", 60, own, foreign)
    keys = forge(f"sender.example. 60 DNSKEY {own}", key_of="attacker.example")
    private = tree.key("attacker.example").private
    now = int(time.time())
    signed = dns.dnssec.sign(both, private, dns.name.from_text("sender.example"), foreign, now - 60, now + 60)
    keys = [both, dns.rrset.from_rdata(both.name, 60, signed)]
    record = forge(f"{KEY}. 60 TXT forged", key_of="attacker.example")
    meddled = meddle(answering(*keys), "sender.example", DNSKEY)
    name = dns.name.from_text(KEY)

    def ask(question):
        message = message_of(meddled(question))
        if question == Question(name, TXT):
            message.answer = record
        return answer_of(message)

    assert isinstance(judge(ask=ask), Bogus)


def test_a_zone_may_not_sign_its_own_ds(judge, tree, meddle, forge):
    foreign = dns.dnssec.make_ds("sender.example.", tree.key("attacker.example").record, "SHA256")
    ds = answering(*forge(f"sender.example. 60 DS {foreign}", key_of="attacker.example"))
    verdict = judge(ask=meddle(ds, "sender.example", DS))
    why = "is signed only by a zone that is not above it, but its zone example. is signed"
    assert verdict == Bogus(f"sender.example. DS {why}")


def test_a_record_changed_on_the_way_is_bogus(judge, meddle):
    def change(message):
        message.answer[0] = dns.rrset.from_text(f"{KEY}.", 60, "IN", "TXT", "forged")

    assert isinstance(judge(ask=meddle(change, KEY)), Bogus)


def test_a_record_made_of_a_wildcards_is_secure_where_no_closer_name_is_proven_to_be(judge):
    verdict = judge("pk1.wild.sender.example")
    assert isinstance(verdict, Secure)
    assert [(it.rdtype, it.owner, it.next) for it in verdict.evidence.deniers] == [
        ("NSEC", "*.wild.sender.example.", "sender.example.")
    ]


def test_a_wildcards_record_without_that_proof_is_bogus(judge, meddle):
    def drop_denial(message):
        message.authority = []

    name = "pk1.wild.sender.example"
    verdict = judge(name, ask=meddle(drop_denial, name))
    why = "comes from a wildcard where no closer name may be, and no NSEC or NSEC3 record that came with it proves that"
    assert verdict == Bogus(f"{name}. TXT {why}")


def test_a_wildcards_record_never_stands_for_a_name_that_is_there(judge, tree, meddle, answer_to):
    tree.put("sender.example", "*.wild TXT any\nown.wild TXT own\n")
    other = answer_to(Question(dns.name.from_text("x.wild.sender.example"), TXT))

    def replace(message):
        message.answer, message.authority = [], other.authority
        for rrset in other.answer:
            moved = dns.rrset.from_rdata_list("own.wild.sender.example.", rrset.ttl, list(rrset))
            message.answer.append(moved)

    assert isinstance(judge("own.wild.sender.example", ask=meddle(replace, "own.wild.sender.example")), Bogus)
    assert isinstance(judge("x.wild.sender.example"), Secure)


def test_the_keys_of_a_zone_are_never_a_wildcards(judge, tree, meddle, forge):
    own = tree.key("sender.example").record
    keys = forge(f"sender.example. 60 DNSKEY {own}")
    short = keys[1][0].replace(labels=1)
    meddled = answering(keys[0], dns.rrset.from_rdata(keys[0].name, 60, short))
    assert isinstance(judge(ask=meddle(meddled, "sender.example", DNSKEY)), Bogus)


# --- aliases -------------------------------------------------------------------------------------------------


@pytest.fixture
def hosted(tree):
    tree.put("host.test", "key TXT hosted\nback CNAME back.sender.example.")
    aliases = [
        "pk2._domainkey CNAME key.host.test.",
        "dead CNAME key.plain.example.",
        "gone CNAME nothing.host.test.",
        "back CNAME back.host.test.",
        "self CNAME self",
        *(f"h{i} CNAME h{i + 1}" for i in range(9)),
        "h9 TXT end",
    ]
    tree.put("sender.example", "\n".join(aliases))
    tree.put("plain.example", "key TXT x", Mode.UNSIGNED)
    return tree


def only_the_first_rrset(message):
    message.answer = message.answer[:2]


@pytest.mark.parametrize("resolver_follows", [True, False])
def test_an_alias_into_another_signed_zone_is_followed(judge, meddle, hosted, ask, resolver_follows):
    verdict = judge("pk2._domainkey.sender.example", ask=ask if resolver_follows else meddle(only_the_first_rrset))
    assert isinstance(verdict, Secure)
    assert verdict.records[0].strings == (b"hosted",)
    assert verdict.evidence.aliases == (Alias("pk2._domainkey.sender.example.", "key.host.test."),)
    assert [link.zone for link in verdict.evidence.chain] == [".", "test.", "host.test."]


def test_an_alias_into_an_unsigned_zone_is_insecure(judge, hosted):
    assert isinstance(judge("dead.sender.example"), Insecure)


def test_an_unsigned_alias_in_a_signed_zone_is_bogus(judge, meddle, hosted):
    def drop_first_signature(message):
        message.answer = [rrset for rrset in message.answer if rrset.covers != CNAME]

    name = "pk2._domainkey.sender.example"
    verdict = judge(name, ask=meddle(drop_first_signature, name))
    assert verdict == Bogus(f"{name}. CNAME is not signed, but its zone sender.example. is signed")


def test_an_alias_to_a_missing_name_is_absent(judge, hosted):
    verdict = judge("gone.sender.example")
    assert isinstance(verdict, Absent)
    assert verdict.kind == "nxdomain"


@pytest.fixture
def moved(tree):
    tree.put("host.test", "key TXT hosted")
    tree.put("sender.example", "moved DNAME host.test.")
    return "key.moved.sender.example"


def test_names_below_a_proven_dname_are_looked_up_below_its_target(judge, moved):
    verdict = judge(moved)
    assert isinstance(verdict, Secure)
    assert verdict.records[0].strings == (b"hosted",)
    assert verdict.evidence.aliases == (Alias("key.moved.sender.example.", "key.host.test."),)


def test_the_target_of_a_dname_is_used_and_not_the_cname_beside_it(judge, moved, meddle, tree):
    tree.put("attacker.test", "key TXT forged")

    def lead_astray(message):
        astray = dns.rrset.from_text(f"{moved}.", 60, "IN", "CNAME", "key.attacker.test.")
        message.answer = [astray if rrset.rdtype == CNAME else rrset for rrset in message.answer]

    assert judge(moved, ask=meddle(lead_astray, moved)).records[0].strings == (b"hosted",)


def test_the_cname_that_a_dname_makes_is_proven_by_the_dname(moved, ask, anchors):
    verdict = validate(dns.name.from_text(moved), CNAME, anchors, ask, time.time())
    assert isinstance(verdict, Secure)
    assert [str(record) for record in verdict.records] == ["key.host.test."]
    assert (verdict.evidence.owner, verdict.evidence.rdtype) == ("moved.sender.example.", "DNAME")


def test_a_name_that_a_dname_would_make_too_long_has_no_alias(judge, forge, meddle):
    name = ".".join(["a" * 60] * 3 + ["moved.sender.example"])
    target = ".".join(["b" * 60, "longer.host.test."])

    def change(message):
        message.answer = forge(f"moved.sender.example. 60 DNAME {target}")

    verdict = judge(name, ask=meddle(change, name))
    why = "has no alias: what the DNAME at moved.sender.example. makes of it is too long"
    assert verdict == Bogus(f"{name}. {why}")


@pytest.mark.parametrize("name", ["back.sender.example", "self.sender.example"])
def test_a_loop_of_aliases_is_reported(judge, hosted, name):
    verdict = judge(name)
    assert isinstance(verdict, EndlessAlias)
    assert f"leads back to {name}." in verdict.why


def test_eight_aliases_are_followed_and_nine_are_not(judge, hosted):
    assert isinstance(judge("h1.sender.example"), Secure)
    verdict = judge("h0.sender.example")
    assert verdict == Indeterminate(DNSSEC_TOO_COSTLY, "more than 8 aliases, the last one at h8.sender.example.")


def test_eight_aliases_made_of_wildcards_are_followed(judge, tree):
    """Each needs the proof that no closer name is there; all of them come with one answer."""
    tree.put("sender.example", "\n".join([*(f"*.h{i} CNAME x.h{i + 1}" for i in range(8)), "*.h8 TXT end"]))
    assert isinstance(judge("x.h0.sender.example"), Secure)


# --- absence -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pk9._domainkey.sender.example", "nxdomain"),
        ("_domainkey.sender.example", "nodata"),
        ("sender.example", "nodata"),
        ("sender.nowhere", "nxdomain"),
    ],
)
def test_a_missing_name_in_a_signed_zone_is_absent(judge, name, kind):
    verdict = judge(name)
    assert isinstance(verdict, Absent)
    assert (verdict.kind, verdict.evidence.owner, verdict.evidence.rdtype) == (kind, f"{name}.", "TXT")
    assert {it.rdtype for it in verdict.evidence.deniers} == {"NSEC"}


def test_an_absence_without_the_records_that_prove_it_is_bogus(judge, meddle):
    name = "pk9._domainkey.sender.example"

    def leave_the_soa(message):
        message.authority = [it for it in message.authority if SOA in (it.rdtype, it.covers)]

    why = "TXT is said to be absent, without a signed proof, but its zone sender.example. is signed"
    assert judge(name, ask=meddle(leave_the_soa, name)) == Bogus(f"{name}. {why}")


def test_an_absence_with_a_soa_that_is_not_the_zones_is_bogus(judge, meddle):
    def change(message):
        soa = next(it for it in message.authority if it.rdtype == SOA)
        message.authority[message.authority.index(soa)] = dns.rrset.from_text(
            soa.name, 0, "IN", "SOA", "ns. h. 1 1 1 1 0"
        )

    name = "pk9._domainkey.sender.example"
    assert isinstance(judge(name, ask=meddle(change, name)), Bogus)


def test_a_proof_that_another_name_is_absent_hides_nothing(judge, meddle, answer_to):
    """The answer about a name that is not there, given for one that is."""
    other = answer_to(Question(dns.name.from_text("aaa.sender.example"), TXT))

    def replace(message):
        message.answer, message.authority = [], other.authority
        message.set_rcode(dns.rcode.NXDOMAIN)

    verdict = judge(ask=meddle(replace, KEY))
    why = "TXT is said to be absent, and no NSEC or NSEC3 record that came with it proves that"
    assert verdict == Bogus(f"{KEY}. {why}, but its zone sender.example. is signed")


def test_the_zone_above_cannot_say_what_is_missing_below_a_cut(judge, meddle, answer_to):
    """The NSEC record at the delegation denies TXT, and speaks of the zone above only (RFC 6840 §4.1)."""
    above = answer_to(Question(dns.name.from_text("sender.example"), DS))
    nsec = answer_to(Question(dns.name.from_text("sendes.example"), TXT))

    def replace(message):
        message.answer, message.authority = [], nsec.authority + above.authority

    assert isinstance(judge("sender.example", ask=meddle(replace, "sender.example")), Bogus)


@pytest.mark.parametrize(("next_name", "expected"), [("zz.sender.example.", Absent), ("zz.example.", Bogus)])
def test_an_nsec_record_whose_next_name_is_outside_its_zone_proves_nothing(judge, meddle, forge, next_name, expected):
    """It would cover names of zones that its signer has no say about (RFC 4034 §4.1.1: the next name in the zone)."""
    name = "pk9._domainkey.sender.example"
    nsec = forge(f"sender.example. 300 NSEC {next_name} NS SOA RRSIG NSEC DNSKEY")

    def replace(message):
        message.authority = [it for it in message.authority if SOA in (it.rdtype, it.covers)] + nsec

    assert isinstance(judge(name, ask=meddle(replace, name)), expected)


def test_the_kind_of_absence_follows_from_the_proof_and_not_from_the_rcode(judge, meddle):
    def lie(message):
        message.set_rcode(dns.rcode.NXDOMAIN)

    assert judge("sender.example", ask=meddle(lie, "sender.example")).kind == "nodata"


def test_an_absence_lasts_no_longer_than_the_minimum_of_its_soa(judge, tree):
    tree.put("sender.example", "@ 3600 SOA ns h 1 1 1 1 17\n")
    assert judge().ttl == 17


def test_a_missing_name_in_an_unsigned_zone_is_insecure(judge, tree):
    tree.put("plain.example", "", Mode.UNSIGNED)
    assert isinstance(judge("pk1._domainkey.plain.example"), Insecure)


def test_an_unsigned_absence_in_a_signed_zone_is_bogus(judge, meddle, stripped):
    name = "pk9._domainkey.sender.example"
    verdict = judge(name, ask=meddle(stripped, name))
    why = "TXT is said to be absent, without a signed proof, but its zone sender.example. is signed"
    assert verdict == Bogus(f"{name}. {why}")


def test_an_empty_answer_in_a_signed_zone_is_bogus(judge, meddle):
    verdict = judge(ask=meddle(answering(), KEY))
    why = "TXT is said to be absent, without a signed proof, but its zone sender.example. is signed"
    assert verdict == Bogus(f"{KEY}. {why}")


@pytest.fixture
def nsec3(forge):
    """What `sender.example`, if its apex is all that is in it, says of a name that is not there, by NSEC3."""

    def nsec3(iterations=0, flags=0):
        own = dns.dnssec.nsec3_hash("sender.example.", b"", iterations, 1)
        return forge(f"{own}.sender.example. 60 NSEC3 1 {flags} {iterations} - {own} SOA NS")

    return nsec3


def test_an_absence_may_be_proven_by_nsec3(judge, meddle, nsec3):
    def change(message):
        message.authority = nsec3()

    verdict = judge("none.sender.example", ask=meddle(change, "none.sender.example"))
    assert (verdict.kind, verdict.ttl) == ("nxdomain", 60)
    assert {it.rdtype for it in verdict.evidence.deniers} == {"NSEC3"}


def test_an_absence_that_opt_out_leaves_open_is_insecure(judge, meddle, nsec3):
    def change(message):
        message.authority = nsec3(flags=1)

    verdict = judge("none.sender.example", ask=meddle(change, "none.sender.example"))
    assert isinstance(verdict, Insecure)
    assert verdict.why == "none.sender.example. may be in a zone that is delegated unsigned (opt-out)"


def test_names_covered_by_opt_out_are_looked_up_again(ask, meddle, nsec3, anchors):
    def change(message):
        message.authority = nsec3(flags=1)

    known, now = KnownZones(), time.time()
    name = dns.name.from_text("none.sender.example")
    validate(name, TXT, anchors, meddle(change, "none.sender.example"), now, known=known)
    assert isinstance(validate(name, TXT, anchors, ask, now, known=known), Absent)


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_zone_with_too_many_nsec3_iterations_is_insecure(judge, meddle, nsec3, beyond):
    def change(message):
        message.authority = nsec3(MAX_ITERATIONS + beyond)

    verdict = judge("none.sender.example", ask=meddle(change, "none.sender.example"))
    assert isinstance(verdict, Insecure if beyond else Absent)
    if beyond:
        assert (
            verdict.why
            == f"sender.example. has NSEC3 of {MAX_ITERATIONS + 1} iterations; at most {MAX_ITERATIONS} are taken"
        )


# --- bounds --------------------------------------------------------------------------------------------------


def test_a_look_up_without_an_answer_is_indeterminate(judge, server, resolvers, anchors):
    server.pause()
    verdict = judge(ask=resolvers.asking(0.2))
    assert isinstance(verdict, Indeterminate)
    assert verdict.reason is KEY_LOOKUP_FAILED
    assert "out of time" in verdict.why or "timed out" in verdict.why


def test_the_number_of_questions_is_limited(tree, ask, anchors):
    """An unsigned answer at a deep name: each name above it may be that of an unsigned zone, and none says so."""
    questions = []

    def count(question):
        questions.append(question)
        message = message_of(ask(question))
        if len(question.name) > 3:
            text = ["TXT", "unsigned"] if question.rdtype == TXT else ["CNAME", "."]
            message.answer = [dns.rrset.from_text(question.name, 60, "IN", *text)]
        return answer_of(message)

    def look_up(labels):
        questions.clear()
        name = dns.name.from_text(".".join(["a"] * labels + ["sender.example"]))
        return drive(walk(name, TXT, anchors, time.time()), count)

    # Of the root, example and sender.example: their keys, and DS of two of them; and the TXT itself.
    most = MAX_QUESTIONS - 6
    assert isinstance(look_up(most), Bogus)
    assert len(questions) == MAX_QUESTIONS
    assert look_up(most + 1) == Indeterminate(DNSSEC_TOO_COSTLY, f"more than {MAX_QUESTIONS} questions would be needed")
    assert len(questions) == MAX_QUESTIONS


def test_an_absence_among_thousands_of_other_sets_takes_no_quadratic_time(anchors):
    others = [dns.rrset.from_text(".", 60, "IN", f"TYPE{number}", r"\# 0") for number in range(1000, 6000)]

    def say_much(question):
        message = dns.message.make_response(dns.message.make_query(*question))
        message.authority = others
        return answer_of(message)

    verdict = drive(walk(dns.name.from_text(KEY), TXT, anchors, time.time()), say_much)
    assert isinstance(verdict, Bogus)


def test_naming_every_parent_as_signer_gains_nothing(judge, meddle, forge):
    """Each may be that of a zone, and is looked into once."""
    questions = []

    def name_them_all(message):
        [question] = message.question
        questions.append(question)
        if len(question.name) <= 3:
            return
        records, [signature] = forge(f"{question.name} 60 TXT x")
        signers = [dns.name.Name(question.name.labels[start:]) for start in range(len(question.name) - 2)][:MAX_SIGNERS]
        false = [signature.replace(signer=signer, key_tag=1) for signer in signers]
        if question.rdtype == TXT:
            message.answer = [records, dns.rrset.from_rdata(records.name, 60, *false)]
        else:
            denial = dns.rrset.from_text(question.name, 60, "IN", "NSEC", "a.example. TXT")
            covering = [it.replace(type_covered=NSEC) for it in false]
            message.answer, message.authority = [], [denial, dns.rrset.from_rdata(denial.name, 60, *covering)]

    name = ".".join(["a"] * 40 + ["sender.example"])
    assert isinstance(judge(name, ask=meddle(name_them_all)), Bogus)
    assert len(questions) <= 2 * MAX_QUESTIONS


def test_the_number_of_steps_is_limited():
    """No answer is known that makes a walk take them all."""
    budget = Budget()
    for _ in range(MAX_STEPS):
        budget.step()
    with pytest.raises(Exceeded, match=f"more than {MAX_STEPS} steps"):
        budget.step()


def test_zones_above_the_nearest_anchor_have_no_effect(tree, ask, meddle, answer_to):
    """A private zone with an anchor of its own, of which the zone above knows nothing."""
    tree.put("corp.example", "k TXT true")
    anchors = TrustAnchors.parse(f"{tree.anchor_text}corp.example. IN DNSKEY {tree.key('corp.example').record}")
    name = dns.name.from_text("k.corp.example")
    assert isinstance(validate(name, TXT, anchors, ask, time.time()), Secure)
    tree.put("other.example", "")
    above = answer_to(Question(dns.name.from_text("example"), TXT))

    def deny(message):
        message.answer, message.authority = [], above.authority

    for change in (deny, lambda message: setattr(message, "answer", message.answer[:1])):
        assert isinstance(validate(name, TXT, anchors, meddle(change, "k.corp.example"), time.time()), Bogus)


def test_a_dname_above_the_nearest_anchor_has_no_effect(tree, ask, meddle, forge):
    """Whoever is in the way could else make a domain insecure that has an anchor, and its parent take it over."""
    tree.put("corp.example", "k TXT true")
    tree.put("plain.example", "", Mode.UNSIGNED)
    tree.put("corp.plain.example", "k TXT true")
    tree.put("evil.test", "k.corp TXT forged\nk TXT forged")
    anchors = "".join(f"{it}. IN DNSKEY {tree.key(it).record}\n" for it in ("corp.example", "corp.plain.example"))
    unsigned = [dns.rrset.from_text("plain.example.", 60, "IN", "DNAME", "evil.test.")]
    cases = [
        (TrustAnchors.parse(anchors), "k.corp.example", [forge("example. 60 DNAME evil.test.", zone="example")[0]]),
        (
            TrustAnchors.parse(anchors, "example"),
            "k.corp.example",
            forge("example. 60 DNAME evil.test.", zone="example"),
        ),
        (TrustAnchors.parse(tree.anchor_text + anchors), "k.corp.plain.example", unsigned),
        (
            TrustAnchors.parse(tree.anchor_text + anchors),
            "k.corp.example",
            forge("example. 60 DNAME evil.test.", zone="example"),
        ),
    ]
    for trusted, name, answer in cases:
        assert isinstance(validate(dns.name.from_text(name), TXT, trusted, ask, time.time()), Secure)
        meddled = meddle(answering(*answer), name)
        assert isinstance(validate(dns.name.from_text(name), TXT, trusted, meddled, time.time()), Bogus)


def test_a_dname_of_another_zone_in_an_answer_is_ignored(judge, tree, meddle):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)

    def add(message):
        message.answer.append(dns.rrset.from_text("x.test.", 60, "IN", "DNAME", "evil.test."))

    assert isinstance(judge("pk1._domainkey.plain.example", ask=meddle(add, "plain.example", DS)), Insecure)


def test_a_verdict_lasts_no_longer_than_the_ttl_of_a_signature(judge, meddle):
    def shorten(message):
        message.answer[1].ttl = 7

    assert judge(ask=meddle(shorten, KEY)).ttl == 7


def test_denials_of_other_zones_in_an_answer_are_ignored(judge, meddle):
    def add(message):
        owner = f"{'0' * 32}.other.test."
        others = [f"1 0 0 - {number:032} A" for number in range(MAX_RECORDS + 1)]
        message.authority.append(dns.rrset.from_text_list(owner, 60, "IN", "NSEC3", others))

    assert isinstance(judge("none.sender.example", ask=meddle(add, "none.sender.example")), Absent)


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_number_of_signers_is_limited(judge, meddle, tree, beyond):
    """One of them has, and is one."""
    name = dns.name.from_text("a.b.c.d.e.sender.example")
    tree.put("sender.example", "a.b.c.d.e TXT true")

    def name_others(message):
        [signature] = message.answer[1]
        others = [signature.replace(signer=name.split(length)[1]) for length in range(5, 4 + MAX_SIGNERS + beyond)]
        message.answer[1] = dns.rrset.from_rdata(name, 60, signature, *others)

    assert isinstance(judge(str(name), ask=meddle(name_others, str(name))), Indeterminate if beyond else Secure)


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_number_of_denials_is_limited(judge, meddle, forge, beyond):
    name = "pk9._domainkey.sender.example"

    def add(message):
        there = sum(it.rdtype == NSEC for it in message.authority)
        for number in range(MAX_DENIERS - there + beyond):
            message.authority += forge(f"x{number}.sender.example. 60 NSEC x{number}a.sender.example. TXT")

    verdict = judge(name, ask=meddle(add, name))
    assert isinstance(verdict, Indeterminate if beyond else Absent)


@pytest.fixture
def recorded(tree, ask, anchors):
    """The true answers, as bytes, to every question of some walks."""
    tree.put("sender.example", "pk1._domainkey TXT true\nalias CNAME pk1._domainkey\n")
    wires = {}

    def recording(question):
        answer = ask(question)
        wires[question] = answer.wire
        return answer

    for name in (KEY, "alias.sender.example", "none.sender.example"):
        validate(dns.name.from_text(name), TXT, anchors, recording, time.time())
    validate(dns.name.from_text("sender.example"), SOA, anchors, recording, time.time())
    return wires


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(300))
@given(st.data())
def test_damaged_answers_end_in_a_verdict_and_never_prove_anything_untrue(recorded, anchors, data):
    damaged = data.draw(st.sampled_from(sorted(recorded, key=str)))
    wire = bytearray(recorded[damaged])
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(12, len(wire) - 1))] = data.draw(st.integers(0, 255))

    def ask(question):
        if question not in recorded:
            raise NotNowError(KEY_LOOKUP_FAILED)
        try:
            return Answer.read(bytes(wire) if question == damaged else recorded[question])
        except Malformed:
            raise NotNowError(KEY_LOOKUP_FAILED) from None

    for name in (KEY, "alias.sender.example", "none.sender.example"):
        verdict = validate(dns.name.from_text(name), TXT, anchors, ask, time.time())
        assert isinstance(verdict, Secure | Absent | Bogus | Indeterminate)
        if isinstance(verdict, Secure):
            assert [record.strings for record in verdict.records] == [(b"true",)]
            assert verdict.ttl <= 300


def test_records_of_other_names_and_types_in_an_answer_are_ignored(judge, meddle, forge):
    def add(message):
        message.answer = [
            *forge("other.sender.example. 60 TXT other"),
            *forge(f"{KEY}. 60 A 127.0.0.1"),
            *message.answer,
        ]

    verdict = judge(ask=meddle(add, KEY))
    assert isinstance(verdict, Secure)
    assert verdict.records[0].strings == (b"v=DKIM1; k=ed25519; ", b"p=abc")


def test_records_of_another_class_in_an_answer_are_ignored(judge, meddle):
    def add(message):
        message.answer.insert(0, dns.rrset.from_text(f"{KEY}.", 60, "CH", "TXT", "chaos"))

    assert isinstance(judge(ask=meddle(add, KEY)), Secure)


def test_the_signatures_of_an_answer_may_come_before_its_records(judge, meddle):
    def turn(message):
        assert message.answer[-1].rdtype == RRSIG
        message.answer.reverse()

    assert isinstance(judge(ask=meddle(turn)), Secure)


# --- from asyncio ----------------------------------------------------------------------------------------------


def test_asyncio_look_ups_run_in_parallel_threads(ask, judge):
    """Each waits in its first question until the others have asked, too."""
    names = (KEY, "none.sender.example", "pk1.wild.sender.example")
    meeting = threading.Barrier(len(names))

    def ask_together(question):
        if question.name in map(dns.name.from_text, names):
            meeting.wait(PATIENCE)
        return ask(question)

    async def look_all_up():
        return await asyncio.gather(*(asyncio.to_thread(judge, name, ask=ask_together) for name in names))

    assert asyncio.run(look_all_up()) == [judge(name) for name in names]
