"""DNS servers on loopback ports, which are stopped by their own handles, or end when this process is killed."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dns.exception
import dns.message
import dns.name
import dns.query
from dns.rdatatype import SOA
from tests.patience import PATIENCE

from postroom.local import supervisor
from postroom.local.ports import HOST, free_port

# Somebody may take a port between our look at it and the server's.
_TRIES = 3

Command = Callable[[Path, int], list[str]]
"""Writes the configuration into a folder of the server's own, for this port; returns the command that serves."""


class _EndedError(Exception):
    """The server did not come up; the text is what it wrote."""


@contextmanager
def serving(command: Command) -> Iterator[int]:
    """The port where the server answers. Raises `RuntimeError` with what it wrote if it never does."""
    for tries_left in reversed(range(_TRIES)):
        port = free_port()
        directory = Path(tempfile.mkdtemp(prefix="postroom-dns-"))
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", supervisor.__file__, "0", str(directory), *command(directory, port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            _wait_for_answer(process, port, directory / "log")
        except _EndedError as error:
            _end(process, directory)
            if not tries_left:
                raise RuntimeError(str(error)) from None
            continue
        try:
            yield port
        finally:
            _end(process, directory)
        return


def _wait_for_answer(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    query = dns.message.make_query(dns.name.root, SOA)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise _EndedError(f"the server ended at once: {_tail(log)}")
        # A port that nobody listens at yet refuses, or says nothing.
        with suppress(OSError, dns.exception.Timeout):
            dns.query.udp(query, HOST, timeout=0.5, port=port)
            return
        time.sleep(0.02)
    raise _EndedError(f"the server did not answer within {PATIENCE:.0f} s: {_tail(log)}")


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait()
    process.stdout.close()
    # The supervisor removes it, unless it was killed itself.
    shutil.rmtree(directory, ignore_errors=True)


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:] if log.exists() else "(it left nothing)"
