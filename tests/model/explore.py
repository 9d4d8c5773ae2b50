"""A breadth-first search of all states that a model can reach, until a rule is broken."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

S = TypeVar("S", bound=Hashable)


class BrokenError(Exception):
    """A state, or a step, that must not be."""


@dataclass(frozen=True)
class Explored:
    """`fault`: the rule that is broken, or empty; `story`: the shortest way there."""

    states: int
    steps: int
    fault: str
    story: tuple[str, ...]


def explore(start: S, check: Callable[[S], None], following: Callable[[S], Iterable[tuple[str, S]]]) -> Explored:
    """Visit all states from `start`; `following` yields each step there is, with the state it leads to."""
    came: dict[S, tuple[S, str] | None] = {start: None}
    frontier, steps = [start], 0
    while frontier:
        ahead: list[S] = []
        for state in frontier:
            try:
                check(state)
                for label, reached in following(state):
                    steps += 1
                    if reached not in came:
                        came[reached] = (state, label)
                        ahead.append(reached)
            except BrokenError as fault:
                return Explored(len(came), steps, str(fault), _story(came, state))
        frontier = ahead
    return Explored(len(came), steps, "", ())


def _story(came: dict[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    labels = []
    while (step := came[state]) is not None:
        state, label = step
        labels.append(label)
    return tuple(reversed(labels))
