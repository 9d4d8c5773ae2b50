"""What the hands count, in one file that survives their being killed: a line is one thing that happened."""

import os
from collections import Counter
from pathlib import Path


class Tally:
    """One writing end; a line is written whole or not at all (O_APPEND)."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, what: str) -> None:
        """Count one."""
        os.write(self._file, f"{what}\n".encode())


def counted(path: Path) -> Counter[str]:
    """How often each thing happened so far."""
    return Counter(path.read_text(encoding="utf-8").splitlines()) if path.exists() else Counter()
