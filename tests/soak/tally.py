"""Counts of events in the processes of a soak: one file, with a line for each event, which survives kills."""

import os
from collections import Counter
from pathlib import Path


class Tally:
    """Appends to the file; a line is written completely or not at all (O_APPEND)."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, what: str) -> None:
        """Count an event."""
        os.write(self._file, f"{what}\n".encode())


def counted(path: Path) -> Counter[str]:
    """The counts so far."""
    return Counter(path.read_text(encoding="utf-8").splitlines()) if path.exists() else Counter()
