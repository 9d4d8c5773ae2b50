"""What every benchmark is made of: ways of doing one thing, run in turn in one process, and compared.

A computer is never quiet. So each round runs every way in short turns, several times, and keeps each way's best
turn; a round gives ratios only, and the median over the rounds is what counts. Seconds are not reported.
"""

import statistics
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class Effort:
    """How long it is measured: `rounds`, `turns` of each way in a round, and the seconds that a turn should take."""

    rounds: int
    turns: int
    turn_seconds: float
    processes: int = 1
    """Fresh processes that measure so (see `over_processes`)."""
    messages: int = 0
    """That are worked off where it is not time that is measured."""


NORMAL: Final = Effort(rounds=21, turns=7, turn_seconds=0.002, processes=7, messages=100_000)
TINY: Final = Effort(rounds=1, turns=1, turn_seconds=0, messages=200)
"""Enough to see that it runs; the numbers mean nothing."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results: the ratios are texts already."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> Iterator[str]:
        """The table in Markdown, its columns aligned."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        rule = tuple(("-" if place == 0 else "-:").rjust(width, "-") for place, width in enumerate(widths))
        for row in (self.columns, rule, *self.rows):
            first, *rest = row
            cells = [first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]
            yield f"| {' | '.join(cells)} |"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One subject that is measured. `notes`: what is compared with what, in Markdown."""

    name: str
    title: str
    notes: str
    measure: Callable[[Effort], Sequence[Table]]


Way = tuple[str, Callable[[], object]]


class Timer(Protocol):
    """What takes the time of a way: `timeit.Timer`, or one that asks another program."""

    def timeit(self, number: int, /) -> float:
        """Go this way `number` times: the seconds it took."""


def ratios(ways: Sequence[Callable[[], object] | Timer], effort: Effort) -> list[float]:
    """How many times as long as the first way each of them takes (so the first is 1.0)."""
    timers = [timeit.Timer(way) if callable(way) else way for way in ways]
    numbers = [_calls_in(timer, effort.turn_seconds) for timer in timers]
    rounds = []
    for _ in range(effort.rounds):
        turns = [
            [timer.timeit(number) / number for timer, number in zip(timers, numbers, strict=True)]
            for _ in range(effort.turns)
        ]
        best = [min(times) for times in zip(*turns, strict=True)]
        rounds.append([time / best[0] for time in best])
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def processor_ratios(ways: Sequence[Callable[[], object]], effort: Effort) -> list[float]:
    """The processor's time of each further way, to that of the first."""
    return ratios([timeit.Timer(way, timer=time.process_time) for way in ways], effort)[1:]


def over_processes(measure: Callable[[Effort], Sequence[Sequence[float]]], effort: Effort) -> list[list[float]]:
    """The medians of what `measure` finds in several fresh processes, which share the rounds.

    Where code and data come to lie in memory moves such small times by several hundredths, for as long as a process
    lives: rounds in one process cannot tell.
    """
    share = replace(effort, rounds=max(1, effort.rounds // effort.processes), processes=1)
    if effort.processes == 1:
        runs = [measure(share)]
    else:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            runs = list(pool.map(measure, [share] * effort.processes))
    return [[statistics.median(values) for values in zip(*rows, strict=True)] for rows in zip(*runs, strict=True)]


def compare(title: str, ways: Sequence[Way], effort: Effort) -> Table:
    """A table of ways and their ratios to the first."""
    found = ratios([way for _, way in ways], effort)
    return Table(
        title, ("way", "ratio"), tuple((name, times(ratio)) for (name, _), ratio in zip(ways, found, strict=True))
    )


def times(ratio: float) -> str:
    """The form of a ratio in tables."""
    return f"{ratio:.2f} ×"


def marked(ratio: float, *, reached: bool) -> str:
    """The form of a ratio of which it is wanted what it is: ✗ where that is not reached."""
    return times(ratio) if reached else f"✗ {times(ratio)}"


def _calls_in(timer: Timer, seconds: float) -> int:
    if not seconds:
        return 1
    once = min(timer.timeit(1) for _ in range(3))
    return max(1, round(seconds / once))
