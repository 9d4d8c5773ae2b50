"""The claims of a batch side by side: they wait for DNS and AWS together, and share one processor."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 16
"""Look-ups and writes of one batch at once; a Lambda function of 1 GB has little more than half a core."""


def side_by_side(pool: Executor, step: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`step` of each item, in their order; the caller and threads of `pool`, at most THREADS, take one after another.

    A task for each thread, not for each item: what needs not wait is done before a second thread comes to it, and to
    hand a claim to another thread costs as much as to read it. Raises what a step raises.
    """
    waiting = deque(enumerate(items))
    done: dict[int, R] = {}

    def take(_: int) -> None:
        while True:
            try:
                place, item = waiting.popleft()
            except IndexError:
                return
            done[place] = step(item)

    others = pool.map(take, range(1, min(THREADS, len(items))))
    take(0)
    for _ in others:
        pass  # each has come to its end, or raises what it met
    return [done[place] for place in range(len(items))]
