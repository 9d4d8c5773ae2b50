"""The time of what a program in another process does, measured there: neither lines of JSON nor pipes are in it."""

from dataclasses import dataclass
from typing import Any, Final

from benchmarks.harness import Effort
from tests.peers.answering import AnsweringProcess

_WARM_TURNS: Final = 100
"""Before a program is measured, so that Node has compiled the code, and Go's heap has grown."""


@dataclass(frozen=True, slots=True)
class CallTimer:
    """Measures a call that takes `args` and a number of runs, and returns their seconds."""

    process: AnsweringProcess
    call: str
    args: tuple[Any, ...]

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` runs."""
        seconds: float = self.process.call(self.call, *self.args, number)
        return seconds

    def warmed(self, effort: Effort, runs: int = 10) -> "CallTimer":
        """This timer, after enough turns of so many runs for Node to compile the code, or for Go's heap to grow."""
        seconds = 0.0
        while seconds < _WARM_TURNS * effort.turn_seconds:
            seconds += self.timeit(runs)
        return self
