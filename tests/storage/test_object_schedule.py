"""When a job looks at an object: segments after the lag, chunks when their age has doubled, then every 30 days."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.storage.mail.chunks import FULL_BYTES
from postroom.storage.mail.object_schedule import (
    DAY_MS,
    HOUR_MS,
    MONTH_MS,
    LastRun,
    is_chunk_due,
    is_segment_due,
    settled_by,
    should_rewrite,
)

HOUR = 494_166 * HOUR_MS
WRITTEN = HOUR + HOUR_MS
"""The end of the hour: all of it was written by then."""
AGES = [days * DAY_MS for days in (1, 2, 4, 8, 16, *range(30, 301, 30))]


def run_at(lag: int, now: int) -> LastRun:
    return LastRun(now, settled_by(lag, now))


@given(st.integers(0, 300 * DAY_MS), st.integers(0, 300 * DAY_MS), st.integers(0, 300 * DAY_MS))
def test_without_a_lag_all_segments_are_due(one: int, other: int, lag: int) -> None:
    assert is_segment_due(HOUR, 0, run_at(lag, HOUR + min(one, other)), HOUR + max(one, other))


@pytest.mark.parametrize("lag", [HOUR_MS, DAY_MS])
def test_segments_of_an_hour_are_due_when_the_last_of_them_is_older_than_the_lag(lag: int) -> None:
    assert not is_segment_due(HOUR, lag, run_at(lag, HOUR), WRITTEN + lag - 1)
    assert is_segment_due(HOUR, lag, run_at(lag, HOUR), WRITTEN + lag)
    assert is_segment_due(HOUR, lag, run_at(lag, WRITTEN + lag - 1), WRITTEN + 7 * DAY_MS + lag)
    assert is_segment_due(HOUR, lag, LastRun(), WRITTEN + 7 * DAY_MS + lag)


def test_a_run_without_a_lag_has_not_seen_late_segments_of_the_hour_before_it() -> None:
    assert is_segment_due(HOUR, HOUR_MS, run_at(0, WRITTEN), WRITTEN + 2 * HOUR_MS)
    assert is_segment_due(HOUR, HOUR_MS, run_at(0, WRITTEN + HOUR_MS - 1), WRITTEN + 2 * HOUR_MS)
    assert not is_segment_due(HOUR, HOUR_MS, run_at(0, WRITTEN + HOUR_MS), WRITTEN + 2 * HOUR_MS)


@given(st.lists(st.tuples(st.integers(1, 3 * DAY_MS), st.sampled_from([0, HOUR_MS, DAY_MS, 9 * DAY_MS])), min_size=2))
def test_the_first_run_whose_lag_is_over_looks_whatever_the_lags_of_those_before(runs: list[tuple[int, int]]) -> None:
    now, before, looked = HOUR, LastRun(), False
    for later, lag in runs:
        now += later
        could = lag == 0 or now >= WRITTEN + lag
        due = is_segment_due(HOUR, lag, before, now)
        assert due or not could or looked
        assert could or not due
        # Without a lag the hour may still go on, and a worker be late.
        looked = looked or (due and now >= WRITTEN + HOUR_MS)
        before = run_at(lag, now)


@pytest.mark.parametrize(
    ("lag", "ages"), [(DAY_MS, [1, 2, 4, 8, 16, 30, 60, 90]), (3 * DAY_MS, [3, 4, 8, 16, 30, 60, 90])]
)
def test_nightly_runs_read_a_segment_that_must_stay_at_these_ages(lag: int, ages: list[int]) -> None:
    nights = [WRITTEN + night * DAY_MS for night in range(100)]
    looked = [
        night for night in range(1, 100) if is_segment_due(HOUR, lag, run_at(lag, nights[night - 1]), nights[night])
    ]
    assert looked == ages


@given(st.lists(st.integers(0, 300 * DAY_MS), min_size=1, max_size=40, unique=True).map(sorted))
def test_a_chunk_is_looked_at_by_the_first_run_after_each_of_its_ages_however_many_were_missed(runs: list[int]) -> None:
    since = 0
    for age in runs:
        passed = any(since < WRITTEN + look <= WRITTEN + age for look in AGES)
        assert is_chunk_due(HOUR, since, WRITTEN + age) is passed
        since = WRITTEN + age


def test_nightly_runs_read_a_chunk_at_these_ages() -> None:
    nights = [WRITTEN + night * DAY_MS for night in range(100)]
    looked = [night for night in range(1, 100) if is_chunk_due(HOUR, nights[night - 1], nights[night])]
    assert looked == [1, 2, 4, 8, 16, 30, 60, 90]


def test_a_run_that_died_counts_as_missed() -> None:
    assert is_chunk_due(HOUR, WRITTEN, WRITTEN + DAY_MS)
    assert is_chunk_due(HOUR, WRITTEN, WRITTEN + DAY_MS + HOUR_MS), "since when did not change: it is looked at again"


def test_without_a_known_run_everything_a_day_old_is_due() -> None:
    assert not is_chunk_due(HOUR, 0, WRITTEN + DAY_MS - 1)
    assert all(is_chunk_due(HOUR, 0, WRITTEN + days * DAY_MS) for days in (1, 3, 29, 45, 1000))


def test_a_chunk_written_after_the_last_run_began_is_not_due_before_its_day() -> None:
    assert not is_chunk_due(HOUR, HOUR, WRITTEN + DAY_MS - 1)
    assert is_chunk_due(HOUR, HOUR, WRITTEN + DAY_MS)


SIZE = 8_000_000


@pytest.mark.parametrize("age", [0, DAY_MS, MONTH_MS, 2 * MONTH_MS])
@pytest.mark.parametrize(
    ("size", "kept", "young", "old"),
    [
        (SIZE, 0, False, False),  # there is nothing to move: it is collected
        (SIZE, 1, True, True),
        (SIZE, SIZE // 2, True, True),
        (SIZE, SIZE // 2 + 1, False, True),
        (SIZE, SIZE - 1, False, True),
        (SIZE, SIZE, False, False),
        # Small, and all of it waits: after a month it may share a chunk with others.
        (FULL_BYTES // 2 - 1, FULL_BYTES // 2 - 1, False, True),
        (FULL_BYTES // 2, FULL_BYTES // 2, False, False),
    ],
)
def test_lines_of_a_chunk_move_when_half_of_it_is_garbage_or_after_a_month_any(
    size: int, kept: int, young: bool, old: bool, age: int
) -> None:
    assert should_rewrite(size, kept, age) is (old if age >= MONTH_MS else young)
