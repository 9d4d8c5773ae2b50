"""A process with software that others wrote, which answers calls by lines of JSON."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.patience import PATIENCE


class RefusedError(Exception):
    """A function of the software threw; its message."""


class EndedError(Exception):
    """The process ended, or hung and was ended, instead of answering; what it printed last."""


class AnsweringProcess:
    """Started by the first call, and again by the first after it ended.

    `command`: run in `folder`, with more variables of the environment.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._command, self._folder = command, folder
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._printed.close()

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of the program with JSON values; what it returns, nothing as None.

        Raises RefusedError if it throws and EndedError if it ends the process.
        """
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            process.stdin.write(json.dumps({"call": name, "args": args}).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watchdog.cancel()
        if not line:
            self._end()
            self._printed.seek(0)
            raise EndedError(f"{name}: {self._printed.read().decode(errors='replace')[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["result"]

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
        )

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
