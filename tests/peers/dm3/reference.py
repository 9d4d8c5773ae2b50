"""dm3's reference libraries (npm), installed once per lock, in a Node process that answers calls."""

import fcntl
import hashlib
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILD = HERE.parents[2] / "build" / "peers-dm3"
INSTALL_SECONDS = 300
CALL_SECONDS = 60


class UnavailableError(Exception):
    """The libraries cannot be had here: no Node, no npm, or npm's own words."""


class RefusedError(Exception):
    """A function of the libraries threw; its message."""


class EndedError(Exception):
    """The process of the libraries ended, or hung and was ended, instead of answering; what it printed last."""


def installed() -> Path:
    """The folder that holds the packages of the lock. Raises UnavailableError."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} not found")
    folder = BUILD / hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    BUILD.mkdir(parents=True, exist_ok=True)
    with _alone(), tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        if not folder.exists():
            new = Path(scratch, "packages")
            new.mkdir()
            for name in (".npmrc", "package.json", "package-lock.json"):
                shutil.copy(HERE / name, new)
            _install(new)
            new.rename(folder)
    return folder


@contextmanager
def _alone() -> Iterator[None]:
    """Only one process at a time: those of pytest-xdist come together."""
    with (BUILD / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(folder: Path) -> None:
    try:
        done = subprocess.run(
            ["npm", "ci"], cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"npm ci took more than {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise UnavailableError(f"npm ci: {done.stderr.strip()}")


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
