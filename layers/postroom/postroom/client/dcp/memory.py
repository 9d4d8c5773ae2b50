"""A transport between two connections of one event loop."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from postroom.client.dcp.errors import TransportError

_END: Final = None


@dataclass(eq=False)
class MemoryTransport:
    """One of the two ends of a transport in memory; `memory_pair` makes both."""

    _arrived: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue, repr=False)
    _other: "MemoryTransport | None" = field(default=None, repr=False)
    _is_closed: bool = False

    async def send(self, message: bytes) -> None:
        """Send a message to the other end. Raises TransportError."""
        if self._is_closed or self._other is None:
            raise TransportError("the transport is closed")
        self._other._arrived.put_nowait(message)

    async def receive(self) -> bytes:
        """The next message of the other end. Raises TransportError when it is closed, and all were received."""
        message = await self._arrived.get()
        if message is _END:
            self._arrived.put_nowait(_END)
            raise TransportError("the transport is closed")
        return message

    async def aclose(self) -> None:
        """Close both ends."""
        for end in (self, self._other):
            if end is not None and not end._is_closed:
                end._is_closed = True
                end._arrived.put_nowait(_END)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Both ends of a new transport."""
    one, other = MemoryTransport(), MemoryTransport()
    one._other, other._other = other, one
    return one, other
