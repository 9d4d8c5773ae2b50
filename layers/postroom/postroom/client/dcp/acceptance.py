"""Connections that others open to us, for asyncio."""

import asyncio
import secrets
import time
from dataclasses import dataclass, field, replace
from functools import cache

from postroom.client.dcp.connection import CLOSE_SECONDS, BaseConnection
from postroom.client.dcp.errors import ConnectionClosedError
from postroom.client.dcp.runner import EndpointRunner, Listeners, RequestHandler, V3Handler
from postroom.client.dcp.transport import Transport
from postroom.client.mailbox.session import DEFAULT_RETRIES
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.receiving import ReceiveLimits
from postroom.protocols.dcp.session_store import SessionStore
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.target import ConnectionTarget


@dataclass(frozen=True)
class _Remembered:
    """What this process remembers of all requests that it received, and since when."""

    store: SessionStore = field(default_factory=MemoryStore)
    since: float = field(default_factory=time.time)


class AcceptedConnection(BaseConnection):
    """A connection that a peer opened to us, as `accept` returns it; an asynchronous context manager."""

    def __repr__(self) -> str:
        return f"<AcceptedConnection of {self.peer}>"

    async def _run(self, runner: EndpointRunner) -> Address:
        self._runner = runner
        runner.start()
        return await asyncio.shield(runner.opened)

    async def _open_runner(self) -> EndpointRunner:
        if self._is_closed or self._runner is None or self._runner.endpoint.state is not ConnectionState.OPEN:
            raise ConnectionClosedError(f"{self!r} is closed: only its peer can open another one")
        return self._runner


async def accept(
    transport: Transport,
    key: EthereumKey,
    *,
    on_request: RequestHandler | None = None,
    on_v3: V3Handler | None = None,
    store: SessionStore | None = None,
    limits: ReceiveLimits | None = None,
    options: SendOptions | None = None,
    close_timeout: float = CLOSE_SECONDS,
) -> AcceptedConnection:
    """The connection that a peer opens by a transport, when it is open (DCP: accept).

    `on_request`: called for each request, which it must respond to; without it, all are refused. `on_v3`: called for
    each message of version 3, instead; without it, they are refused (ENOV3). `store`: where the requests that were
    received are remembered; it must outlive this process. None: they are remembered in memory, and until the longest
    time that a request can count is over, none is received, because it may have been received before this process began
    (DCP: Target Startup Notes, 2). Raises NotConnectedError.
    """
    limits = limits or ReceiveLimits()
    if store is None:
        remembered = _process_memory()
        store = remembered.store
        longest = limits.ttl.max + 2 * limits.slop
        limits = replace(limits, not_before=max(limits.not_before, remembered.since + longest))
    options = options or SendOptions(ntp=True)
    listeners = Listeners(on_request, on_v3)
    machine = ConnectionTarget(key, store=store, random=secrets.token_bytes, limits=limits, options=options)
    connection = AcceptedConnection(listeners=listeners, options=options, close_timeout=close_timeout)
    await connection._run(EndpointRunner(machine, transport, listeners, DEFAULT_RETRIES))
    return connection


@cache
def _process_memory() -> _Remembered:
    """Made when it is first needed; what was received before that is not known."""
    return _Remembered()
