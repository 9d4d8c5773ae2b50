"""Parallel work on the items of a batch, by threads that mostly wait for DNS and AWS."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from threading import Event
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 16
"""Concurrent look-ups and writes of one batch; a Lambda function of 1 GB has little more than half a core."""


MAY_NOT_WAIT_SECONDS: Final = 0.005
"""The patience for steps that seldom wait.

Threads that all have work to do pass the interpreter's lock to each other at every check of a signature, from processor
to processor: two threads take twice the time of one.
"""


def side_by_side(pool: Executor, step: Callable[[T], R], items: Sequence[T], *, patience_seconds: float = 0) -> list[R]:
    """`step` of each item, in their order; the caller and threads of `pool`, at most THREADS, take one item after
    another.

    There is a task for each thread, not for each item, and each thread starts the next: items that need not wait are
    done before a second thread starts, and handing a claim to another thread costs as much as reading it. A thread that
    was started begins only when no item was begun for `patience_seconds`, because then those at work are waiting.
    Raises what a step raises, when all the other items are done: Lambda would freeze a thread that goes on, and thaw it
    in the next run, when its deadlines are over.
    """
    if len(items) < 2:
        return [step(item) for item in items]
    waiting = deque(enumerate(items))
    nothing_left = Event()
    done: dict[int, R] = {}
    others: list[Future[None]] = []

    def stand_by(threads_left: int) -> None:
        left = len(waiting) + 1
        while patience_seconds and len(waiting) < left:
            left = len(waiting)
            if nothing_left.wait(patience_seconds):
                return
        take(threads_left)

    def take(threads_left: int) -> None:
        if threads_left and len(waiting) > 1:
            others.append(pool.submit(stand_by, threads_left - 1))
        while True:
            try:
                place, item = waiting.popleft()
            except IndexError:
                nothing_left.set()
                return
            done[place] = step(item)

    try:
        take(THREADS - 1)
    finally:
        for other in others:  # grows meanwhile: each has started the next before it ends
            wait([other])
    for other in others:
        other.result()
    return [done[place] for place in range(len(items))]
