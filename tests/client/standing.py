"""Waits on clocks that stand still or go by pauses, over a connection that a test answers by hand."""

import asyncio
import selectors
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from postroom.client.dcp.errors import OutcomeUnknownError, RequestFailedError
from postroom.client.mailbox.over_dcp import OperationCall
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.states import ConnectionState


class IdleSelector(selectors.DefaultSelector):
    """Lets the time of an event loop go on only while all wait for it; nobody waits for anything else here."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "all wait, and nothing will happen any more"
        self.now += timeout
        return super().select(0)


def run_by_its_pauses(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in an event loop whose time is that of its pauses."""

    def make_loop() -> asyncio.AbstractEventLoop:
        selector = IdleSelector()
        loop = asyncio.SelectorEventLoop(selector)
        setattr(loop, "time", lambda: selector.now)  # noqa: B010
        return loop

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(work)


class StandingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is `now`."""

    now: float = 0

    def time(self) -> float:
        return self.now

    def turn(self) -> None:
        """Do all that can be done now."""
        self._rest = 12
        self.call_soon(self._turned)
        self.run_forever()

    def _turned(self) -> None:
        self._rest -= 1
        self.call_soon(self._turned) if self._rest else self.stop()


class Socket:
    """A connection over a WebSocket, by what was asked over it."""

    state = ConnectionState.OPEN

    def __init__(self) -> None:
        self.asked: list[tuple[str, asyncio.Future[JsonValue]]] = []

    def request(self, operation: str, _data: JsonValue) -> "Asked":
        return Asked(self, operation)

    def kept_open(self) -> AbstractContextManager[None]:
        return nullcontext()

    def unanswered(self) -> tuple[str, ...]:
        """The operations, in the order of their requests."""
        return tuple(operation for operation, future in self.asked if not future.done())

    def answer(self, operation: str, value: JsonValue) -> None:
        """Answer the first request for it that is not answered."""
        next(future for name, future in self.asked if name == operation and not future.done()).set_result(value)

    def fail(self, operation: str, error: RequestFailedError) -> None:
        """The same, by an error."""
        next(future for name, future in self.asked if name == operation and not future.done()).set_exception(error)

    def lose(self) -> None:
        """The WebSocket is closed."""
        for _, future in self.asked:
            if not future.done():
                future.set_exception(OutcomeUnknownError("lost"))


@dataclass
class Asked:
    socket: Socket
    operation: str

    async def send(self, _owner: Any) -> JsonValue:
        future: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        self.socket.asked.append((self.operation, future))
        return await future


async def list_nowhere(_: OperationCall) -> JsonValue:
    raise AssertionError("it fits into a message of the WebSocket")
