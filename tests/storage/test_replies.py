import pytest
from tests.aws import Deployed

from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED, STILL_WORKING
from postroom.storage.layout import RowKey
from postroom.storage.mail.replies import MAX_INLINE_BYTES, Lease, Replies
from postroom.storage.mail.seen import Known

LONG = '"' + "é" * (MAX_INLINE_BYTES // 2) + '"'


@pytest.fixture
def replies(deployed: Deployed) -> Replies:
    return deployed.storage.replies


def begin(replies: Replies, now: int = 100, digest: str = "hash") -> Lease:
    return replies.begin("n#1", digest, now=now, until=now + 30, forget_at=1000)


def finish(replies: Replies, lease: Lease, reply: str) -> None:
    replies.finish(lease, reply, at_ms=100_000, random_id=f"until{lease.until}")


def test_the_first_takes_the_lease(replies: Replies) -> None:
    assert begin(replies) == Lease("n#1", 130)


def test_a_duplicate_of_a_request_in_progress_is_a_not_now_error(replies: Replies) -> None:
    begin(replies)
    for now in (100, 115, 130):
        with pytest.raises(NotNowError) as caught:
            begin(replies, now)
        assert caught.value.reason is STILL_WORKING


def test_the_lease_of_a_dead_function_is_taken_over(replies: Replies) -> None:
    begin(replies)
    assert begin(replies, 131) == Lease("n#1", 161)
    with pytest.raises(NotNowError):
        begin(replies, 132)


@pytest.mark.parametrize("reply", ['{"a":1}', "null", LONG])
def test_a_duplicate_gets_the_remembered_reply_for_as_long_as_it_is_remembered(replies: Replies, reply: str) -> None:
    finish(replies, begin(replies), reply)
    for now in (101, 131, 1000):
        assert begin(replies, now).reply == reply
    assert begin(replies, 1001).reply is None


def test_a_short_reply_is_in_its_row_and_a_longer_one_in_the_bucket(replies: Replies, deployed: Deployed) -> None:
    longest = '"' + "é" * (MAX_INLINE_BYTES // 2 - 1) + '"'
    finish(replies, begin(replies), longest)
    [row] = deployed.rows("SeenTable")
    assert row["reply"]["S"] == longest
    assert deployed.objects() == {}
    finish(replies, replies.begin("n#2", "hash", now=100, until=130, forget_at=1000), longest + " ")
    [(name, data)] = deployed.objects().items()
    assert name.startswith("reply/")
    assert data.decode() == longest + " "


def test_another_hash_is_a_correlation_reused_whether_answered_or_not(replies: Replies) -> None:
    lease = begin(replies)
    for answered in (False, True):
        if answered:
            finish(replies, lease, "1")
        for now in (101, 140):
            with pytest.raises(TheirError) as caught:
                begin(replies, now, "other")
            assert caught.value.reason is CORRELATION_REUSED


def test_a_message_that_was_filed_under_this_correlation_is_no_request(replies: Replies, deployed: Deployed) -> None:
    deployed.storage.seen.claim_home("n#1", "hash", RowKey("a.com#0", "m#0000000000001#x"), now=100, forget_at=1000)
    with pytest.raises(TheirError) as caught:
        begin(replies)
    assert caught.value.reason is CORRELATION_REUSED


def test_a_request_that_was_answered_has_no_home_for_the_worker(replies: Replies, deployed: Deployed) -> None:
    replies.finish(begin(replies), "{}", at_ms=1, random_id="x")
    seen = deployed.storage.seen
    home = RowKey("a.com#0", "m#0000000000001#x")
    assert seen.claim_home("n#1", "hash", home, now=100, forget_at=1000) == Known("hash", None)
    assert seen.find("n#1", now=100) == Known("hash", None)


def test_a_request_that_died_without_a_reply_was_not_answered_and_may_be_filed_after_its_lease(
    replies: Replies, deployed: Deployed
) -> None:
    lease = begin(replies)
    seen = deployed.storage.seen
    home = RowKey("a.com#0", "m#0000000000001#x")
    assert seen.find("n#1", now=100) is None
    with pytest.raises(NotNowError) as waiting:
        seen.claim_home("n#1", "hash", home, now=lease.until, forget_at=1000)
    assert waiting.value.reason is STILL_WORKING
    assert seen.claim_home("n#1", "other", home, now=lease.until + 1, forget_at=1000).hash == "hash"
    assert seen.claim_home("n#1", "hash", home, now=lease.until + 1, forget_at=1000) == Known("hash", home)


def test_a_released_request_can_be_taken_at_once(replies: Replies) -> None:
    replies.release(begin(replies))
    assert begin(replies, 101) == Lease("n#1", 131)


def test_a_late_function_neither_releases_nor_answers_a_request_that_was_taken_over(replies: Replies) -> None:
    zombie = begin(replies)
    heir = begin(replies, 131)
    replies.release(zombie)
    finish(replies, zombie, '"zombie"')
    with pytest.raises(NotNowError):
        begin(replies, 132)
    finish(replies, heir, '"heir"')
    finish(replies, zombie, '"zombie"')
    assert begin(replies, 133).reply == '"heir"'


def test_an_answered_request_cannot_be_released(replies: Replies) -> None:
    lease = begin(replies)
    finish(replies, lease, LONG)
    replies.release(lease)
    assert begin(replies, 101).reply == LONG
