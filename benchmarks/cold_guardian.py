"""The first request to the mailbox API in new processes, over DCP and over HTTP, from their start to the answer."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from benchmarks.guardian import deployed, status_event
from benchmarks.harness import Effort, ratios
from benchmarks.lambdas import FUNCTIONS, LAYER, Event
from tests.functions.samples import dcp_event
from tests.http.api_stack import SHOP
from tests.http.dcp_peers import OWNER
from tests.protocols.dcp.guarded import Peer

_START_AND_ANSWER: Final = """
import app
import json, sys
class Context: aws_request_id = "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001"
print(json.dumps(app.handler(json.load(sys.stdin), Context)), file=sys.stderr, flush=True)
"""
"""To standard error, because the function writes its log to standard output."""


@dataclass
class ColdFunction:
    """A function in a new process for each event. `seconds`: from the start of the last to its answer."""

    folder: str
    variables: Mapping[str, str]
    seconds: float = 0.0

    def answer_to(self, event: Event) -> dict[str, Any]:
        """The body of its answer."""
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", _START_AND_ANSWER], cwd=FUNCTIONS / self.folder, text=True,
            env={**self.variables, "PYTHONPATH": str(LAYER)},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stderr is not None
            json.dump(event, process.stdin)
            process.stdin.close()
            line = process.stderr.readline()
            self.seconds = time.perf_counter() - started
            # Its end is no part of it.
            process.kill()
            if not line.startswith("{"):
                raise AssertionError(line + process.stderr.read())
        answer = json.loads(line)
        assert answer["statusCode"] == 200, answer
        body: dict[str, Any] = json.loads(answer["body"])
        return body

    def answer(self, data: bytes, now: float = 0.0) -> dict[str, Any]:
        """The body of the answer to a message of DCP."""
        body: dict[str, Any] = self.answer_to(dcp_event(data, int(now)))["body"]
        assert body["success"], body
        return body


@dataclass(frozen=True)
class _First:
    """Measures a request that is the first of its process."""

    function: ColdFunction
    ask: Callable[[], object]

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` processes."""
        seconds = 0.0
        for _ in range(number):
            self.ask()
            seconds += self.function.seconds
        return seconds


def first_compared(effort: Effort) -> tuple[float, float]:
    """The first `status` of a session over DCP, and the first connect, to the first `status` over HTTP."""
    with deployed() as (variables, token, guardian):
        dcp, mailbox = ColdFunction("dcp", variables), ColdFunction("mailbox", variables)
        halves = count()

        def connected() -> Peer:
            half = f"benchmark-of-start-{next(halves):03}"
            return Peer.connected(dcp, OWNER, half=half, guardian=guardian, now=time.time())

        peer = connected()

        def over_dcp() -> None:
            peer.now = time.time()
            peer.send(peer.request("status", {"mailbox": SHOP}, keys=(OWNER,)))

        def over_http() -> None:
            mailbox.answer_to(status_event(token, int(time.time())))

        ways = [_First(mailbox, over_http), _First(dcp, over_dcp), _First(dcp, connected)]
        _, status, connect = ratios(ways, effort)
        return status, connect
