import random
import struct
import time

import dns.dnssec
import dns.message
import dns.name
import dns.rdataset
import dns.rrset
import dns.zone
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from dns.dnssectypes import Algorithm
from dns.rdatatype import TXT
from hypothesis import given
from hypothesis import strategies as st
from tests.names.messages import answer_of

from postroom.local.answers import answer
from postroom.names.dns.records import DnskeyRecord, DsRecord
from postroom.names.dnssec import Bogus, Indeterminate, Insecure, Policy, Secure, TrustAnchors, validate
from postroom.names.dnssec.budget import MAX_CHECKS, Budget, Exceeded
from postroom.names.dnssec.rrsets import MAX_RECORDS, Broken, Section
from postroom.names.dnssec.signatures import (
    MAX_EXPONENT_BYTES,
    MAX_KEY_BYTES,
    MAX_KEYS_PER_TAG,
    MAX_SIGNATURES,
    find_signature,
    is_expanded,
    usable_digests,
    usable_keys,
    vouched_for,
)
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY

ZONE = dns.name.from_text("sender.example")
NAME = dns.name.from_text("pk1._domainkey.sender.example")
TEXT = "$TTL 60\n@ SOA ns h 1 1 1 1 1\n@ NS ns\npk1._domainkey TXT key\n"
NOW = int(time.time())

PRIVATE_KEYS = {
    Algorithm.RSASHA256: lambda: rsa.generate_private_key(65537, 2048),
    Algorithm.RSASHA512: lambda: rsa.generate_private_key(65537, 2048),
    Algorithm.ECDSAP256SHA256: lambda: ec.generate_private_key(ec.SECP256R1()),
    Algorithm.ECDSAP384SHA384: lambda: ec.generate_private_key(ec.SECP384R1()),
    Algorithm.ED25519: ed25519.Ed25519PrivateKey.generate,
    Algorithm.ED448: ed448.Ed448PrivateKey.generate,
    Algorithm.RSASHA1: lambda: rsa.generate_private_key(65537, 2048),
}


def make_key(algorithm=Algorithm.ED25519, flags=257):
    private = PRIVATE_KEYS[algorithm]()
    return private, dns.dnssec.make_dnskey(private.public_key(), algorithm, flags)


def play(keys, anchor, change=lambda zone: None, policy=None):
    """The verdict on NAME in a zone signed by `keys`, then changed, with `anchor` (a key, or a DS) at the zone."""
    zone = dns.zone.from_text(TEXT, origin=ZONE, relativize=False)
    dns.dnssec.sign_zone(zone, keys=keys, inception=NOW - 60, expiration=NOW + 60)
    change(zone)

    def ask(question):
        message = dns.message.make_response(dns.message.make_query(*question))
        _, message.answer, message.authority = answer({ZONE: zone}, *question)
        return answer_of(message)

    kind = "DS" if isinstance(anchor, DsRecord) else "DNSKEY"
    return validate(NAME, TXT, TrustAnchors.parse(f"{ZONE} IN {kind} {anchor}"), ask, NOW, policy=policy)


@pytest.mark.parametrize("algorithm", sorted(set(PRIVATE_KEYS) - {Algorithm.RSASHA1}), ids=lambda a: a.name)
def test_supported_algorithms_are_verified(algorithm):
    key = make_key(algorithm)
    assert isinstance(play([key], key[1]), Secure)


def test_sha_1_proves_nothing_unless_allowed():
    good, old = make_key(), make_key(Algorithm.RSASHA1, flags=256)
    verdict = play([good, old], good[1])
    assert verdict == Bogus(f"{NAME} TXT: no signature of a known algorithm is there")
    assert isinstance(play([good, old], good[1], policy=Policy(accept_sha1=True)), Secure)


def test_a_zone_signed_with_sha_1_only_counts_as_unsigned_unless_allowed():
    old = make_key(Algorithm.RSASHA1)
    assert isinstance(play([old], old[1]), Insecure)
    assert isinstance(play([old], old[1], policy=Policy(accept_sha1=True)), Secure)


def test_a_key_signing_key_may_vouch_for_a_zone_signing_key():
    signing, zone_key = make_key(flags=257), make_key(Algorithm.ECDSAP256SHA256, flags=256)
    verdict = play([signing, zone_key], signing[1])
    assert isinstance(verdict, Secure)
    assert verdict.evidence.chain[-1].keys.key_tag == signing[1].key_id()
    assert verdict.evidence.signed.key_tag == zone_key[1].key_id()


