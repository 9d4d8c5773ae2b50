"""What is said of a key record, from verdicts: the real look-ups are played in tests/cli/test_doctor.py."""

import dns.name
import dns.rdata
import pytest

from postroom.core.reason import Reason
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.doctor.checks import CheckStatus
from postroom.doctor.keys import judge_key
from postroom.names.dnssec import Bogus, EndlessAlias, Evidence, Indeterminate, Insecure, Link, Secure, Verdict
from postroom.names.dnssec.evidence import SignatureWindow
from postroom.protocols.nlweb.key_record import record_strings, record_text
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    DNSSEC_TOO_COSTLY,
    KEY_NOT_FOUND,
    KEY_REVOKED,
    SENDER_NOT_SIGNED,
)

OWNER = dns.name.from_text("pk1._domainkey.shop.example")
WINDOW = SignatureWindow(13, 4711, 1_700_000_000, 1_800_000_000)
EVIDENCE = Evidence(str(OWNER), "TXT", (), (Link(".", 2, "ab" * 32, WINDOW),), WINDOW)
KEY = PrivateKey.generate("rsa")


def txt(text: str) -> dns.rdata.Rdata:
    return dns.rdata.from_text("IN", "TXT", " ".join(f'"{part}"' for part in record_strings(text)))


def test_a_good_key_is_described_by_its_kind_and_fingerprint() -> None:
    found = judge_key("pk1", OWNER, Secure((txt(record_text(KEY.public)),), 60, EVIDENCE))
    assert (found.record.status, found.strength.status, found.key) == (CheckStatus.GOOD, CheckStatus.GOOD, KEY.public)
    assert (found.record.name, found.strength.name) == ("key record pk1", "key pk1")
    assert found.strength.found == f"RSA of 2048 bits, {KEY.public.fingerprint}"


@pytest.mark.parametrize(
    ("verdict", "reason", "todo"),
    [
        (Insecure("no DS", 60, None), SENDER_NOT_SIGNED, "sign the zone of pk1._domainkey.shop.example"),
        (Bogus("does not hold"), DNSSEC_BOGUS, "sign the zone of pk1._domainkey.shop.example again"),
        (EndlessAlias("a circle"), KEY_RECORD_INVALID, "and no other key record"),
        (Secure((txt("v=DKIM1; p=%%"),), 60, EVIDENCE), KEY_RECORD_INVALID, "and no other key record"),
        (Secure((txt("v=DKIM1; p="),), 60, EVIDENCE), KEY_REVOKED, "publish another key"),
        (Secure((txt("other"),), 60, EVIDENCE), KEY_NOT_FOUND, "at pk1._domainkey.shop.example, or name"),
    ],
)
def test_an_unproven_or_unreadable_record(verdict: Verdict, reason: Reason, todo: str) -> None:
    found = judge_key("pk1", OWNER, verdict)
    assert (found.record.status, found.record.reason) == (CheckStatus.BAD, reason)
    assert todo in found.record.next
    assert (found.strength.status, found.key) == (CheckStatus.NOT_CHECKED, None)


def test_a_record_may_be_good_and_its_key_not() -> None:
    found = judge_key("pk1", OWNER, Secure((txt(f"{record_text(KEY.public)}; s=email"),), 60, EVIDENCE))
    assert (found.record.status, found.key) == (CheckStatus.GOOD, None)
    assert (found.strength.status, found.strength.reason) == (CheckStatus.BAD, KEY_UNUSABLE)
    assert found.strength.found == "s= keeps the key for other services"


def test_a_failed_look_up_is_not_bad() -> None:
    found = judge_key("pk1", OWNER, Indeterminate(DNSSEC_TOO_COSTLY, "too many keys"))
    assert (found.record.status, found.record.reason) == (CheckStatus.NOT_CHECKED, DNSSEC_TOO_COSTLY)
    assert found.strength.status is CheckStatus.NOT_CHECKED
