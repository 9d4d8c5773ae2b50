"""The transactions of a local chain in a file: for each block with any a line of JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from postroom.core.errors import SettingsError


class KeptBlock(NamedTuple):
    """Transactions of a block. `seconds`: its time since the epoch."""

    seconds: int
    transactions: list[bytes]


class TransactionFile:
    """A file to which blocks are added; created with the first one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[KeptBlock]:
        """All blocks, in their order. Raises SettingsError for a file that cannot be read.

        What a process did not come to write to its end was acknowledged to nobody: it is removed.
        """
        if not self._path.exists():
            return []
        whole, _, rest = self._path.read_bytes().rpartition(b"\n")
        if rest:
            with self._path.open("r+b") as file:
                file.truncate(len(whole) + 1 if whole else 0)
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            return [KeptBlock(line["time"], [bytes.fromhex(each) for each in line["transactions"]]) for line in lines]
        except (ValueError, KeyError, TypeError):
            raise SettingsError(f"{self._path} is no file of transactions; without it the chain begins anew") from None

    def add(self, seconds: int, transactions: Sequence[bytes]) -> None:
        """Add a block."""
        line = json.dumps({"time": seconds, "transactions": [each.hex() for each in transactions]})
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
