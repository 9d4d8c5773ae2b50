"""Work done ahead in threads, with a limit on the memory of its results."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    pool: Executor, work: Callable[[T], R], items: Iterable[T], *, cost: Callable[[T], int], most: int
) -> Iterator[R]:
    """The result of `work` for each item, in order.

    Items in work or waiting cost at most `most` together, or are one.
    """
    going: deque[tuple[int, Future[R]]] = deque()
    spent = 0
    for item in items:
        price = cost(item)
        while going and spent + price > most:
            before, done = going.popleft()
            spent -= before
            yield done.result()
        going.append((price, pool.submit(work, item)))
        spent += price
    for _, done in going:
        yield done.result()
