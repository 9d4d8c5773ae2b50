"""What a cold start pays before the first message: a whole process that imports a function, and ends."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, compare

NOTES = """\
Each is a whole process of Python, from start to end. The functions are imported as Lambda does it, with the variables
that the template sets: they make their clients of AWS right then, which `import boto3` alone does not.
"""

FUNCTIONS: Final = Path(__file__).parent.parent / "functions"
_NAMES: Final = ("POST_TABLE", "SEEN_TABLE", "DIRECTORY_TABLE", "LIMITS_TABLE", "BUCKET")
_SECRETS: Final = ("SIGNING_KEYS_SECRET", "DM3_KEYS_SECRET")
_QUEUES: Final = ("CLAIMS", "RETRY", "SUSPECTS", "LETTERS", "COURIER")
ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "nobody",  # as in Lambda: without, boto3 would go and look for some
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "postroom",
    **dict.fromkeys((*_NAMES, *_SECRETS), "benchmark"),
    **{f"{name}_QUEUE_URL": f"https://sqs.eu-west-1.amazonaws.com/123456789012/{name.lower()}" for name in _QUEUES},
}


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
