"""A peer in a process that measures itself: it reads a number of runs and writes seconds, a line each."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class PeerEndedError(Exception):
    """The peer ended without an answer; its error message is on standard error."""


class PeerTimer:
    """Measures a peer in its own process. `warm_seconds`: the minimum time that it runs before."""

    def __init__(self, command: Sequence[str], folder: Path, warm_seconds: float) -> None:
        self._command = command
        self._peer = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        number = 10
        while self.timeit(number) < warm_seconds:
            number *= 2

    def __enter__(self) -> "PeerTimer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` verifications. Raises PeerEndedError."""
        assert self._peer.stdin is not None
        assert self._peer.stdout is not None
        with suppress(BrokenPipeError):
            print(number, file=self._peer.stdin, flush=True)
        answer = self._peer.stdout.readline()
        if not answer:
            self._end()
            raise PeerEndedError(" ".join(self._command))
        return float(answer)

    def _end(self) -> None:
        self._peer.kill()
        self._peer.communicate()
