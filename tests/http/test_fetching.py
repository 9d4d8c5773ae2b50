"""What a page shows is fetched side by side, and nobody waits for what hangs."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, current_thread, main_thread

import pytest
from tests.patience import PATIENCE

from postroom.api.reasons import CONTENT_UNAVAILABLE
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http.fetching import Fetching
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import row_key
from postroom.storage.mail.reader import Filed, Found
from postroom.storage.mail.register import Row
from postroom.storage.mail.segments import Line

ROWS = [Row(row_key("shop.com", 1, 1000 + n, f"{n:032x}"), Place(f"seg/{9 - n}", 0, 9)) for n in range(4)]


class FakeReader:
    """A reader of rows that lie in an object each. `reads`: what happens meanwhile."""

    def __init__(self, reads: Callable[[Row], None]) -> None:
        self._reads = reads

    def fetch_run(self, run: Sequence[Row]) -> Sequence[Found]:
        for row in run:
            self._reads(row)
        return [Filed(row, Line(row.key, "b.com", "{}", {})) for row in run]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def found_of(done: Sequence[Found]) -> list[Row]:
    return [each.row for each in done if isinstance(each, Filed)]


def test_objects_are_read_in_parallel_and_returned_in_row_order(pool: ThreadPoolExecutor) -> None:
    all_at_once = Barrier(len(ROWS))
    fetching = Fetching(FakeReader(lambda _: all_at_once.wait(PATIENCE) and None), pool, lambda: 0.0)  # type: ignore[arg-type]
    assert found_of(fetching.fetch(ROWS, 60.0)) == ROWS


def test_a_read_that_hangs_ends_the_page_before_its_row(pool: ThreadPoolExecutor) -> None:
    """Though what comes after it was read: it is shown when what lies before it is."""
    free, in_time = Event(), iter([0.0, 0.0, 60.0])

    def hang(row: Row) -> None:
        if row == ROWS[2]:
            assert free.wait(PATIENCE)

    def clock() -> float:
        return next(in_time) if current_thread() is main_thread() else 0.0

    try:
        done = Fetching(FakeReader(hang), pool, clock).fetch(ROWS, 60.0)  # type: ignore[arg-type]
        assert found_of(done) == ROWS[:2]
    finally:
        free.set()


def test_no_read_begins_after_the_deadline(pool: ThreadPoolExecutor) -> None:
    begun: list[Row] = []
    with pytest.raises(NotNowError) as caught:
        Fetching(FakeReader(begun.append), pool, lambda: 10.0).fetch(ROWS, 10.0)  # type: ignore[arg-type]
    assert (caught.value.reason, begun) == (CONTENT_UNAVAILABLE, [])


def test_an_unavailable_store_is_reported(pool: ThreadPoolExecutor) -> None:
    def away(_: Row) -> None:
        raise NotNowError(STORE_UNAVAILABLE, "away")

    with pytest.raises(NotNowError, match="ContentUnavailable: away"):
        Fetching(FakeReader(away), pool, lambda: 0.0).fetch(ROWS, 60.0)  # type: ignore[arg-type]


def test_no_rows_give_no_messages(pool: ThreadPoolExecutor) -> None:
    assert Fetching(FakeReader(lambda _: None), pool, lambda: 0.0).fetch([], 0.0) == []  # type: ignore[arg-type]