@pytest.mark.parametrize(
    "changes", [{"flags": 1}, {"flags": 257 | 128}, {"protocol": 2}], ids=["no zone key", "revoked", "protocol"]
)
def test_keys_that_may_not_sign_are_not_used(changes):
    key = make_key()[1]
    assert list(usable_keys([key], Policy()).values()) == [[key]]
    assert usable_keys([key.replace(**changes)], Policy()) == {}


def same_tag(key, count):
    """Other keys of the same tag: a tag is a sum of 16-bit words, so their order does not matter."""
    words = [key.key[i : i + 2] for i in range(0, len(key.key), 2)]
    shuffled = random.Random(1)
    keys = []
    for _ in range(count):
        shuffled.shuffle(words)
        keys.append(key.replace(key=b"".join(words)))
    assert {k.key_id() for k in keys} == {key.key_id()}
    return keys


def colliding(count, private, key):
    """A zone's DNSKEY RRset of `count` keys that share the tag of the true one, which stands last."""

    def change(zone):
        records = dns.rrset.from_rdata(ZONE, 60, *same_tag(key, count), key)
        signature = dns.dnssec.sign(records, private, ZONE, key, inception=NOW - 60, expiration=NOW + 60)
        zone.replace_rdataset(ZONE, dns.rdataset.from_rdata_list(60, list(records)))
        zone.replace_rdataset(ZONE, dns.rdataset.from_rdata(60, signature))

    return change


def test_two_keys_that_share_a_tag_by_chance_do_no_harm():
    private, key = make_key()
    assert isinstance(play([(private, key)], key, colliding(1, private, key)), Secure)


def test_the_number_of_tried_keys_with_the_same_tag_is_limited():
    private, key = make_key()
    assert isinstance(play([(private, key)], key, colliding(MAX_KEYS_PER_TAG - 1, private, key)), Secure)
    verdict = play([(private, key)], key, colliding(MAX_KEYS_PER_TAG, private, key))
    assert verdict == Indeterminate(
        DNSSEC_TOO_COSTLY,
        f"{ZONE}: more than {MAX_KEYS_PER_TAG} keys share a tag, or one of them is too long, and none that was tried "
        "matches its DS",
    )


@pytest.mark.parametrize(("others", "expected"), [(MAX_KEYS_PER_TAG - 1, Secure), (MAX_KEYS_PER_TAG, Indeterminate)])
def test_two_zone_keys_with_the_same_tag_are_tried(others, expected):
    (private, signing), zone_key = make_key(), make_key(flags=256)

    def collide(zone):
        records = dns.rrset.from_rdata(ZONE, 60, signing, *same_tag(zone_key[1], others), zone_key[1])
        signature = dns.dnssec.sign(records, private, ZONE, signing, inception=NOW - 60, expiration=NOW + 60)
        zone.replace_rdataset(ZONE, dns.rdataset.from_rdata_list(60, list(records)))
        zone.replace_rdataset(ZONE, dns.rdataset.from_rdata(60, signature))

    assert isinstance(play([(private, signing), zone_key], signing, collide), expected)


def test_too_many_digests_without_a_key_are_given_up():
    key = make_key()[1]
    true = dns.dnssec.make_ds(ZONE, key, "SHA256")
    wrong = [true.replace(digest=bytes([i]) * 32) for i in range(MAX_CHECKS)]
    keys = usable_keys([key], Policy())
    assert vouched_for(ZONE, keys, [*wrong[1:], true], Budget()) == {key: true}
    with pytest.raises(Exceeded, match=f"more than {MAX_CHECKS} signature checks would be needed"):
        vouched_for(ZONE, keys, [*wrong, true], Budget())


@pytest.mark.parametrize(("count", "expected"), [(MAX_RECORDS, Secure), (MAX_RECORDS + 1, Indeterminate)])
def test_the_size_of_a_record_set_is_limited(count, expected):
    private, key = make_key()

    def fill(zone):
        records = dns.rrset.from_text(NAME, 60, "IN", "TXT", *map(str, range(count)))
        signature = dns.dnssec.sign(records, private, ZONE, key, inception=NOW - 60, expiration=NOW + 60)
        zone.replace_rdataset(NAME, dns.rdataset.from_rdata_list(60, list(records)))
        zone.replace_rdataset(NAME, dns.rdataset.from_rdata(60, signature))

    assert isinstance(play([(private, key)], key, fill), expected)


