"""The measurement of ratios, and the tables of results, for all benchmarks.

Other processes disturb every measurement. So each round runs all ways of doing one thing in short turns in one process,
several times, and keeps the best turn of each way. A round yields ratios only, not seconds; the result is the median of
the rounds.
"""

import statistics
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Final, Protocol

MISSED: Final = "✗"
"""Begins a cell whose goal is missed."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: `rounds`, `turns` of each way in a round, and the minimum seconds of a turn."""

    rounds: int
    turns: int
    turn_seconds: float
    processes: int = 1
    """The number of new processes that measure (see `over_processes`)."""
    messages: int = 0
    """The number of messages for benchmarks that process a fixed number of them."""


NORMAL: Final = Effort(rounds=21, turns=7, turn_seconds=0.002, processes=7, messages=100_000)
TINY: Final = Effort(rounds=1, turns=1, turn_seconds=0, messages=200)
"""For tests of the benchmarks: the numbers mean nothing."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results, all cells as text."""

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
class Broken:
    """Code without one of its bounds. `is_seen`: whether what is measured of it is beyond its goal."""

    name: str
    is_seen: Callable[[Effort], bool]


@dataclass(frozen=True, slots=True)
class KnownMiss:
    """Goals that are known to be missed: those of a column, in these rows. `why`: sentences in Markdown."""

    column: str
    rows: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark. `notes`: what is compared, in Markdown; `broken`: what must turn it red; `known`: goals that it
    misses, and why."""

    name: str
    title: str
    notes: str
    measure: Callable[[Effort], Sequence[Table]]
    broken: Sequence[Broken] = ()
    known: Sequence[KnownMiss] = ()

    def missed(self, tables: Sequence[Table]) -> list[str]:
        """The goals that are missed, and not known to be: row and column of each."""
        known = {(row, miss.column) for miss in self.known for row in miss.rows}
        return [
            f"{row}, {column}"
            for table in tables
            for row, *cells in table.rows
            for column, cell in zip(table.columns[1:], cells, strict=True)
            if cell.startswith(MISSED) and (row, column) not in known
        ]


Way = tuple[str, Callable[[], object]]


class Timer(Protocol):
    """Measures a way: `timeit.Timer`, or a class that calls another program."""

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` runs."""


def ratios(ways: Sequence[Callable[[], object] | Timer], effort: Effort) -> list[float]:
    """The times of all ways, as ratios to that of the first (which is 1.0)."""
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
    """The processor times of all ways but the first, as ratios to that of the first."""
    return ratios([timeit.Timer(way, timer=time.process_time) for way in ways], effort)[1:]


def over_processes(measure: Callable[[Effort], Sequence[Sequence[float]]], effort: Effort) -> list[list[float]]:
    """The medians of the results of `measure` in several new processes, which share the rounds.

    The position of code and data in memory changes such small times by several hundredths, and stays the same for the
    life of a process, so the rounds of one process do not show it.
    """
    share = replace(effort, rounds=max(1, effort.rounds // effort.processes), processes=1)
    if effort.processes == 1:
        runs = [measure(share)]
    else:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            runs = list(pool.map(measure, [share] * effort.processes))
    return [[statistics.median(values) for values in zip(*rows, strict=True)] for rows in zip(*runs, strict=True)]


def compare(title: str, ways: Sequence[Way], effort: Effort) -> Table:
    """A table of ways, with their ratios to the first."""
    found = ratios([way for _, way in ways], effort)
    return Table(
        title, ("way", "ratio"), tuple((name, times(ratio)) for (name, _), ratio in zip(ways, found, strict=True))
    )


def times(ratio: float) -> str:
    """A ratio as a cell of a table."""
    return f"{ratio:.2f} ×"


def marked(ratio: float, *, reached: bool) -> str:
    """A ratio that has a goal as a cell of a table, with ✗ if the goal is not reached."""
    return times(ratio) if reached else f"{MISSED} {times(ratio)}"


def _calls_in(timer: Timer, seconds: float) -> int:
    if not seconds:
        return 1
    once = min(timer.timeit(1) for _ in range(3))
    return max(1, round(seconds / once))
