"""Drivers of sans-I/O generators, which yield questions, get the answers, and return a result."""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
R = TypeVar("R")


def drive(steps: Generator[Q, A, R], answer: Callable[[Q], A]) -> R:
    """The result of steps, with each question answered. What `answer` raises is raised in the steps, where they wait.

    Raises what the steps raise.
    """
    try:
        question = next(steps)
        while True:
            try:
                reply = answer(question)
            except Exception as error:
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration as ended:
        result: R = ended.value
        return result


async def drive_async(steps: Generator[Q, A, R], answer: Callable[[Q], Awaitable[A]]) -> R:
    """The same with asynchronous answers. The steps run in the event loop, so they must not take time."""
    try:
        question = next(steps)
        while True:
            try:
                reply = await answer(question)
            except Exception as error:
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration as ended:
        result: R = ended.value
        return result
