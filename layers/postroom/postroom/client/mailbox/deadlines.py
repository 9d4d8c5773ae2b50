"""Time limits of whole requests: those of httpx are for single steps, and a host may drip its answer without end."""

import asyncio
import ssl
import time
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import httpx

from postroom.client.mailbox.exchange import MailboxRequest

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CONNECT_SECONDS: Final = 10.0
"""A host that accepts no connection for so long is unavailable; the time-out applies to answers."""
BYTES_PER_SECOND: Final = 10_000
"""What is large may take longer, if it comes and goes at this rate at least."""
_PASSED: Final = "the time of the request is over"
_ends_at: ContextVar[float | None] = ContextVar("_ends_at", default=None)
"""When the request of this thread must be over, by time.monotonic."""


def limit_of(request: MailboxRequest, timeout: float) -> float:
    """How long a request may take until its answer begins, in seconds. `timeout`: the one that its sender chose."""
    return min(timeout, CONNECT_SECONDS) + timeout + request.wait + len(request.body) / BYTES_PER_SECOND


class AsyncDeadline:
    """The time limit of a request, as an asynchronous context manager. Raises httpx.ReadTimeout."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise httpx.ReadTimeout(_PASSED) from None

    def received(self, size: int) -> None:
        """Allow the time that so many bytes of the answer may take."""
        self._timeout.reschedule((self._timeout.when() or 0.0) + size / BYTES_PER_SECOND)


class Deadline:
    """The same for programs without asyncio; it holds for sockets of `TimedSocket` that this thread uses meanwhile."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds
        self._before: Token[float | None] | None = None

    def __enter__(self) -> Self:
        self._before = _ends_at.set(self._at)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            _ends_at.reset(self._before)

    def received(self, size: int) -> None:
        """Allow the time that so many bytes of the answer may take. Raises httpx.ReadTimeout."""
        self._at += size / BYTES_PER_SECOND
        _ends_at.set(self._at)
        if time.monotonic() > self._at:
            raise httpx.ReadTimeout(_PASSED)


class TimedSocket(ssl.SSLSocket):
    """A socket whose steps end with the request that they are for."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Raises TimeoutError."""
        self._limit()
        return super().recv(buflen, flags)

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        """Raises TimeoutError."""
        self._limit()
        return super().send(data, flags)

    def _limit(self) -> None:
        ends_at = _ends_at.get()
        if ends_at is None:
            return
        left = ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError(_PASSED)
        step = self.gettimeout()
        self.settimeout(left if step is None else min(step, left))