def test_a_zone_with_too_many_keys_is_given_up():
    private, key = make_key()
    verdict = play([(private, key)], key, colliding(MAX_RECORDS, private, key))
    assert verdict == Indeterminate(
        DNSSEC_TOO_COSTLY,
        f"{ZONE} DNSKEY: more than {MAX_RECORDS} records, more than a key record or a zone's keys ever need",
    )


def test_a_foreign_key_of_the_same_tag_does_not_match_the_ds():
    """A tag is no identity: the attacker's key has the tag of the true one and signs the whole zone."""
    foreign = make_key()
    true = dns.dnssec.make_ds(ZONE, same_tag(foreign[1], 1)[0], "SHA256")
    assert true.key_tag == foreign[1].key_id()
    verdict = play([foreign], true)
    assert verdict == Bogus(f"no DNSKEY of {ZONE} matches its DS")


def test_the_keys_of_a_zone_are_signed_in_its_own_name():
    private, key = make_key()

    def sign_in_another_name(zone):
        records = dns.rrset.from_rdata(ZONE, 60, key)
        above = ZONE.parent()
        signature = dns.dnssec.sign(records, private, above, key, inception=NOW - 60, expiration=NOW + 60)
        zone.replace_rdataset(ZONE, dns.rdataset.from_rdata(60, signature))

    assert isinstance(play([(private, key)], key, sign_in_another_name), Bogus)


RECORDS = dns.rrset.from_text(NAME, 60, "IN", "TXT", "key")
PRIVATE, PUBLIC = make_key()
KEYS = usable_keys([PUBLIC], Policy())


def find(*signatures, keys=KEYS, now=NOW, policy=None, signer=ZONE):
    return find_signature(signed(signatures), signer, keys, now, policy or Policy(), Budget())


def signed(signatures):
    message = dns.message.make_response(dns.message.make_query(NAME, TXT))
    message.answer = [RECORDS, *([dns.rrset.from_rdata(NAME, 60, *signatures)] if signatures else [])]
    return Section(answer_of(message).answer).find(NAME, TXT)


def sign(**changes):
    signature = dns.dnssec.sign(RECORDS, PRIVATE, ZONE, PUBLIC, inception=NOW - 60, expiration=NOW + 60)
    return signature.replace(**changes)


def test_the_number_of_tried_signatures_is_limited():
    broken = [sign(signature=bytes([i]) * 64) for i in range(MAX_SIGNATURES)]
    assert find(*broken[1:], sign()) == (sign(), PUBLIC)
    with pytest.raises(Exceeded, match=f"more than {MAX_SIGNATURES} signatures, and none that was tried holds"):
        find(*broken, sign())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": 3}, "does not hold"),
        ({"labels": 5}, "for a name of 5 labels"),
        ({"inception": NOW + 1}, "not valid before"),
        ({"expiration": NOW - 1}, "expired"),
        ({"key_tag": 1}, "no trusted key 1"),
        ({"algorithm": Algorithm.RSASHA1}, "no signature of a known algorithm"),
        ({"original_ttl": 61}, "does not hold"),
        ({"signature": b""}, "does not hold"),
    ],
)
def test_a_failed_signature_has_its_cause(changes, said):
    with pytest.raises(Broken, match=said):
        find(sign(**changes))


@pytest.mark.parametrize("at", [NOW - 60, NOW + 60], ids=["first", "last"])
def test_a_signature_is_valid_from_its_first_to_its_last_second(at):
    assert find(sign(), now=at)


@pytest.mark.parametrize("at", [NOW - 61 - 5, NOW + 61 + 5], ids=["early", "late"])
def test_the_allowed_clock_skew_is_applied(at):
    assert find(sign(), now=at, policy=Policy(skew_seconds=6))
    with pytest.raises(Broken):
        find(sign(), now=at, policy=Policy(skew_seconds=5))


