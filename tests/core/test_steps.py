import asyncio
from collections.abc import Callable, Generator

import pytest

from postroom.core.steps import drive, drive_async

Steps = Generator[str, int, int]
Drive = Callable[[Steps, Callable[[str], int]], int]


def drive_awaited(steps: Steps, answer: Callable[[str], int]) -> int:
    async def awaited(question: str) -> int:
        await asyncio.sleep(0)
        return answer(question)

    return asyncio.run(drive_async(steps, awaited))


@pytest.fixture(params=[drive, drive_awaited])
def driven(request: pytest.FixtureRequest) -> Drive:
    return request.param


def total(*questions: str) -> Steps:
    answers = 0
    for question in questions:
        try:
            answers += yield question
        except LookupError:
            answers += 100
    return answers


def test_each_question_is_answered_in_turn(driven: Drive) -> None:
    questions: list[str] = []

    def answer(question: str) -> int:
        questions.append(question)
        return len(question)

    assert driven(total("a", "bb", "ccc"), answer) == 6
    assert questions == ["a", "bb", "ccc"]


def test_steps_without_questions_have_a_result(driven: Drive) -> None:
    assert driven(total(), lambda _: pytest.fail("nothing was asked")) == 0


def test_a_failed_answer_is_raised_in_the_steps_which_may_continue(driven: Drive) -> None:
    assert driven(total("a", "bb", "ccc"), {"a": 1, "ccc": 3}.__getitem__) == 104


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(7)])
def test_errors_that_the_steps_do_not_handle_propagate(driven: Drive, error: Exception) -> None:
    def answer(question: str) -> int:
        raise error

    with pytest.raises((ValueError, RuntimeError)):  # a generator makes RuntimeError of StopIteration (PEP 479)
        driven(total("a"), answer)


def test_an_interrupt_is_not_passed_to_the_steps(driven: Drive) -> None:
    closed: list[str] = []

    def steps() -> Steps:
        try:
            return (yield "a")
        except Exception:
            closed.append("taken")
            raise

    def answer(question: str) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driven(steps(), answer)
    assert closed == []
