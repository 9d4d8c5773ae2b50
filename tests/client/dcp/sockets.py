"""A server of WebSockets over TLS."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trustme
from tests.patience import PATIENCE
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

HOST = "bank.example"
URL = f"wss://{HOST}/dcp"
Handler = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def serving(
    authority: trustme.CA, handler: Handler, answer: Callable[[ServerConnection, Request], Response] | None = None
) -> AsyncIterator[tuple[str, int]]:
    """A server for HOST, and where it listens. `answer`: instead of opening a WebSocket."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(HOST).configure_cert(tls)
    async with serve(
        handler, "127.0.0.1", 0, ssl=tls, process_request=answer, max_size=2**24, open_timeout=PATIENCE,
        ping_interval=None, close_timeout=PATIENCE,
    ) as server:  # fmt: skip
        yield "127.0.0.1", server.sockets[0].getsockname()[1]
