"""The hands: one process for each instance of a function, started, killed (SIGKILL, by its own handle), started anew.

The first of each kind is never killed: its memory shows what a process that lives long comes to.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Final

from tests.soak.hand import BATCH
from tests.soak.stack import SoakStack

ROOT: Final = Path(__file__).parent.parent.parent
INBOXES: Final = 2
WORKERS: Final = 3
COURIERS: Final = 2
_COURIER_BATCH: Final = 5


@dataclass(eq=False)
class Hand:
    """One process after another, all running the same function. `died`: how often one ended that nobody killed."""

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
        """Of the process that is there now."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Start the next process; it is ready when its first line can be read."""
        command = [*self.command[:1], f"{self.seed}.{self.killed + self.died}", *self.command[1:]]
        with self._lock:
            self._wanted = True
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.hand", *command],
                cwd=ROOT, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip

    def kill(self) -> bool:
        """End the process at once, whatever it is doing; False: it is dead already, and its successor not there yet."""
        with self._lock:
            alive = self._process is not None and self._wanted and self._process.poll() is None
            if self._process and alive:
                self._wanted = False
                self.killed += 1
                self._process.kill()
            return alive

    def start_again_if_dead(self) -> None:
        """Start the next process, if the one before is no more."""
        if self._process and self._process.poll() is not None:
            self.died += self._wanted
            self._close()
            self.start()

    def ask(self, line: bytes) -> bytes:
        """The answer to one line. Raises EOFError: the process was gone before it could be read."""
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

    def stop(self) -> None:
        """End for good."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        # What was not written any more is of no use: broken pipes are what this is about.
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return


@dataclass(frozen=True)
class Crew:
    """All hands; `killable`: those that may be killed."""

    inboxes: tuple[Hand, ...]
    pollers: tuple[Hand, ...]

    @property
    def killable(self) -> tuple[Hand, ...]:
        """All but the eldest of each kind."""
        eldest = self.eldest.values()
        return tuple(hand for hand in self.all if hand not in eldest)

    @property
    def all(self) -> tuple[Hand, ...]:
        """Inboxes, workers, couriers."""
        return (*self.inboxes, *self.pollers)

    @property
    def eldest(self) -> dict[str, Hand]:
        """The first of each kind, by function."""
        return {hand.function: hand for hand in reversed(self.all)}


@contextmanager
def hire(stack: SoakStack, logs: Path, tally: Path, rng: Random) -> Iterator[Crew]:
    """The crew, at work until the end of the block."""
    urls = stack.deployment.outputs
    claims = [f"{urls['ClaimsQueueUrl']}={BATCH}", f"{urls['RetryQueueUrl']}={BATCH}", f"{urls['SuspectsQueueUrl']}=1"]
    notices = [f"{urls['CourierQueueUrl']}={_COURIER_BATCH}"]

    def hands(function: str, output: str, count: int, sources: list[str]) -> tuple[Hand, ...]:
        environment = {**stack.environment(output), "PYTHONUNBUFFERED": "1"}
        command = [function, str(logs), str(tally), *sources]
        return tuple(Hand(function, command, environment, str(rng.getrandbits(64))) for _ in range(count))

    crew = Crew(
        hands("inbox", "InboxFunction", INBOXES, []),
        (
            *hands("worker", "WorkerFunction", WORKERS, claims),
            *hands("courier", "CourierFunction", COURIERS, notices),
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
