"""The resident memory of the oldest process of each kind during a run, in megabytes."""

import os
from collections.abc import Mapping
from typing import Final

import psutil

MARKS: Final = (10, 25, 50, 75, 100)
"""Samples are recorded after these percentages of the messages."""
_MB: Final = 1_000_000
HERE: Final = "senders, DNS, buffers"
EMULATOR: Final = "embedded AWS"


class Memory:
    """Samples; `processes`: pid by the name of its kind."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = {name: psutil.Process(pid) for name, pid in processes.items()}
        self.at: dict[int, dict[str, int]] = {}
        self.most: dict[str, int] = {}

    def look(self) -> dict[str, int]:
        """The current megabytes, by name."""
        now = {name: process.memory_info().rss // _MB for name, process in self._processes.items()}
        self.most = {name: max(size, self.most.get(name, 0)) for name, size in now.items()}
        return now

    def mark(self, percent: int) -> None:
        """Record a sample at one of the marks."""
        self.at[percent] = self.look()


def emulator_pid() -> int:
    """The embedded AWS is the latest of our descendants that runs MiniStack itself, not its supervisor."""
    found = [process for process in psutil.Process().children(recursive=True) if _is_emulator(process)]
    return max(found, key=lambda process: process.create_time()).pid


def _is_emulator(process: psutil.Process) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:  # it has ended since it was listed, or is a zombie
        return False
    return any(part.endswith("/ministack.py") for part in command) and "supervisor.py" not in " ".join(command)


def own_pid() -> int:
    """The memory of this process, in which senders, DNS server and buffers are threads."""
    return os.getpid()
