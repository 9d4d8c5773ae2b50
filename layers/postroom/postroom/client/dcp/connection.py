"""A connection to a DCP entity, for asyncio."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Self, TypeAlias

import httpx

from postroom.client.dcp.errors import (
    ConnectionClosedError,
    NotConnectedError,
    OutcomeUnknownError,
    RequestFailedError,
)
from postroom.client.dcp.https import HttpsTransport
from postroom.client.dcp.identities import IdentityCache, IdentityFile
from postroom.client.dcp.keystores import AnyKey
from postroom.client.dcp.requests import DraftRequest, OutgoingRequest
from postroom.client.dcp.runner import EndpointRunner, Listeners, RequestHandler, V3Handler, now
from postroom.client.dcp.transport import Transport, open_registered, protocol_of
from postroom.client.dcp.websocket import TextPing, WebSocketTransport
from postroom.client.mailbox.session import DEFAULT_RETRIES, Retries
from postroom.core.canonical import json_stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest
from postroom.protocols.dcp.receiving import ReceiveLimits
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.v3 import read_v3_result, v3_data

CLOSE_SECONDS: Final = 10.0
"""How long a peer has to answer a close (DCP: dcpConfig.dcp.closeTimeout)."""
ANSWER_SECONDS: Final = 300.0
"""How long a peer has to answer anything else."""


@dataclass(frozen=True)
class Memory:
    """What is remembered of the requests that an entity received, and which it receives."""

    store: ConnectionStore
    limits: ReceiveLimits | None


def memory_of(key: EthereumKey, store: ConnectionStore | None, limits: ReceiveLimits | None) -> Memory:
    """The memory of the entity with a key, for all its connections: a stamp counts once in all of them.

    `store` None: in this process, which does not know what it received before it began, and so receives no request
    until that is over (DCP: Target Startup Notes, 2). Raises ValueError: connections that share a store in memory would
    remember stamps for different times.
    """
    if isinstance(store, MemoryStore):
        store.remember_by(*(limits or ReceiveLimits()).widest)
    if store is not None:
        return Memory(store, limits)
    remembered, since = _process_memory(key.address)
    limits = limits or ReceiveLimits()
    remembered.remember_by(*limits.widest)
    longest = limits.ttl.max + 2 * limits.slop
    return Memory(remembered, replace(limits, not_before=max(limits.not_before, since + longest)))


@cache
def _process_memory(address: Address) -> tuple[MemoryStore, float]:
    """The memory of an entity, and since when it is there: it is made when it is first needed."""
    del address
    return MemoryStore(), time.time()


Outgoing: TypeAlias = "OutgoingRequest[asyncio.Future[JsonValue]]"
"""A request of a connection for asyncio."""


class BaseConnection:
    """What both ends of a connection have in common: requests are sent and received, until it is closed."""

    def __init__(self, *, listeners: Listeners, options: SendOptions, close_timeout: float) -> None:
        self._listeners, self._options, self._close_timeout = listeners, options, close_timeout
        self._runner: EndpointRunner | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def peer(self) -> Address | None:
        """The address of the peer's identity; None: there was no session yet."""
        opened = self._runner.opened if self._runner else None
        return opened.result() if opened and opened.done() and not opened.exception() else None

    @property
    def dcpsid(self) -> str | None:
        """The id of the session; None: there was none yet."""
        return self._runner.endpoint.dcpsid if self._runner else None

    @property
    def state(self) -> ConnectionState:
        """The state of the session: new, connecting, open, closing, closed."""
        return self._runner.endpoint.state if self._runner else ConnectionState.NEW

    def on_ready_state_change(self, listener: Callable[[ConnectionState], object]) -> None:
        """Call this with each new state: open before the first request, closed after the listeners of a close."""
        self._listeners.states.append(listener)

    def on_send(self, listener: Callable[[bytes], object]) -> None:
        """Call this with each signed message that is sent, once for a batch. For debugging."""
        self._listeners.sent.append(listener)

    def on_close(self, listener: Callable[[ErrorPayload | None], object]) -> None:
        """Call this when a session is over, with the error that ended it; None: it was closed."""
        self._listeners.closed.append(listener)

    def request(self, operation: str, data: JsonValue = None) -> Outgoing:
        """A request that is to be authorized, and sent later."""
        return OutgoingRequest(
            operation=operation, data=data, _send=lambda request: asyncio.ensure_future(self.send(request))
        )

    async def send(self, request: str | DraftRequest, data: JsonValue = None) -> JsonValue:
        """Send an operation with its data, or a request, and return its result; None: it has none.

        Requests that are sent in the same turn of the event loop go in one batch. Raises RequestFailedError if the
        peer answers with an error; OutcomeUnknownError, RequestNotSentError if the session ends; MessageRefusedError;
        NotConnectedError; ConnectionClosedError; NotCanonicalError, a ValueError, if JavaScript would write other data;
        ValueError if the request has an id that another one of this session had, or that it cannot have.
        """
        new = self.request(request, data) if isinstance(request, str) else request
        runner = await self._open_runner()
        peer, own = await asyncio.shield(runner.opened), runner.endpoint.address
        made = new.made_for(peer, own, hex_prefix=self._options.hex_prefix)
        # What cannot be written must not end the session when its turn comes.
        json_stringify(dict(made.payload))
        return await runner.request(made)

    async def present(self, cheque: NewRequest) -> JsonValue:
        """Send what somebody else authorized, unchanged, and return its result. Raises as `send` does."""
        runner = await self._open_runner()
        await asyncio.shield(runner.opened)
        return await runner.request(cheque)

    async def send_v3(self, url: str, message: JsonValue, key: AnyKey | None = None) -> JsonValue:
        """Send a message of version 3 to a route of the peer, and return its result (DCP: v3).

        `key`: whose address is the sender of the message; None: our identity. Raises as `send` does:
        RequestFailedError, too, if the route rejects the message, and with the code ENOV3 if the peer has no routes;
        OutcomeUnknownError, too, if the answer does not tell which.
        """
        result = await self.request(operations.V3, v3_data(url, message)).send(*([key] if key else []))
        try:
            outcome = read_v3_result(result)
        except TheirError as error:
            raise OutcomeUnknownError(error.detail) from None
        if isinstance(outcome, ErrorPayload):
            raise RequestFailedError(outcome)
        return outcome

    async def keepalive(self) -> None:
        """Let the peer keep the session. Raises as `send` does."""
        await self.send(operations.KEEPALIVE)

    async def close(self) -> None:
        """Close the connection for good, behind all that was sent. May be called again."""
        self._is_closed = True
        if self._runner:
            await self._runner.close(self._close_timeout)

    async def _open_runner(self) -> EndpointRunner:
        """The runner of an open session. Raises NotConnectedError, ConnectionClosedError."""
        raise NotImplementedError


