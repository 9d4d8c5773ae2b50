"""The processes of a soak: one for each instance of a function, which is started, killed with SIGKILL, and restarted.

The first process of each function is never killed, to show the memory of a process that runs long.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Final

from tests.soak.hand import BATCH
from tests.soak.stack import SoakStack

ROOT: Final = Path(__file__).parent.parent.parent
INBOXES: Final = 2
DM3_INBOXES: Final = 2
MAILBOX_APIS: Final = 2
WORKERS: Final = 3
WAITING: Final = 2
COURIERS: Final = 2
_WAITING_BATCH: Final = 10
_COURIER_BATCH: Final = 5


@dataclass(eq=False)
class Hand:
    """One process after another with the same function. `died`: how often one ended without being killed."""

    function: str
    command: Sequence[str]
    environment: dict[str, str]
    seed: str
    killed: int = 0
    died: int = 0
    _process: "subprocess.Popen[bytes] | None" = None
    _wanted: bool = True
    _lock: Lock = field(default_factory=Lock)

    @property
    def pid(self) -> int:
        """The pid of the current process."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Start the next process. It is ready when it has written its first line."""
        command = [*self.command[:1], f"{self.seed}.{self.killed + self.died}", *self.command[1:]]
        with self._lock:
            self._wanted = True
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.hand", *command],
                cwd=ROOT, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip

    def kill(self) -> bool:
        """Kill the process, whatever it is doing; False: it has ended already, and its successor is not ready."""
        with self._lock:
            alive = self._process is not None and self._wanted and self._process.poll() is None
            if self._process and alive:
                self._wanted = False
                self.killed += 1
                self._process.kill()
            return alive

    def start_again_if_dead(self) -> None:
        """Start the next process, if the current one has ended."""
        if self._process and self._process.poll() is not None:
            self.died += self._wanted
            self._close()
            self.start()

    def ask(self, line: bytes) -> bytes:
        """The answer to a line. Raises EOFError if the process has ended before the answer."""
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise EOFError from error
        return self.read()

    def read(self) -> bytes:
        """The next line. Raises EOFError."""
        assert self._process
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            self._process.wait()
            raise EOFError
        return line

    def reopen(self) -> None:
        """Start the next process after this one ended, and wait until it is ready."""
        self.start_again_if_dead()
        while True:
            with suppress(EOFError):
                self.read()
                return
            self.start_again_if_dead()

    def stop(self) -> None:
        """End the process without a successor."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        # Broken pipes are expected, and what they did not transmit is not needed.
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return


@dataclass(frozen=True)
class Crew:
    """All processes. `killable`: those that may be killed."""

    inboxes: tuple[Hand, ...]
    mailbox_apis: tuple[Hand, ...]
    pollers: tuple[Hand, ...]

    @property
    def killable(self) -> tuple[Hand, ...]:
        """All except the first of each function."""
        eldest = self.eldest.values()
        return tuple(hand for hand in self.all if hand not in eldest)

    @property
    def all(self) -> tuple[Hand, ...]:
        """Inboxes of both protocols, mailbox APIs, workers, couriers."""
        return (*self.inboxes, *self.mailbox_apis, *self.pollers)

    @property
    def eldest(self) -> dict[str, Hand]:
        """The first of each kind, by function."""
        return {hand.function: hand for hand in reversed(self.all)}


@contextmanager
def hire(stack: SoakStack, logs: Path, tally: Path, rng: Random) -> Iterator[Crew]:
    """The processes, which run until the end of the block."""
    urls = stack.deployment.outputs
    sizes = {"ClaimsQueueUrl": BATCH, "RetryQueueUrl": BATCH, "SuspectsQueueUrl": 1, "LookUpsQueueUrl": 10}
    claims = [f"{urls[queue]}={size}" for queue, size in sizes.items()]
    notices, discards = (f"{urls[queue]}={_COURIER_BATCH}" for queue in ("CourierQueueUrl", "FeedbackQueueUrl"))

    def hands(function: str, output: str, count: int, sources: list[str]) -> tuple[Hand, ...]:
        environment = {**stack.environment(output), "PYTHONUNBUFFERED": "1"}
        command = [function, str(logs), str(tally), *sources]
        return tuple(Hand(function, command, environment, str(rng.getrandbits(64))) for _ in range(count))

    crew = Crew(
        (*hands("inbox", "InboxFunction", INBOXES, []), *hands("dm3", "Dm3Function", DM3_INBOXES, [])),
        hands("dcp", "DcpFunction", MAILBOX_APIS, []),
        (
            *hands("worker", "WorkerFunction", WORKERS, claims),
            *hands("waiting", "WaitingFunction", WAITING, [f"{urls['WaitingQueueUrl']}={_WAITING_BATCH}"]),
            *hands("courier", "CourierFunction", COURIERS, [notices]),
            *hands("feedback", "FeedbackFunction", COURIERS, [discards]),
        ),
    )
    try:
        for hand in crew.all:
            hand.start()
        for hand in crew.all:
            hand.read()
        yield crew
    finally:
        for hand in crew.all:
            hand.stop()
