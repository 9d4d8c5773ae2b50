"""dm3's reference libraries (npm), installed once per lock, in a Node process that answers calls."""

import json
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.peers.made import Recipe, made

HERE = Path(__file__).parent
CALL_SECONDS = 600

_LOCK = (".npmrc", "package.json", "package-lock.json")
_PACKAGES = Recipe("peers-dm3", HERE, _LOCK, ("node", "npm"), ("npm", "ci"), seconds=300)


class RefusedError(Exception):
    """A function of the libraries threw; its message."""


class EndedError(Exception):
    """The process of the libraries ended, or hung and was ended, instead of answering; what it printed last."""


def installed() -> Path:
    """The folder that holds the packages of the lock. Raises UnavailableError."""
    return made(_PACKAGES)


class Reference:
    """A Node process with the libraries; started by the first call, and again by the first after it ended."""

    def __init__(self, folder: Path, program: Path = HERE / "peer.js") -> None:
        self._folder = folder
        self._program = program
        self._node: subprocess.Popen[bytes] | None = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._printed.close()

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of peer.js with JSON values; what it returns, `undefined` as None.

        Raises RefusedError if it throws and EndedError if it ends the process.
        """
        node = self._node = self._node or self._start()
        assert node.stdin is not None
        assert node.stdout is not None
        watchdog = threading.Timer(CALL_SECONDS, node.kill)
        watchdog.start()
        try:
            node.stdin.write(json.dumps({"call": name, "args": args}).encode() + b"\n")
            node.stdin.flush()
            line = node.stdout.readline()
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
            ["node", str(self._program)],
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
        )

    def _end(self) -> None:
        if self._node is not None:
            self._node.kill()
            self._node.communicate()
            self._node = None