class AsyncConnection(BaseConnection):
    """A connection to the target at a URL; an asynchronous context manager.

    async with AsyncConnection("https://nlweb.receiver.example/dcp", key) as connection:
        print(await connection.send("echo", {"Say": "hi"}))
        await connection.request("status", {"mailbox": "receiver.example"}).send(owners_key)

    It is connected when it is first used. When a session ends, the next request opens another one; a request is never
    sent twice, except for the same signed bytes, which count once.
    """

    def __init__(
        self,
        url: str,
        key: EthereumKey,
        *,
        expect: Address | None = None,
        identities: IdentityCache | None = None,
        on_request: RequestHandler | None = None,
        on_v3: V3Handler | None = None,
        transport: Transport | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        connect: tuple[str, int] | None = None,
        local: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        text_ping: TextPing | None = None,
        http_transport: httpx.AsyncBaseTransport | None = None,
        retries: Retries = DEFAULT_RETRIES,
        close_timeout: float = CLOSE_SECONDS,
        answer_timeout: float | None = ANSWER_SECONDS,
        options: SendOptions | None = None,
        store: ConnectionStore | None = None,
        limits: ReceiveLimits | None = None,
    ) -> None:
        """`url`: https://, wss://, or a protocol that `register` named. `key`: of our identity, which signs all.

        `expect`: the target must have this address. `identities`: which address it had before; by default, the file
        ~/.dcp/identity-cache.json knows. `on_request`: called for each request of the target; `on_v3`: for each message
        of version 3, instead. `transport`: used for a single session instead of one for the URL. `ca_file`, `connect`,
        `local`, `timeout`, `retries`: see AsyncMailbox. `close_timeout`: seconds for the target to answer a close;
        `answer_timeout`: to answer a connect or a request, after which the session ends; None: no bound.
        `options`: how requests are sent. `limits`: which requests of the target are received; `store`: where they are
        remembered, as for `accept`. `text_ping`: what keeps a
        WebSocket open. `http_transport`: of httpx, instead of its own.
        """
        super().__init__(
            listeners=Listeners(on_request, on_v3), options=options or SendOptions(), close_timeout=close_timeout
        )  # fmt: skip
        self._url, self._key, self._expect = url, key, expect
        self._identities = IdentityFile() if identities is None else identities
        self._retries, self._text_ping, self._answer_timeout = retries, text_ping, answer_timeout
        receives = on_request is not None or on_v3 is not None
        self._memory = memory_of(key, store, limits) if receives else Memory(store or MemoryStore(), limits)
        self._opening: asyncio.Task[EndpointRunner] | None = None

        def open_transport() -> Transport:
            if transport is not None:
                return transport
            protocol = protocol_of(url)
            if protocol == "wss":
                return WebSocketTransport(
                    url, ca_file=ca_file, connect=connect, local=local, timeout=timeout, text_ping=text_ping
                )
            if protocol != "https":
                return open_registered(url)
            return HttpsTransport(
                url, ca_file=ca_file, connect=connect, local=local, timeout=timeout, transport=http_transport
            )

        self._open_transport = open_transport

    def __repr__(self) -> str:
        return f"<AsyncConnection of {self._key.address} to {self._url}>"

    @property
    def target_version(self) -> str | None:
        """The version of DCP that the target told; None: there was no session yet."""
        return self._runner.endpoint.target_version if self._runner else None

    def kept_open(self) -> AbstractContextManager[None]:
        """Within the block, keep a WebSocket open by which nothing is sent, if there is a `text_ping`."""
        return self._text_ping.needed() if self._text_ping else nullcontext()

    async def connect(self) -> Address:
        """Open a session, and return the target's address.

        Raises NotConnectedError if that is refused or impossible, or there is a session: with the code EADDRCHANGE if
        the target's address is not the one that is expected, ETARGETVERSION or EVERSION if the versions do not fit.
        """
        if self.state in (ConnectionState.OPEN, ConnectionState.CONNECTING, ConnectionState.CLOSING):
            raise NotConnectedError("there is a session already")
        return await asyncio.shield((await self._open_runner()).opened)

    def clear_identity_cache(self, identity: str | EthereumKey | None = None) -> None:
        """Forget the targets with an identity, so that they may have another one; None: all.

        `identity`: its address, in any form, or its key. Raises ValueError for what is no address.
        """
        address = identity.address if isinstance(identity, EthereumKey) else identity
        self._identities.clear(None if address is None else read_address(address))

    async def _open_runner(self) -> EndpointRunner:
        if self._runner and self._runner.endpoint.state is ConnectionState.OPEN:
            return self._runner
        # All who wait for the session go on in the same turn of the loop, so that their requests go in one batch.
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open_session())
        return await asyncio.shield(self._opening)

    async def _open_session(self) -> EndpointRunner:
        if self._runner:
            await self._runner.close(0)
        if self._is_closed:
            raise ConnectionClosedError(f"{self!r} is closed: use it before it is closed, or inside its with block")
        expected = self._expect or self._identities.address_at(self._url)
        machine = ConnectionInitiator(
            self._key,
            store=self._memory.store,
            random=secrets.token_bytes,
            expected=expected,
            limits=self._memory.limits,
            options=self._options,
        )
        runner = EndpointRunner(machine, self._open_transport(), self._listeners, self._retries, self._answer_timeout)
        self._runner = runner
        runner.start(machine.connect(now()))
        try:
            peer = await runner.opened
        except NotConnectedError as error:
            await runner.close(0)
            if error.code == ErrorCode.EADDRCHANGE and not self._expect:
                hint = f"if that is right, `clear_identity_cache({expected!r})` lets it have another address"
                raise NotConnectedError(error.detail, code=error.code, hint=hint) from None
            raise
        if not self._expect:
            self._identities.remember(self._url, peer)
        return runner
