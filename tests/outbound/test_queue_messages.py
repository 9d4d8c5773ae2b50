import pytest
from tests.functions.samples import MADE_AT, RECEIVER, SENDER, notice_row

from postroom.outbound.queue_messages import Notice, SummaryDue, read_notice
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB
from postroom.reasons import Reason

NOTICE = Notice(notice_row(MADE_AT), Reason.TOO_LATE, RECEIVER, SENDER, "c", "0" * 64, POLLYWEB, MADE_AT * 1000, 2)
SUMMARY = SummaryDue(RECEIVER, SENDER, 498_681, NLWEB, 1)


@pytest.mark.parametrize("notice", [NOTICE, SUMMARY])
def test_a_notice_travels_and_comes_back_as_it_was(notice: Notice | SummaryDue) -> None:
    assert read_notice(notice.encode()) == notice


BODIES = [
    *("", "[]", "1", "null", "{}", "[" * 100_000),
    NOTICE.encode().replace('"form": 1', '"form": 2'),
    NOTICE.encode().replace('"tries": 2', '"tries": "2"'),
    NOTICE.encode().replace(f'"since": {MADE_AT}000', '"since": 1e999'),
    NOTICE.encode().replace('"TooLate"', "[]"),
    SUMMARY.encode().replace("498681", "true"),
    SUMMARY.encode().replace("nlweb.org", "other.org"),
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_none_of_ours_is_told_by_one_of_three_errors(body: str) -> None:
    assert body not in (NOTICE.encode(), SUMMARY.encode())
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_notice(body)
