"""The leaky bucket."""

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.leaky_bucket import LeakyBucket


class Clock:
    """Seconds, set by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_admitted_and_then_the_rate() -> None:
    clock = Clock()
    bucket = LeakyBucket(40, 50, clock)
    assert [bucket.take() for _ in range(60)] == [True] * 50 + [False] * 10
    clock.now += 0.1
    assert [bucket.take() for _ in range(6)] == [True] * 4 + [False] * 2
    clock.now += 3600
    assert sum(bucket.take() for _ in range(100)) == 50


@given(
    st.lists(st.floats(0, 2), min_size=1, max_size=200),
    st.sampled_from((1.0, 7.0, 40.0)),
    st.integers(1, 20),
)
def test_no_more_is_admitted_than_the_burst_and_the_rate(pauses: list[float], a_second: float, burst: int) -> None:
    clock = Clock()
    began, bucket, admitted = clock.now, LeakyBucket(a_second, burst, clock), 0
    for pause in pauses:
        clock.now += pause
        admitted += bucket.take()
        assert admitted <= burst + 1 + (clock.now - began) * a_second
    clock.now += burst / a_second
    assert all(bucket.take() for _ in range(burst))
