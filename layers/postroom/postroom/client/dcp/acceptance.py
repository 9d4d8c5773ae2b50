"""Connections that others open to us, for asyncio."""

import asyncio
import secrets

from postroom.client.dcp.connection import ANSWER_SECONDS, CLOSE_SECONDS, BaseConnection, memory_of
from postroom.client.dcp.errors import ConnectionClosedError, NotConnectedError
from postroom.client.dcp.runner import EndpointRunner, Listeners, RequestHandler, V3Handler
from postroom.client.dcp.transport import Transport
from postroom.client.mailbox.session import DEFAULT_RETRIES
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.receiving import ReceiveLimits
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.target import ConnectionTarget

_accepted: list[Transport] = []
"""The transports of connections that are not over: of two that read from one, each would miss what the other takes."""


class AcceptedConnection(BaseConnection):
    """A connection that a peer opened to us, as `accept` returns it; an asynchronous context manager."""

    def __repr__(self) -> str:
        return f"<AcceptedConnection of {self.peer}>"

    async def _run(self, runner: EndpointRunner) -> Address:
        self._runner = runner
        runner.start()
        try:
            return await asyncio.shield(runner.opened)
        except asyncio.CancelledError:
            await runner.close(0)
            raise

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
    store: ConnectionStore | None = None,
    limits: ReceiveLimits | None = None,
    options: SendOptions | None = None,
    close_timeout: float = CLOSE_SECONDS,
    answer_timeout: float | None = ANSWER_SECONDS,
) -> AcceptedConnection:
    """The connection that a peer opens by a transport, when it is open (DCP: accept).

    `on_request`: called for each request, which it must respond to; without it, all are refused. `on_v3`: called for
    each message of version 3, instead; without it, they are refused (ENOV3). `store`: where the requests that were
    received are remembered; it must outlive this process. None: they are remembered in memory, and until the longest
    time that a request can count is over, none is received, because it may have been received before this process began
    (DCP: Target Startup Notes, 2). `answer_timeout`: seconds for the peer to connect, and to answer our requests; None:
    no bound. Raises NotConnectedError, also if the transport was accepted before.
    """
    if transport in _accepted:
        raise NotConnectedError("this transport was accepted before")
    memory = memory_of(key, store, limits)
    options = options or SendOptions(ntp=True)
    listeners = Listeners(on_request, on_v3)
    machine = ConnectionTarget(
        key, store=memory.store, random=secrets.token_bytes, limits=memory.limits, options=options
    )
    connection = AcceptedConnection(listeners=listeners, options=options, close_timeout=close_timeout)
    runner = EndpointRunner(machine, transport, listeners, DEFAULT_RETRIES, answer_timeout)
    _accepted.append(transport)
    runner.ended.add_done_callback(lambda _: _accepted.remove(transport))
    await connection._run(runner)
    return connection
