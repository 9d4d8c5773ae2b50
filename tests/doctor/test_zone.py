"""What is said of a zone, from verdicts: the real look-ups are played in tests/cli/test_doctor.py."""

import pytest

from postroom.core.reason import Reason
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.doctor.checks import CheckStatus
from postroom.doctor.zone import ZoneFound, judge_zone
from postroom.names.dnssec import Absent, Alias, Bogus, EndlessAlias, Evidence, Indeterminate, Insecure, Link, Secure
from postroom.names.dnssec.evidence import SignatureWindow
from postroom.names.dnssec.verdicts import Verdict
from postroom.protocols.nlweb.reasons import DNSSEC_BOGUS, KEY_LOOKUP_FAILED, KEY_NOT_FOUND, SENDER_NOT_SIGNED

NOW, DAY = 1_800_000_000, 86_400


def window(begun_days_ago: float, days_left: float) -> SignatureWindow:
    return SignatureWindow(13, 4711, int(NOW - begun_days_ago * DAY), int(NOW + days_left * DAY))


FRESH = window(10, 20)


def evidence(
    rdtype: str = "SOA",
    *,
    keys: SignatureWindow = FRESH,
    signed: SignatureWindow = FRESH,
    aliases: tuple[Alias, ...] = (),
) -> Evidence:
    links = tuple(Link(zone, 2, "ab" * 32, keys) for zone in (".", "example.", "shop.example."))
    return Evidence("shop.example.", rdtype, aliases, links, signed)


def secure(rdtype: str = "SOA", *, keys: SignatureWindow = FRESH, signed: SignatureWindow = FRESH) -> Secure:
    return Secure((), 60, evidence(rdtype, keys=keys, signed=signed))


UNKNOWN = Indeterminate(KEY_LOOKUP_FAILED, "no resolver answered")
G, B, N = CheckStatus.GOOD, CheckStatus.BAD, CheckStatus.NOT_CHECKED


@pytest.mark.parametrize(
    ("soa", "ds", "dnskey", "statuses", "reason"),
    [
        (secure(), None, None, (G, G, G), None),
        (Absent("nodata", 60, evidence()), None, None, (G, G, G), None),
        (Absent("nxdomain", 60, evidence()), None, None, (B, N, N), KEY_NOT_FOUND),
        (Insecure("no DS", 60, None), None, None, (B, N, N), SENDER_NOT_SIGNED),
        (EndlessAlias("a circle"), None, None, (B, N, N), KEY_RECORD_INVALID),
        (UNKNOWN, None, None, (N, N, N), None),
        (Bogus("SOA"), Bogus("DS"), Bogus("DNSKEY"), (B, N, N), DNSSEC_BOGUS),
        (Bogus("SOA"), UNKNOWN, Bogus("DNSKEY"), (N, N, N), None),
        (Bogus("SOA"), secure("DS"), Bogus("DNSKEY"), (G, B, N), DNSSEC_BOGUS),
        (Bogus("SOA"), secure("DS"), UNKNOWN, (G, N, N), None),
        (Bogus("SOA"), secure("DS"), secure("DNSKEY"), (G, G, B), DNSSEC_BOGUS),
    ],
)
def test_a_problem_is_reported_once_and_dependent_checks_are_skipped(
    soa: Verdict, ds: Verdict | None, dnskey: Verdict | None, statuses: tuple[CheckStatus, ...], reason: Reason | None
) -> None:
    checks = list(judge_zone(ZoneFound("shop.example", soa, ds, dnskey), (), NOW))
    assert [check.name for check in checks] == ["delegation", "ds", "signatures"]
    assert tuple(check.status for check in checks) == statuses
    assert next((check.reason for check in checks if check.status is B), None) == reason


def test_an_answer_without_the_keys_of_the_trust_anchor_is_the_resolvers_fault() -> None:
    bogus = Bogus(". has a DS but no DNSKEY")
    delegation, *_ = judge_zone(ZoneFound("shop.example", bogus, bogus, bogus), (), NOW)
    assert (delegation.status, delegation.reason) == (B, DNSSEC_BOGUS)
    assert delegation.found == ". has a DS but no DNSKEY: not even the keys of the trust anchor are proven"
    assert delegation.next.startswith("use another resolver (--resolver): this one, or a proxy in front of it, removes")
    further = Bogus("a DS", chain=evidence().chain[:1])
    delegation, *_ = judge_zone(ZoneFound("shop.example", further, further, further), (), NOW)
    assert delegation.next.startswith("tell the operators of the parent zone")


def test_invalid_keys_are_reported() -> None:
    found = ZoneFound("shop.example", Bogus("the SOA's"), secure("DS"), Bogus("the keys'"))
    delegation, ds, _ = judge_zone(found, (), NOW)
    assert delegation.found.startswith("there is a DS record for shop.example in the zone above it, proven by . → ")
    assert ds.found == "the keys'"
    assert ds.next.startswith("publish in the parent zone the DS of a key that is in the zone")


def test_invalid_signatures_are_reported() -> None:
    found = ZoneFound("shop.example", Bogus("the SOA's"), secure("DS"), secure("DNSKEY"))
    *_, signatures = judge_zone(found, (), NOW)
    assert signatures.found == "the SOA's"
    assert signatures.next.startswith("sign the zone again")


def test_an_alias_is_reported_with_the_zone_of_its_target() -> None:
    soa = Secure((), 60, evidence(aliases=(Alias("alias.example.", "shop.example."),)))
    delegation, _, _ = judge_zone(ZoneFound("alias.example", soa), (), NOW)
    assert delegation.found.startswith("alias.example leads to shop.example. in the zone shop.example.: ")


@pytest.mark.parametrize(
    ("soa", "others", "status", "found"),
    [
        (secure(), (), G, "shop.example. DNSKEY, in 20 days"),
        (secure(signed=window(10, 15)), (), G, "shop.example. SOA, in 15 days"),
        (secure(), (secure("TXT", signed=window(20, 1.5)),), CheckStatus.WARNING, "shop.example. TXT, in 36 hours"),
        (
            secure(),
            (Absent("nodata", 60, evidence("TXT", signed=window(20, 1))),),
            CheckStatus.WARNING,
            "the absence of shop.example. TXT, in 24 hours",
        ),
        (secure(keys=window(20, 1.5)), (), CheckStatus.WARNING, "shop.example. DNSKEY, in 36 hours"),
        # Signed for each answer, for two days: half of its time is left.
        (secure(signed=window(1, 1)), (), G, "shop.example. SOA, in 24 hours"),
        # That which ends first is none that ought to have been renewed.
        (
            secure(signed=window(1, 1)),
            (secure("TXT", signed=window(20, 1.5)),),
            CheckStatus.WARNING,
            "TXT, in 36 hours",
        ),
        (secure(), (Bogus("TXT"), UNKNOWN), G, "shop.example. DNSKEY, in 20 days"),
    ],
)
def test_the_signature_that_expires_first_is_reported(
    soa: Verdict, others: tuple[Verdict, ...], status: CheckStatus, found: str
) -> None:
    *_, check = judge_zone(ZoneFound("shop.example", soa), others, NOW)
    assert (check.status, check.found.endswith(found)) == (status, True), check.found


def test_signature_times_wrap_around() -> None:
    late = 2**32 - DAY
    round_the_corner = SignatureWindow(13, 4711, late - 10 * DAY, 20 * DAY)
    *_, check = judge_zone(
        ZoneFound("shop.example", secure(keys=round_the_corner, signed=round_the_corner)), (), float(late)
    )
    assert (check.status, check.found.endswith("in 21 days")) == (G, True)
