"""What is called good, a warning, or bad, of a host and of what all comes to."""

import pytest

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.doctor import CheckStatus, overall
from postroom.doctor.checks import LONGEST_QUOTED, bad, good, not_found_out, quoted, skipped, warning
from postroom.doctor.expiry import Term, runs_out, time_left
from postroom.doctor.host import Believed, CertificateFacts, NotBelieved, judge_addresses, judge_certificate

DAY = 86_400
FAILED = NotNowError(OUTBOUND_FAILED, "nobody answered")


@pytest.mark.parametrize(
    ("checks", "status"),
    [
        ([], CheckStatus.GOOD),
        ([good("a", "")], CheckStatus.GOOD),
        ([good("a", ""), warning("b", "", "do")], CheckStatus.WARNING),
        ([warning("b", "", "do"), not_found_out("c", FAILED)], CheckStatus.NOT_CHECKED),
        ([not_found_out("c", FAILED), bad("d", None, "", "do"), skipped("e", "d")], CheckStatus.BAD),
    ],
)
def test_the_overall_status_is_that_of_the_worst_check(checks: list[object], status: CheckStatus) -> None:
    assert overall(checks) is status  # type: ignore[arg-type]


def test_only_unknown_checks_have_a_reason_without_being_bad() -> None:
    assert (not_found_out("a", FAILED).reason, skipped("a", "b").reason) == (OUTBOUND_FAILED, None)


def test_quoted_text_of_strangers_is_shortened() -> None:
    assert quoted("x" * LONGEST_QUOTED) == "x" * LONGEST_QUOTED
    assert quoted("x" * (LONGEST_QUOTED + 1)) == "x" * LONGEST_QUOTED + "…"


@pytest.mark.parametrize(
    ("days", "left", "ends_soon"),
    [(90, 15, False), (90, 13, True), (6, 2, False), (6, 1.4, True), (365, 13.9, True), (365, 14, False)],
)
def test_a_certificate_that_expires_in_a_few_days_is_late_unless_it_is_short_lived(
    days: float, left: float, ends_soon: bool
) -> None:
    assert runs_out(Term(0, days * DAY), (days - left) * DAY, 14) is ends_soon


@pytest.mark.parametrize(
    ("seconds", "text"), [(30 * DAY, "30 days"), (2 * DAY, "2 days"), (2 * DAY - 1, "47 hours"), (-5, "0 hours")]
)
def test_the_remaining_time_is_given_in_whole_days_or_hours(seconds: float, text: str) -> None:
    assert time_left(Term(-DAY, seconds), 0) == text


@pytest.mark.parametrize(
    ("addresses", "status", "used"),
    [
        (["192.0.1.1", "2606:4700::1"], CheckStatus.GOOD, ["192.0.1.1", "2606:4700::1"]),
        (["10.0.0.1", "192.0.1.1"], CheckStatus.WARNING, ["192.0.1.1"]),
        (["192.168.1.1", "fd00::1", "::1", "::ffff:10.0.0.1"], CheckStatus.BAD, []),
    ],
)
def test_senders_skip_private_addresses(addresses: list[str], status: CheckStatus, used: list[str]) -> None:
    check, left = judge_addresses(addresses, allow_private=False)
    assert (check.status, left) == (status, used)


def test_with_private_addresses_allowed_all_are_used() -> None:
    check, used = judge_addresses(["10.0.0.1"], allow_private=True)
    assert (check.status, used) == (CheckStatus.GOOD, ["10.0.0.1"])


def test_an_unreadable_certificate_is_still_reported() -> None:
    check = judge_certificate("nlweb.shop.example", NotBelieved(18, "self-signed certificate", None), 0)
    assert (check.status, check.found) == (CheckStatus.BAD, "senders do not trust it: self-signed certificate")


def test_the_names_of_a_certificate_are_shortened() -> None:
    shown = CertificateFacts(tuple(f"host{n}.example" for n in range(1000)), Term(0, DAY))
    check = judge_certificate("nlweb.shop.example", NotBelieved(62, "Hostname mismatch", shown), 0)
    assert len(check.found) < LONGEST_QUOTED + 100
    assert check.found.endswith("…, from 1970-01-01 to 1970-01-02)")


def test_a_six_day_certificate_is_good_until_shortly_before_its_end() -> None:
    check = judge_certificate("nlweb.shop.example", Believed(Term(-3 * DAY, 3 * DAY)), 0)
    assert check.status is CheckStatus.GOOD
