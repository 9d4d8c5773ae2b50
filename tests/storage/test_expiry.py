"""What of a mailbox has had its time: nothing young, nothing held, nothing that senders were told would stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.storage.directory.mailboxes import MailboxRecord, read_mailbox
from postroom.storage.mail.expiry import FLOOR_DAYS, Ends, Periods, days_kept, ends_of, is_hour_over
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS
from postroom.storage.mail.register import CLOSED, OVER

NOW = 1_795_253_400_123
FOR_EVER = Periods(0, FLOOR_DAYS)


def mailbox(ttl_days: int | None = None, *, closed_days_ago: float | None = None, held: bool = False) -> MailboxRecord:
    closed_at = None if closed_days_ago is None else round((NOW - closed_days_ago * DAY_MS) / 1000)
    return MailboxRecord("a.com", ttl_days=ttl_days, closed_at=closed_at, held=held)


def ends(mailbox: MailboxRecord, periods: Periods = FOR_EVER, *, is_dm3: bool = False) -> Ends:
    return ends_of(mailbox, is_dm3=is_dm3, periods=periods, now=NOW)


def ago(days: int) -> int:
    return NOW - days * DAY_MS


@pytest.mark.parametrize(
    ("ttl_days", "told", "days"),
    [
        # Without the delivery service a mailbox has a time only if it was set.
        (None, None, 0), (0, None, 0), (30, None, 30), (365, None, 365),
        # What senders are told holds, and what was set only beyond it.
        (None, 90, 90), (30, 90, 90), (365, 90, 365), (0, 90, 0), (None, 0, 0), (30, 0, 0),
        # What nobody could have set: the floor holds, and nonsense is no time.
        (1, None, 30), (-1, None, 0), (1, 2, 30),
    ],
)  # fmt: skip
def test_a_message_stays_as_long_as_was_set_and_as_its_sender_was_told(
    ttl_days: int | None, told: int | None, days: int
) -> None:
    assert days_kept(ttl_days, told) == days
    found = ends(mailbox(ttl_days), Periods(told or 0, FLOOR_DAYS), is_dm3=told is not None)
    assert found == Ends(over=ago(days) if days else 0)


def test_a_message_expires_the_moment_its_days_are_over() -> None:
    found = ends(mailbox(40))
    assert found.why(ago(40) - 1) == OVER
    assert found.why(ago(40)) is None


@pytest.mark.parametrize(("days_ago", "long_ago"), [(None, False), (59.99, False), (60.01, True), (400, True)])
def test_a_mailbox_closed_long_ago_keeps_only_what_is_younger_than_the_floor(
    days_ago: float | None, long_ago: bool
) -> None:
    found = ends(mailbox(closed_days_ago=days_ago), Periods(0, 60))
    assert found == Ends(closed=ago(FLOOR_DAYS) if long_ago else 0)
    assert found.why(ago(FLOOR_DAYS) - 1) == (CLOSED if long_ago else None)
    assert found.why(ago(FLOOR_DAYS)) is None


def test_a_closed_mailbox_with_a_period_of_its_own_expires_by_both_rules() -> None:
    found = ends(mailbox(90, closed_days_ago=100), Periods(0, 60))
    assert [found.why(ago(days) - 1) for days in (90, 89, 30, 29)] == [OVER, CLOSED, CLOSED, None]
    assert found.before == ago(FLOOR_DAYS)


@pytest.mark.parametrize(("told", "closed"), [(0, ago(30)), (90, ago(90))])
def test_the_announced_days_hold_for_a_closed_mailbox_too(told: int, closed: int) -> None:
    assert ends(mailbox(0, closed_days_ago=1000), Periods(told, 60), is_dm3=True) == Ends(closed=closed)


@pytest.mark.parametrize("closed", [{"BOOL": True}, {"N": "1.5"}, {"S": "yesterday"}, {"N": "-5"}])
def test_a_mailbox_closed_at_an_unknown_time_keeps_everything(closed: dict[str, object]) -> None:
    found = read_mailbox("a.com", {"closed": closed})  # type: ignore[dict-item]
    assert (found.closed, found.closed_at) == (True, 0)
    assert ends(found) == Ends()


days = st.integers(-10, 10_000)
mailboxes = st.builds(
    MailboxRecord, st.just("a.com"), ttl_days=days | st.none(), closed_at=st.integers(0, NOW // 1000) | st.none()
)


@given(mailboxes, st.builds(Periods, days, days), st.booleans(), st.integers(ago(FLOOR_DAYS), NOW + DAY_MS))
def test_nothing_younger_than_the_floor_expires(
    mailbox: MailboxRecord, periods: Periods, is_dm3: bool, received: int
) -> None:
    assert ends_of(mailbox, is_dm3=is_dm3, periods=periods, now=NOW).why(received) is None


@given(mailboxes, st.integers(0, 10_000), days, st.integers(0, NOW))
def test_no_dm3_message_expires_before_the_time_that_its_sender_was_told(
    mailbox: MailboxRecord, told: int, closed_days: int, received: int
) -> None:
    why = ends_of(mailbox, is_dm3=True, periods=Periods(told, closed_days), now=NOW).why(received)
    if why:
        assert told or why == CLOSED
        assert received + told * DAY_MS < NOW


@given(mailboxes, st.builds(Periods, days, days), st.booleans(), st.integers(0, NOW))
def test_a_mailbox_under_legal_hold_keeps_everything(
    mailbox: MailboxRecord, periods: Periods, is_dm3: bool, received: int
) -> None:
    held = MailboxRecord("a.com", ttl_days=mailbox.ttl_days, closed_at=mailbox.closed_at, held=True)
    assert ends_of(held, is_dm3=is_dm3, periods=periods, now=NOW).why(received) is None


def test_an_hour_has_expired_when_its_last_object_has() -> None:
    hour = NOW - 31 * DAY_MS - HOUR_MS
    assert is_hour_over(hour, 31, NOW)
    assert not is_hour_over(hour + 1, 31, NOW)
