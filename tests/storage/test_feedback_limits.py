from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.aws import Deployed

from postroom.storage.limits.feedback import FeedbackLimits, Summary, SummaryIdentity

FIRST = SummaryIdentity("a.com", "buffer.com", "first", 1)


@pytest.fixture
def limits(deployed: Deployed) -> FeedbackLimits:
    return deployed.storage.feedback_limits


def test_a_domain_has_its_limit_in_each_hour(limits: FeedbackLimits) -> None:
    assert [limits.take("b.com", 7, 3) for _ in range(5)] == [True, True, True, False, False]
    assert limits.take("b.com", 8, 3)
    assert limits.take("c.com", 7, 3)


def test_a_limit_of_zero_allows_nothing(limits: FeedbackLimits) -> None:
    assert not limits.take("b.com", 7, 0)
    assert limits.take("b.com", 7, 1)


def test_the_limit_of_a_buffer_is_apart_from_the_share_of_the_domain_of_its_name(limits: FeedbackLimits) -> None:
    assert [limits.take_of_buffer("b.com", 7, 2) for _ in range(3)] == [True, True, False]
    assert limits.take("b.com", 7, 1)


def test_the_limit_is_atomic_under_threads(limits: FeedbackLimits) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: limits.take("b.com", 7, 10), range(24)))
    assert sum(taken) == 10


def test_withheld_discards_are_counted_by_code_and_one_summary_is_requested(limits: FeedbackLimits) -> None:
    assert limits.withhold("b.com", 7, "KeyRevoked")
    # Not asked for yet: whoever died in between is made good by the next.
    assert limits.withhold("b.com", 7, "KeyRevoked")
    limits.note_requested("b.com", 7)
    assert not limits.withhold("b.com", 7, "TooLate")
    assert limits.summary("b.com", 7, FIRST).codes == {"KeyRevoked": 2, "TooLate": 1}


def test_the_first_call_fixes_the_summary_for_good(limits: FeedbackLimits) -> None:
    limits.take("b.com", 7, 1)
    limits.withhold("b.com", 7, "TooLate")
    assert limits.summary("b.com", 7, FIRST) == Summary({"TooLate": 1}, FIRST, sent=False)
    limits.withhold("b.com", 7, "TooLate")
    assert limits.summary("b.com", 7, replace(FIRST, correlation="second", receiver="z.com")) == Summary(
        {"TooLate": 1}, FIRST, sent=False
    )
    limits.sent("b.com", 7, "delivered")
    assert limits.summary("b.com", 7, replace(FIRST, buffer="other.com", timestamp_ms=3)) == Summary(
        {"TooLate": 1}, FIRST, sent=True
    )


def test_counts_are_forgotten_by_the_tables_ttl(limits: FeedbackLimits, deployed: Deployed) -> None:
    limits.take("b.com", 7, 1)
    limits.withhold("c.com", 7, "TooLate")
    assert {item["ttl"]["N"] for item in deployed.rows("LimitsTable")} == {str(7 * 3600 + 3 * 86400)}
