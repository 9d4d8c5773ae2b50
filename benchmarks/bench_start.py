"""What a cold start pays before the first message: a whole process that imports a function, and ends."""

import subprocess
import sys
from collections.abc import Callable, Sequence

from benchmarks.harness import Benchmark, Effort, Table, compare
from benchmarks.lambdas import ENVIRONMENT, FUNCTIONS

NOTES = """\
Each is a whole process of Python, from start to end. The functions are imported as Lambda does it, with the variables
that the template sets: they make their clients of AWS right then, which `import boto3` alone does not.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One table of whole processes."""
    # A process takes far longer than a turn: each turn is one, and fewer turns are enough.
    fewer = Effort(rounds=min(effort.rounds, 5), turns=min(effort.turns, 2), turn_seconds=0)
    ways = (
        ("import boto3", _process("boto3")),
        ("nothing", _process("sys")),
        *((f"functions/{name}", _process("app", name)) for name in ("inbox", "worker", "courier")),
    )
    return [compare("", ways, fewer)]


def _process(module: str, function: str = "") -> Callable[[], object]:
    def run() -> None:
        subprocess.run(
            [sys.executable, "-c", f"import {module}"], cwd=FUNCTIONS / function, env=ENVIRONMENT, check=True
        )

    return run


BENCHMARK = Benchmark("start", "A cold start", NOTES, measure)
