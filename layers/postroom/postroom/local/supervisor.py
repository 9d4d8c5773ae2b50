"""The supervisor of a command: the command ends, with all its children, when the supervisor's parent ends in any way.

Run as a script by `emulator.py`, with a pipe as standard input: `supervisor.py GRACE DIRECTORY COMMAND...`. The kernel
closes the other end of the pipe even if the owner is killed with SIGKILL; this is the only sign of a parent's death
that works on Linux and macOS alike. At the end of the pipe, on SIGTERM or SIGINT, or when the command ends by itself,
the command gets GRACE seconds to end (0: none). Then its whole process group is killed and DIRECTORY (its temporary
files) is removed.

It uses the standard library only, and nothing of this package: it runs with a clean environment and must start at once.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from types import FrameType


def main(arguments: list[str]) -> None:
    """Run the command, and end it with our parent."""
    grace, directory, command = float(arguments[0]), arguments[1], arguments[2:]
    over = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    # A group of its own: this process must outlive the killing of the group to clean up after it.
    # A pipe that nothing is written to: the child sees by its end that this process was killed.
    child = subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)  # noqa: S603

    def watch_owner() -> None:
        while os.read(0, 1024):
            pass
        over.set()

    def watch_child() -> None:
        child.wait()
        over.set()

    for watch in (watch_owner, watch_child):
        threading.Thread(target=watch, daemon=True).start()
    # The owner needs the group's number in case this process is killed, and may itself be gone already.
    with suppress(BrokenPipeError):
        os.write(1, f"{child.pid}\n".encode())
    while not over.wait(3600):
        pass
    if grace > 0 and child.poll() is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    kill_group(child.pid)
    child.wait()
    shutil.rmtree(directory, ignore_errors=True)


def kill_group(leader: int) -> None:
    """Kill the rest of the process group, if there is any."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # macOS returns EPERM for a group in which only zombies are left.
        return


if __name__ == "__main__":
    main(sys.argv[1:])
