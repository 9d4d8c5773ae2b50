"""Validity of requests: how long they count (DCP: Validity), and the clock that they are dated by."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.protocols.dcp.peer_clock import PeerClock, validity_time
from postroom.protocols.dcp.reasons import DCP_EXPIRED, DCP_TIME_TRAVEL, DCP_VALIDITY_INVALID
from postroom.protocols.dcp.validity import TtlLimits, Validity, check_validity, forget_at, read_validity

NOW, SLOP = 1_700_000_000.25, 10.0
LIMITS = TtlLimits(15, 3600, 120)
GOOD = {"time": 1578683050, "ttl": 15.5, "stamp": "s"}


@pytest.mark.parametrize(
    ("ttl", "granted"),
    [(None, 120), (15, 15), (14.9, 15), (-5, 15), (3600, 3600), (3600.1, 3600), (1e308, 3600), (60.5, 60.5)],
)
def test_a_ttl_is_kept_between_the_limits(ttl: float | None, granted: float) -> None:
    assert LIMITS.granted(ttl) == granted


def test_without_a_default_the_minimum_is_granted() -> None:
    assert TtlLimits(15, 3600).granted(None) == 15


def test_a_default_is_limited_too() -> None:
    assert TtlLimits(15, 60, 120).granted(None) == 60


def test_validity_is_read() -> None:
    assert read_validity(GOOD) == Validity(1578683050, 15.5, "s")
    assert read_validity({"time": 0.5, "stamp": "__proto__", "more": 1}) == Validity(0.5, None, "__proto__")


@pytest.mark.parametrize(
    "change",
    [
        {"time": None}, {"time": "1578683050"}, {"time": True}, {"time": []}, {"ttl": None}, {"ttl": "15"},
        {"ttl": False}, {"stamp": None}, {"stamp": ""}, {"stamp": 7},
    ],
)  # fmt: skip
def test_a_malformed_validity_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(TheirError) as caught:
        read_validity({**GOOD, **change})
    assert caught.value.reason is DCP_VALIDITY_INVALID


@pytest.mark.parametrize("value", [None, [], "", {}, 7])
def test_a_missing_validity_is_refused(value: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_validity(value)
    assert caught.value.reason is DCP_VALIDITY_INVALID


def reason_at(time: float, ttl: float | None = 60) -> object:
    try:
        check_validity(Validity(time, ttl, "s"), LIMITS, SLOP, NOW)
    except TheirError as error:
        return error.reason
    return None


def test_equality_passes_at_both_ends() -> None:
    assert reason_at(NOW + SLOP) is None
    assert reason_at(NOW + SLOP + 0.01) is DCP_TIME_TRAVEL
    assert reason_at(NOW - 60 - SLOP) is None
    assert reason_at(NOW - 60 - SLOP - 0.01) is DCP_EXPIRED


@pytest.mark.parametrize(
    ("time", "reason"), [(1e308, DCP_TIME_TRAVEL), (NOW * 1000, DCP_TIME_TRAVEL), (-1e308, DCP_EXPIRED)]
)
def test_times_far_away_are_refused(time: float, reason: object) -> None:
    assert reason_at(time, None) is reason


@given(
    time=st.floats(0, 2e9), ttl=st.none() | st.floats(-100, 1e9), now=st.floats(0, 2e9),
    raised=st.floats(0, 1e6), slop=st.floats(0, 60),
)  # fmt: skip
def test_a_request_that_counts_is_remembered_under_all_settings(
    time: float, ttl: float | None, now: float, raised: float, slop: float
) -> None:
    widest, limits = TtlLimits(15, 3600 + 1e6, 120), TtlLimits(15, 3600 + raised, 120)
    validity = Validity(time, ttl, "s")
    try:
        check_validity(validity, limits, slop, now)
    except TheirError:
        return
    assert now <= forget_at(validity, widest, 60)


def test_requests_are_dated_by_the_targets_clock_in_whole_seconds_truncated() -> None:
    clock = PeerClock(1_000.9, received=5.0)
    assert validity_time(clock, 5.0, NOW) == 1_000
    assert validity_time(clock, 5.1, NOW) == 1_001
    assert validity_time(None, 5.1, NOW) == int(NOW)
