"""The time of what a program in Node does, measured in Node: neither lines of JSON nor pipes are in it."""

from dataclasses import dataclass
from typing import Any, Final

from benchmarks.harness import Effort
from tests.peers.node import Reference

_WARM_TURNS: Final = 100
"""Before Node is measured, so that it has compiled the code."""


@dataclass(frozen=True, slots=True)
class NodeTimer:
    """Measures a call that takes `args` and a number of runs, and returns their seconds."""

    node: Reference
    call: str
    args: tuple[Any, ...]

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` runs."""
        seconds: float = self.node.call(self.call, *self.args, number)
        return seconds

    def warmed(self, effort: Effort, runs: int = 10) -> "NodeTimer":
        """This timer, after enough turns of so many runs for Node to compile the code."""
        seconds = 0.0
        while seconds < _WARM_TURNS * effort.turn_seconds:
            seconds += self.timeit(runs)
        return self
