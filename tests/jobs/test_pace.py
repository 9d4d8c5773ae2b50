"""No task takes more of a table than its share, and who was throttled goes slower."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.clock import FakeClock

from postroom.jobs.pace import SLOWEST, Pace

BURST_SECONDS = 0.5
BEGAN = 1000.0


class Taker:
    """Takes of a pace. `given`: when which units were given. Several wait at once: to sleep takes nobody's time."""

    def __init__(self, most: float) -> None:
        self.clock = FakeClock(BEGAN)
        self.given: list[tuple[float, int]] = []
        self.waited = 0.0
        self.pace = Pace(most, self.clock, self._sleep)

    def take(self, units: int = 1) -> float:
        """How long it took."""
        self.waited = 0.0
        self.pace.take(units)
        self.given.append((self.clock.now + self.waited, units))
        return self.waited

    def _sleep(self, seconds: float) -> None:
        self.waited = seconds

    def one_after_the_other(self, units: int, times: int) -> float:
        """How long it takes to take so often, where each waits for the one before."""
        began = self.clock.now
        for _ in range(times):
            self.clock.now += self.take(units)
        return self.clock.now - began


TAKES = st.integers(1, 100).map(lambda units: ("take", units))
WAITS = st.floats(0, 5).map(lambda seconds: ("wait", seconds))
THROTTLED = st.just(("throttled", 0))
RATES = st.floats(1, 500)


def played(most: float, steps: list[tuple[str, float]]) -> Taker:
    taker = Taker(most)
    for what, how_much in steps:
        if what == "take":
            taker.take(int(how_much))
        elif what == "wait":
            taker.clock.now += how_much
        else:
            taker.pace.throttled()
    return taker


@given(RATES, st.lists(TAKES | WAITS, max_size=40))
def test_the_ceiling_holds_over_any_period_longer_than_a_burst(most: float, steps: list[tuple[str, float]]) -> None:
    given_when = played(most, steps).given
    largest = max((units for _, units in given_when), default=0)
    for begins, _ in given_when:
        for ends in (at for at, _ in given_when if at >= begins):
            # One who takes much at once has saved up for it: that is given at one moment.
            within = sum(units for at, units in given_when if begins <= at <= ends)
            assert within <= most * (ends - begins + BURST_SECONDS) + largest + 1e-6


@given(RATES, st.lists(TAKES | WAITS | THROTTLED, max_size=60))
def test_the_ceiling_holds_since_the_start_whether_or_not_throttled(
    most: float, steps: list[tuple[str, float]]
) -> None:
    given_when = played(most, steps).given
    for ends, _ in given_when:
        so_far = sum(units for at, units in given_when if at <= ends)
        assert so_far <= most * (ends - BEGAN + BURST_SECONDS) + 1e-6


def test_a_task_below_the_rate_never_waits() -> None:
    taker = Taker(100)
    assert taker.take(50) == 0
    taker.clock.now += 0.1
    assert taker.take(10) == 0


def test_unused_units_are_saved_for_half_a_second_only() -> None:
    taker = Taker(100)
    taker.clock.now += 3600
    assert taker.take(50) == 0
    assert taker.take(50) == 0.5


def test_throttling_halves_the_rate() -> None:
    taker = Taker(100)
    taker.take(50)
    assert taker.take(10) == pytest.approx(0.1)
    taker.clock.now += 0.1
    taker.pace.throttled()
    assert taker.take(10) == pytest.approx(0.2)


def test_many_throttled_requests_at_once_count_once() -> None:
    taker = Taker(100)
    taker.take(50)
    for _ in range(10):
        taker.pace.throttled()
        taker.clock.now += 0.05
    # Half a second of half the rate, and what was won back meanwhile.
    assert 0 < taker.take(50) < 0.5
    taker.clock.now += 0.6
    taker.pace.throttled()
    taker.pace.throttled()
    assert taker.take(50) > 1


def test_repeated_throttling_never_stops_all_requests() -> None:
    taker = Taker(100)
    taker.take(50)
    for _ in range(50):
        taker.clock.now += 1
        taker.pace.throttled()
    taker.take(1000)
    waits = taker.take(1)
    assert waits <= 1001 / SLOWEST


def test_the_rate_recovers_within_seconds() -> None:
    taker = Taker(100)
    taker.pace.throttled()
    taker.clock.now += 10
    assert abs(taker.one_after_the_other(10, 100) - (1000 - 50) / 100) < 0.01


def test_a_share_below_the_slowest_is_the_slowest() -> None:
    taker = Taker(0.01)
    assert taker.one_after_the_other(1, 10) <= 10 / SLOWEST
