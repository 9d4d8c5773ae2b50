"""Work is done ahead as far as memory goes, and comes in order."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.executor import SerialExecutor
from tests.patience import PATIENCE

from postroom.jobs.prefetch import prefetch


@given(st.lists(st.integers(1, 20)), st.integers(1, 30))
def test_results_come_in_order_and_no_more_than_allowed_are_held(items: list[int], most: int) -> None:
    held: list[int] = []

    def work(item: int) -> int:
        held.append(item)
        assert sum(held) <= most or len(held) == 1
        return item * 2

    taken = []
    for result in prefetch(SerialExecutor(), work, items, cost=lambda item: item, most=most):
        taken.append(result)
        held.pop(0)
    assert taken == [item * 2 for item in items]


def test_several_are_at_work_at_once() -> None:
    together = Barrier(2)

    def work(item: int) -> int:
        if item < 2:
            together.wait(timeout=PATIENCE)
        return item

    with ThreadPoolExecutor(2) as pool:
        assert list(prefetch(pool, work, range(20), cost=lambda _item: 1, most=4)) == list(range(20))


def test_a_failure_is_raised_in_its_turn() -> None:
    done = prefetch(SerialExecutor(), lambda item: 1 // item, [1, 0, 1], cost=lambda _item: 1, most=9)
    assert next(done) == 1
    with pytest.raises(ZeroDivisionError):
        next(done)
