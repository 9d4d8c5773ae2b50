"""A run that dies at one of its calls of AWS."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from tests.aws import gate_calls, new_clients


class Died(BaseException):
    """The process of the run is gone."""


class Dying:
    """Clients of a run that dies at its call of number `at`, before it or `after` it; and the calls that it began."""

    def __init__(self) -> None:
        self.clients, self.calls, self.at, self.after = new_clients(), list[str](), 0, False
        self._lock = RLock()
        gate_calls(self.clients, self._gate)

    def dies(self, at: int, *, after: bool) -> None:
        self.calls, self.at, self.after = [], at, after

    @contextmanager
    def _gate(self, operation: str) -> Iterator[None]:
        with self._lock:
            self.calls.append(operation)
            if len(self.calls) > self.at or (len(self.calls) == self.at and not self.after):
                raise Died
            yield
            if len(self.calls) == self.at:
                raise Died
