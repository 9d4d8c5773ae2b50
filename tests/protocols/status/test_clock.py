"""Clocks: 6/PAYLOADS, Clock vs Timestamp and message ordering; decision "Clocks"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.known import NOW, refused

from postroom.protocols.status.clock import check_clock, check_not_ahead, is_ahead, is_late, next_clock
from postroom.protocols.status.reasons import CLOCK_AHEAD, CLOCK_INVALID


def test_the_next_clock_is_now_or_one_more_than_the_last() -> None:
    assert next_clock(NOW, 0) == NOW
    assert next_clock(NOW, NOW - 1) == NOW
    assert next_clock(NOW, NOW) == NOW + 1
    assert next_clock(NOW, NOW + 5) == NOW + 6


@given(st.integers(1, 1 << 53), st.integers(0, 1 << 63))
def test_the_next_clock_is_always_last(now: int, last: int) -> None:
    assert next_clock(now, last) > last
    assert next_clock(now, last) >= now


@pytest.mark.parametrize("clock", [0, 1 << 63, (1 << 63) + 1, (1 << 64) - 1])
def test_a_clock_is_above_0_and_below_2_to_the_63(clock: int) -> None:
    refused(lambda: check_clock(clock), CLOCK_INVALID)


@pytest.mark.parametrize("clock", [1, NOW, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1])
def test_any_other_clock_can_be_one(clock: int) -> None:
    check_clock(clock)


def test_a_clock_may_be_120_seconds_ahead_and_not_more() -> None:
    for ahead in (-(1 << 40), -1, 0, 1, 119_999, 120_000):
        assert not is_ahead(NOW + ahead, NOW)
        check_not_ahead(NOW + ahead, NOW)
    assert is_ahead(NOW + 120_001, NOW)
    assert "120001 ms" in refused(lambda: check_not_ahead(NOW + 120_001, NOW), CLOCK_AHEAD)
    assert is_ahead((1 << 63) - 1, NOW)
    assert is_ahead(120_001, 0)


def test_a_clock_more_than_120_seconds_behind_is_late() -> None:
    for behind in (-120_001, 0, 119_999, 120_000):
        assert not is_late(NOW - behind, NOW)
    assert is_late(NOW - 120_001, NOW)
    assert is_late(1, NOW)
