"""An attack of the benchmark `hostile`: what is attacked, and how long honest users wait beside it."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.harness import Effort, marked, times

MOST: Final = 2.0
"""The most times its quiet duration that something honest may take beside an attack."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long something honest took: `quiet` and `attacked`, in the same unit, measured in one run."""

    quiet: float
    attacked: float


@dataclass(frozen=True, slots=True)
class Attack:
    """`attack` and `honest` are the texts of its row. `measure` plays the attack beside the honest traffic.

    `has_goal`: the ratio is to be at most MOST.
    """

    attack: str
    honest: str
    measure: Callable[[Effort], Waits]
    has_goal: bool = True

    def row(self, effort: Effort) -> tuple[str, str, str]:
        """The row of the table."""
        waits = self.measure(effort)
        ratio = waits.attacked / waits.quiet
        return self.attack, self.honest, marked(ratio, reached=ratio <= MOST) if self.has_goal else times(ratio)


def p95(times: Sequence[float]) -> float:
    """The time that 95 % of at least two times do not exceed."""
    return statistics.quantiles(times, n=20, method="inclusive")[-1]
