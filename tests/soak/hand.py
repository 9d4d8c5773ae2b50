"""A process with one function of the template, which may be killed at any time: `python -m tests.soak.hand`.

It has the function's environment of the template. Both inboxes and the mailbox API read HTTP API events from standard
input, one per line, and write each response as a line; the other functions poll their queues. Logs go to a file.
"""

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final

import boto3
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.config import Config
from tests.soak.faults import Faults
from tests.soak.poller import Poller, Source
from tests.soak.tally import Tally

FUNCTIONS: Final = Path(__file__).parent.parent.parent / "functions"
BATCH: Final = 100
HTTP: Final = ("inbox", "dm3", "dcp")
"""The functions that are sent requests."""
MODULES: Final = {
    **{name: (name, "app") for name in (*HTTP, "worker", "waiting", "courier")},
    "feedback": ("courier", "feedback"),
}
"""The folder and the module of each function."""


def main() -> None:
    """Run until killed, or until the end of standard input, which means that the parent has ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("function", choices=MODULES)
    parser.add_argument("seed")
    parser.add_argument("logs", type=Path, help="a folder")
    parser.add_argument("tally", type=Path)
    parser.add_argument("sources", nargs="*", help="URL=BATCH of each queue")
    chosen = parser.parse_args()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    for output, ending in ((1, "log"), (2, "err")):
        # A file for each process, because the lines of two would be mixed.
        path = chosen.logs / f"{chosen.function}-{os.getpid()}.{ending}"
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), output)
    rng, tally = Random(chosen.seed), Tally(chosen.tally)
    folder, module = MODULES[chosen.function]
    sys.path.insert(0, str(FUNCTIONS / folder))
    app = importlib.import_module(module)
    Faults(rng, tally.note).install()
    answers.write(b"ready\n")
    if chosen.function in HTTP:
        _serve(app, answers)
    else:
        _poll(app, [_source(text) for text in chosen.sources], rng, tally)


def _serve(app: ModuleType, answers: Any) -> None:
    context = _context()
    for line in sys.stdin.buffer:
        answers.write(json.dumps(app.handler(json.loads(line), context)).encode() + b"\n")


def _poll(app: ModuleType, sources: list[Source], rng: Random, tally: Tally) -> None:
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    pollers = [Poller(sqs, source, lambda event: app.handler(event, _context()), rng, tally.note) for source in sources]
    parent = os.getppid()
    while os.getppid() == parent:
        for poller in pollers:
            # Only the first queue is polled with a wait, because the others have few messages.
            poller.turn(patient=poller is pollers[0])


def _context() -> LambdaContext:
    context = LambdaContext()
    context._aws_request_id = "soak"
    return context


def _source(text: str) -> Source:
    url, _, batch = text.rpartition("=")
    return Source(url, int(batch))


if __name__ == "__main__":
    main()
