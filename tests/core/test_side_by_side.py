"""The claims of a batch side by side."""

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Barrier, Event, current_thread, main_thread
from time import sleep
from typing import Any

import pytest
from tests.fakes.executor import SerialExecutor
from tests.patience import PATIENCE

from postroom.core.side_by_side import THREADS, side_by_side

PATIENCES = pytest.mark.parametrize("patience", [0, 0.001])


@pytest.fixture
def pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(THREADS) as made:
        yield made


@PATIENCES
@pytest.mark.parametrize("many", [0, 1, 2, THREADS, 10 * THREADS])
def test_every_item_is_processed_once_and_results_are_in_item_order(pool: Executor, many: int, patience: float) -> None:
    processed: list[int] = []

    def step(item: int) -> int:
        processed.append(item)
        return -item

    assert side_by_side(pool, step, range(many), patience_seconds=patience) == [-item for item in range(many)]
    assert sorted(processed) == list(range(many))


class Counted(ThreadPoolExecutor):
    """Threads enough for everything; `tasks`: how many of them were asked for."""

    def __init__(self) -> None:
        super().__init__(3 * THREADS)
        self.tasks = 0

    def submit(self, *task: Any, **named: Any) -> Future[Any]:
        self.tasks += 1
        return super().submit(*task, **named)


@PATIENCES
def test_the_number_of_parallel_items_is_limited(patience: float) -> None:
    together = Barrier(THREADS, timeout=PATIENCE)

    def step(item: int) -> int:
        return together.wait() if item < THREADS else 0

    with Counted() as pool:
        side_by_side(pool, step, range(3 * THREADS), patience_seconds=patience)
    assert pool.tasks == THREADS - 1  # and the caller


@PATIENCES
def test_a_waiting_item_does_not_block_others(pool: Executor, patience: float) -> None:
    others_done, done = Event(), list[int]()

    def step(item: int) -> None:
        if item == 0:
            assert others_done.wait(PATIENCE)
            return
        done.append(item)
        if len(done) == 99:
            others_done.set()

    side_by_side(pool, step, range(100), patience_seconds=patience)
    assert sorted(done) == list(range(1, 100))


def test_with_patience_no_thread_is_added_while_items_finish(pool: Executor) -> None:
    threads = side_by_side(pool, lambda _: current_thread(), range(100), patience_seconds=PATIENCE)
    assert set(threads) == {main_thread()}


def test_a_single_item_needs_no_other_thread(pool: Executor) -> None:
    assert side_by_side(pool, lambda _: current_thread(), ["alone"]) == [main_thread()]


@PATIENCES
@pytest.mark.parametrize("bad", [0, 50, 99])
def test_an_error_of_an_item_is_raised(pool: Executor, bad: int, patience: float) -> None:
    def step(item: int) -> None:
        if item == bad:
            raise KeyError(item)

    with pytest.raises(KeyError):
        side_by_side(pool, step, range(100), patience_seconds=patience)


@PATIENCES
@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_is_raised_when_the_other_items_are_done(pool: Executor, bad: int, patience: float) -> None:
    """Lambda would freeze a thread that goes on, and thaw it in the next run, when its deadlines are over."""
    both_began, done = Barrier(2, timeout=PATIENCE), Event()

    def step(item: int) -> None:
        both_began.wait()
        if item == bad:
            raise SystemExit
        sleep(0.05)
        done.set()

    with pytest.raises(SystemExit):
        side_by_side(pool, step, range(2), patience_seconds=patience)
    assert done.is_set()


@PATIENCES
def test_without_threads_items_are_processed_in_order(patience: float) -> None:
    processed: list[int] = []
    side_by_side(SerialExecutor(), processed.append, range(100), patience_seconds=patience)
    assert processed == list(range(100))
