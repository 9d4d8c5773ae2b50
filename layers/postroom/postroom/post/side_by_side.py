"""The claims of a batch side by side: they wait for DNS and AWS together, and share one processor."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 16
"""Look-ups and writes of one batch at once; a Lambda function of 1 GB has little more than half a core."""


def side_by_side(pool: Executor, step: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`step` of each item, in their order; the caller and threads of `pool`, at most THREADS, take one after another.

    A task for each thread, not for each item, and each thread calls the next: what needs not wait is done before a
    second thread comes to it, and to hand a claim to another thread costs as much as to read it. Raises what a step
    raises.
    """
    waiting = deque(enumerate(items))
    done: dict[int, R] = {}
    others: list[Future[None]] = []

    def take(threads_left: int) -> None:
        if threads_left and len(waiting) > 1:
            others.append(pool.submit(take, threads_left - 1))
        while True:
            try:
                place, item = waiting.popleft()
            except IndexError:
                return
            done[place] = step(item)

    take(THREADS - 1)
    for other in others:  # grows as it goes: each has called the next before it ends
        other.result()
    return [done[place] for place in range(len(items))]
