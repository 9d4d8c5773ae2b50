import pytest
from tests.aws import Deployed

from postroom.core.reasons import TOO_LATE
from postroom.storage.layout import RowKey
from postroom.storage.mail.feedback_log import FeedbackLog, FeedbackRecord

KEY = RowKey("a.com#0", "m#0000000001000#one")


@pytest.fixture
def log(deployed: Deployed) -> FeedbackLog:
    deployed.storage.register.discard(KEY, TOO_LATE, 100)
    return deployed.storage.feedback_log


def test_the_identity_of_a_feedback_is_written_once_and_repeated_ever_after(log: FeedbackLog) -> None:
    assert log.find(KEY) is None
    assert log.note(KEY, "buffer.com", "first", 1) == FeedbackRecord("buffer.com", "first", 1, sent=False)
    assert log.note(KEY, "buffer.com", "second", 2) == FeedbackRecord("buffer.com", "first", 1, sent=False)
    assert log.find(KEY) == FeedbackRecord("buffer.com", "first", 1, sent=False)


def test_sent_feedback_stays_sent(log: FeedbackLog) -> None:
    log.note(KEY, "buffer.com", "first", 1)
    log.sent(KEY, "delivered")
    assert log.find(KEY) == FeedbackRecord("buffer.com", "first", 1, sent=True)
    assert log.note(KEY, "buffer.com", "second", 2) == FeedbackRecord("buffer.com", "first", 1, sent=True)


def test_feedback_given_up_before_it_had_an_identity_gets_none(log: FeedbackLog) -> None:
    log.sent(KEY, "given up")
    found, noted = log.find(KEY), log.note(KEY, "buffer.com", "late", 1)
    assert found is not None
    assert found.sent
    assert noted.sent


def test_a_swept_row_gets_no_feedback(log: FeedbackLog, deployed: Deployed) -> None:
    swept = RowKey("a.com#0", "m#0000000000001#swept")
    before = deployed.rows("PostTable")
    assert log.note(swept, "buffer.com", "first", 1).sent
    log.sent(swept, "delivered")
    assert log.find(swept) is None
    assert deployed.rows("PostTable") == before


def test_noting_feedback_leaves_the_tombstone_a_tombstone(log: FeedbackLog, deployed: Deployed) -> None:
    log.note(KEY, "buffer.com", "first", 1)
    log.sent(KEY, "delivered")
    row = deployed.storage.register.find(KEY)
    assert row is not None
    assert row.discarded is TOO_LATE
