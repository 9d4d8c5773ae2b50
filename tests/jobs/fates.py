"""Faults at one AWS call of a compaction run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from botocore.exceptions import ReadTimeoutError
from tests.aws import Clients, gate_calls
from tests.pipeline.stage import Died

WRITES = frozenset({"PutObject", "UpdateItem", "DeleteObjects"})
"""The operations of a run that change something."""


class Fate(StrEnum):
    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    """The call takes effect, but its answer is lost."""
    ANSWER_LOST = "answer lost"
    """The same, but the run continues."""


class Fated:
    """A run with a fault at its `number`-th call, from 1. `calls`: the operations so far.

    `only_writes`: counts only writes.
    """

    def __init__(
        self,
        clients: Clients,
        number: int = 0,
        fate: Fate | None = None,
        *,
        only_writes: bool = False,
        after_writes: Callable[[], object] = int,
    ) -> None:
        self.calls: list[str] = []
        self._number, self._fate, self._after_writes = number, fate, after_writes
        self._only_writes = only_writes
        self._dead = False
        gate_calls(clients, self._gate)

    @contextmanager
    def _gate(self, operation: str) -> Iterator[None]:
        if self._dead:
            raise Died
        if operation not in WRITES and self._only_writes:
            yield
            return
        self.calls.append(operation)
        met = self._fate if len(self.calls) == self._number else None
        if met is Fate.KILLED_BEFORE:
            self._die()
        yield
        if met is Fate.KILLED_AFTER:
            self._die()
        if operation in WRITES:
            self._after_writes()
        if met is Fate.ANSWER_LOST:
            raise ReadTimeoutError(endpoint_url="https://aws")

    def _die(self) -> None:
        self._dead = True
        raise Died
