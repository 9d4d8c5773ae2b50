import contextlib

import dns.dnssec
import dns.name
import dns.rdata
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import SettingsError
from postroom.names.dnssec import TrustAnchors

ROOT = dns.name.root
# The keys of the root as published (https://data.iana.org/root-anchors/root-anchors.xml).
KSK_2017 = (
    "257 3 8 AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJzkKTOiW1vkIbzxeF3+/4RgWOq7HrxRixHlFlExOLAJr5emLvN7SWXgnLh"
    "4+B5xQlNVz8Og8kvArMtNROxVQuCaSnIDdD5LKyWbRd2n9WGe2R8PzgCmr3EgVLrjyBxWezF0jLHwVN8efS3rCj/EWgvIWgb9tarpVUDK/"
    "b58Da+sqqls3eNbuv7pr+eoZG+SrDK6nWeL3c6H5Apxz7LjVc1uTIdsIXxuOLYA4/ilBmSVIzuDWfdRUfhHdY6+cn8HFRm+2hM8AnXGXws"
    "9555KrUB5qihylGa8subX2Nn6UwNR1AkUTV74bU="
)
KSK_2024 = (
    "257 3 8 AwEAAa96jeuknZlaeSrvyAJj6ZHv28hhOKkx3rLGXVaC6rXTsDc449/cidltpkyGwCJNnOAlFNKF2jBosZBU5eeHspaQWOmO"
    "ElZsjICMQMC3aeHbGiShvZsx4wMYSjH8e7Vrhbu6irwCzVBApESjbUdpWWmEnhathWu1jo+siFUiRAAxm9qyJNg/wOZqqzL/dL/q8PkcRU"
    "5oUKEpUge71M3ej2/7CPqpdVwuMoTvoB+ZOT4YeGyxMvHmbrxlFzGOHOijtzN+u1TQNatX2XBuzZNQ1K+s2CXkPIZo7s6JgZyvaBevYtxP"
    "vYLw4z9mR7K2vaF18UYH9Z9GNUUeayffKC73PYc="
)
DIGEST = "13 2 " + "00" * 32


@pytest.mark.parametrize(("key", "tag"), [(KSK_2017, 20326), (KSK_2024, 38696)])
def test_the_default_is_both_keys_of_the_root(key, tag):
    record = dns.rdata.from_text("IN", "DNSKEY", key)
    ds = dns.dnssec.make_ds(".", record, "SHA256")
    assert ds.key_tag == tag
    assert ds in TrustAnchors.parse().zones[ROOT]


def test_an_anchor_may_be_a_dnskey():
    assert TrustAnchors.parse(f". 3600 IN DNSKEY {KSK_2017}").zones[ROOT] == (TrustAnchors.parse().zones[ROOT][0],)


def test_any_zone_may_be_an_anchor_and_the_nearest_one_is_used():
    anchors = TrustAnchors.parse(f"; ours\nexample. IN DS 1 {DIGEST}\nb.example. IN DS 1 {DIGEST}\n")
    nearest = {"a.b.example": "b.example", "b.example": "b.example", "c.example": "example", "example": "example"}
    for name, anchor in nearest.items():
        assert anchors.above(dns.name.from_text(name)) == dns.name.from_text(anchor)
    assert anchors.above(dns.name.from_text("example.test")) is None


def test_a_negative_anchor_applies_down_to_the_next_anchor():
    anchors = TrustAnchors.parse(f". IN DS 1 {DIGEST}\nb.a.example. IN DS 1 {DIGEST}", "a.example, Test.")
    negative = {"a.example": "a.example", "x.a.example": "a.example", "b.a.example": None, "c.test": "test", "d": None}
    for name, expected in negative.items():
        above = anchors.negative_above(dns.name.from_text(name))
        assert above == (expected and dns.name.from_text(expected))


@pytest.mark.parametrize("names", ["example", "other, EXAMPLE."])
def test_a_name_that_is_both_kinds_of_anchor_stops_the_start(names):
    with pytest.raises(SettingsError, match=r"example\. is both a trust anchor and a negative one"):
        TrustAnchors.parse(f"example. IN DS 1 {DIGEST}", names)


@pytest.mark.parametrize("names", ["a..b", "ü.example", "a" * 64])
def test_a_negative_anchor_with_an_invalid_name_stops_the_start(names):
    with pytest.raises(SettingsError, match="is not a DNS name"):
        TrustAnchors.parse(negative=names)


@pytest.mark.parametrize("text", ["", "; nothing", ". IN TXT x", "hello", ". IN DS 1 13", ". IN DS 1 13 2 00"])
def test_anything_else_stops_the_start(text):
    with pytest.raises(SettingsError, match="trust anchor"):
        TrustAnchors.parse(text)


@given(st.text(), st.text())
def test_any_text_is_parsed_or_refused(text, negative):
    with contextlib.suppress(SettingsError):
        assert TrustAnchors.parse(text).zones
    with contextlib.suppress(SettingsError):
        assert TrustAnchors.parse(negative=negative).zones