def test_times_wrap_around_after_32_bits():
    around = resigned(sign(inception=2**32 - 60, expiration=60))
    for now in (2**32 - 60, 2**32 - 1, 2**32 + 1, 2**32 + 60):
        assert find(around, now=now)
    with pytest.raises(Broken, match="not valid before"):
        find(around, now=2**32 - 61)
    with pytest.raises(Broken, match="expired"):
        find(around, now=2**32 + 61)


def resigned(signature):
    """The signature with these fields, made anew."""
    body = signature.replace(signature=b"").to_wire()[:18] + signature.signer.to_digestable()
    owner = NAME.to_digestable()
    for record in RECORDS:
        data = record.to_digestable()
        body += owner + struct.pack("!HHIH", TXT, 1, signature.original_ttl, len(data)) + data
    return signature.replace(signature=PRIVATE.sign(body))


def test_a_signature_of_another_signer_is_ignored():
    with pytest.raises(Broken, match="no signature of a known algorithm"):
        find(sign(), signer=ZONE.parent())


@pytest.mark.parametrize(
    ("owner", "labels", "expanded"),
    [
        ("a.example.", 2, False),
        ("a.example.", 1, True),
        ("*.example.", 1, False),
        ("*.example.", 0, True),
        (".", 0, False),
    ],
)
def test_a_signature_with_fewer_labels_than_its_owner_is_of_a_wildcard(owner, labels, expanded):
    assert is_expanded(dns.name.from_text(owner), sign(labels=labels)) is expanded


def ds(algorithm, digest_type):
    return DsRecord("IN", "DS", 1, algorithm, digest_type, b"\0" * {1: 20, 2: 32, 4: 48}.get(digest_type, 32))


@pytest.mark.parametrize(
    ("offered", "sha_1", "used"),
    [
        ([1, 2, 4], False, [2, 4]),
        ([1, 2], True, [2]),
        ([1], True, [1]),
        ([1], False, []),
        ([3], True, []),
    ],
)
def test_a_sha_1_digest_is_used_only_if_allowed_and_alone(offered, sha_1, used):
    records = [ds(Algorithm.ED25519, it) for it in offered]
    assert [it.digest_type for it in usable_digests(records, Policy(accept_sha1=sha_1))] == used


def test_a_ds_of_an_unknown_algorithm_does_not_affect_others():
    """Its SHA-256 says nothing of the key that a digest of SHA-1 is for."""
    records = [ds(Algorithm.DSA, 2), ds(Algorithm.ED25519, 1)]
    assert usable_digests(records, Policy(accept_sha1=True)) == records[1:]


@pytest.mark.parametrize(
    ("exponent", "size", "expected"),
    [
        (b"\1\3", MAX_KEY_BYTES, Broken),
        (b"\3\1\0\1", MAX_KEY_BYTES, Broken),
        (b"\3\1\0\1", MAX_KEY_BYTES + 1, Exceeded),
        (b"\x08" + b"\xff" * MAX_EXPONENT_BYTES, 400, Broken),
        (b"\x09" + b"\xff" * (MAX_EXPONENT_BYTES + 1), 400, Exceeded),
        (b"\0\0\3\1\0\1", 400, Exceeded),
        (b"", 0, Exceeded),
    ],
    ids=["short exponent", "longest", "too long", "longest exponent", "longer one", "much longer one", "empty"],
)
def test_the_length_of_a_key_is_limited(exponent, size, expected):
    modulus = b"\xff" * (size - len(exponent))
    key = DnskeyRecord("IN", "DNSKEY", 257, 3, Algorithm.RSASHA256, exponent + modulus)
    signature = sign(algorithm=Algorithm.RSASHA256, key_tag=key.key_id(), signature=modulus)
    with pytest.raises(expected):
        find(signature, keys=usable_keys([key], Policy()))


@given(st.sampled_from(sorted(PRIVATE_KEYS)), st.binary(max_size=80), st.binary(max_size=80))
def test_no_key_and_no_signature_breaks_the_check(algorithm, key_bytes, signature_bytes):
    key = DnskeyRecord("IN", "DNSKEY", 257, 3, algorithm, key_bytes)
    signature = sign(algorithm=algorithm, key_tag=key.key_id(), signature=signature_bytes)
    with pytest.raises((Broken, Exceeded)):
        find(signature, keys=usable_keys([key], Policy()))
