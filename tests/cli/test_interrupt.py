"""Ctrl-C at any moment of a start: one line, no traceback, and nothing that was started goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("cli-up")]

POSTROOM = str(Path(sys.executable).parent / "postroom")
LOADED = "import time:"
"""Begins the lines that Python writes when it has loaded a module, if it is asked to."""


class Start:
    """A command that starts a local stack, with what it left on the disk and wrote so far."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder, self.errors, self.temporary = folder / "here", folder / "errors", folder / "tmp"
        self.folder.mkdir(parents=True)
        self.temporary.mkdir()
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [POSTROOM, command],
                cwd=self.folder,
                env={
                    "PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(self.temporary),
                    "PYTHONUNBUFFERED": "1", "PYTHONPROFILEIMPORTTIME": "1",
                },
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )  # fmt: skip

    def has_loaded(self, module: str) -> bool:
        return any(line.endswith(f" {module}") for line in self.errors.read_text().splitlines())

    def emulator(self) -> Path | None:
        return next(self.temporary.glob("postroom-aws-*"), None)

    def log_bytes(self) -> int | None:
        """How much the embedded AWS wrote; None: it is not being started."""
        emulator = self.emulator()
        log = emulator and emulator / "emulator.log"
        return log.stat().st_size if log and log.exists() else None

    def interrupt(self) -> None:
        """As a terminal does: all of the foreground hears of it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def said(self) -> list[str]:
        return [line for line in self.errors.read_text().splitlines() if not line.startswith(LOADED)]


MOMENTS: dict[str, Callable[[Start], object]] = {
    "the command line loads": lambda start: start.has_loaded("postroom.cli.options"),
    "the local stack loads": lambda start: start.has_loaded("botocore.exceptions"),
    "the embedded AWS is started": lambda start: start.log_bytes() is not None,
    "the embedded AWS begins": lambda start: start.log_bytes(),
    "certificates are made": lambda start: start.has_loaded("postroom.local.edge") and list(
        start.temporary.glob("postroom-aws-*/ca/*")
    ),
    "domains are set up": lambda start: list(start.folder.glob(".postroom/keys/*")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "moment"),
    [
        *(("up", moment) for moment in MOMENTS),
        ("demo", "the embedded AWS is started"),
        ("demo", "certificates are made"),
    ],
)
def test_it_ends_with_one_line_and_leaves_nothing(tmp_path: Path, command: str, moment: str) -> None:
    start = interrupted(tmp_path, command, moment)
    assert start.process.returncode == 130, start.said()
    assert start.said() == ["postroom: interrupted"]
    assert not (start.folder / ".postroom").exists()
    # The process that holds the embedded AWS removes this when all of it has ended.
    until(lambda: start.emulator() is None)


def interrupted(folder: Path, command: str, moment: str) -> Start:
    """A start that was interrupted: on a busy machine, what is seen too late has started, and is begun again."""
    for attempt in range(20):
        start = Start(folder / str(attempt), command)
        try:
            until(lambda start=start: MOMENTS[moment](start) or start.process.poll() is not None)  # type: ignore[misc]
            if start.process.poll() is None:
                start.interrupt()
            if start.process.wait(PATIENCE) != 0:
                break
        finally:
            start.process.kill()
    return start


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
