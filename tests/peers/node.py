"""Packages of npm that others wrote, installed once per lock, in a Node process that answers calls."""

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.peers.made import Recipe, UnavailableError, made

CALL_SECONDS = 600


class RefusedError(Exception):
    """A function of the libraries threw; its message."""


class EndedError(Exception):
    """The process of the libraries ended, or hung and was ended, instead of answering; what it printed last."""


def packages(name: str, home: Path, *more: str) -> Recipe:
    """The packages of the lock in `home`, and the other files that npm needs there."""
    files = (".npmrc", "package.json", "package-lock.json", *more)
    return Recipe(name, home, files, ("node", "npm"), ("npm", "ci"), seconds=300)


def required(recipe: Recipe, what: str) -> Path:
    """The folder of the packages. CI must have them; elsewhere the tests are skipped where they cannot be had."""
    try:
        return made(recipe)
    except UnavailableError as why:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {what}: {why}")
        pytest.skip(f"needs {what}: {why}")


class Reference:
    """A Node process with the packages in `folder`; started by the first call, and again by the first after it ended.

    `program`: answers the calls; `home`: the user's folder, for packages that write there; `options`: of the program;
    `ca_file`: authorities that it trusts in addition (PEM).
    """

    def __init__(
        self, folder: Path, program: Path, home: Path | None = None, *options: str, ca_file: Path | None = None
    ) -> None:
        self._folder = folder
        self._command = ("node", str(program), *options)
        self._environment = {
            **os.environ,
            **({"HOME": str(home)} if home else {}),
            **({"NODE_EXTRA_CA_CERTS": str(ca_file)} if ca_file else {}),
        }
        self._node: subprocess.Popen[bytes] | None = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._printed.close()

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of the program with JSON values; what it returns, `undefined` as None.

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
            self._command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
        )

    def _end(self) -> None:
        if self._node is not None:
            self._node.kill()
            self._node.communicate()
            self._node = None
