"""A connection to a DCP entity, for programs without asyncio."""

import os
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Self, TypeVar, TypeVarTuple, Unpack

import httpx
from anyio.from_thread import start_blocking_portal

from postroom.client.dcp.connection import ANSWER_SECONDS, CLOSE_SECONDS, AsyncConnection
from postroom.client.dcp.errors import ConnectionClosedError
from postroom.client.dcp.identities import IdentityCache
from postroom.client.dcp.keystores import AnyKey
from postroom.client.dcp.requests import DraftRequest, OutgoingRequest
from postroom.client.dcp.runner import RequestHandler, V3Handler
from postroom.client.dcp.websocket import TextPing
from postroom.client.mailbox.session import DEFAULT_RETRIES, Retries
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.payload import NewRequest
from postroom.protocols.dcp.receiving import ReceiveLimits
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.states import ConnectionState

A = TypeVarTuple("A")
T = TypeVar("T")


class Connection:
    """A connection to the target at a URL, as AsyncConnection; a context manager. It may be shared among threads.

    with Connection("https://nlweb.receiver.example/dcp", key) as connection:
        print(connection.send("echo", {"Say": "hi"}))
        connection.request("status", {"mailbox": "receiver.example"}).send(owners_key)

    It has a thread of its own, in which `on_request` and `on_v3` are called.
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
        """As AsyncConnection."""
        self._connection = AsyncConnection(
            url,
            key,
            expect=expect,
            identities=identities,
            on_request=on_request,
            on_v3=on_v3,
            ca_file=ca_file,
            connect=connect,
            local=local,
            timeout=timeout,
            text_ping=text_ping,
            http_transport=http_transport,
            retries=retries,
            close_timeout=close_timeout,
            answer_timeout=answer_timeout,
            options=options,
            store=store,
            limits=limits,
        )
        self._is_closed = False
        self._thread = ExitStack()
        self._portal = self._thread.enter_context(start_blocking_portal())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._connection).replace("Async", "", 1)

    @property
    def peer(self) -> Address | None:
        """The address of the peer's identity; None: there was no session yet."""
        return self._connection.peer

    @property
    def dcpsid(self) -> str | None:
        """The id of the session; None: there was none yet."""
        return self._connection.dcpsid

    @property
    def state(self) -> ConnectionState:
        """The state of the session: new, connecting, open, closing, closed."""
        return self._connection.state

    @property
    def target_version(self) -> str | None:
        """The version of DCP that the target told; None: there was no session yet."""
        return self._connection.target_version

    def connect(self) -> Address:
        """Open a session, and return the target's address. Raises NotConnectedError."""
        return self._call(self._connection.connect)

    def request(self, operation: str, data: JsonValue = None) -> "OutgoingRequest[JsonValue]":
        """A request that is to be authorized, and sent later."""
        return OutgoingRequest(operation=operation, data=data, _send=self.send)

    def send(self, request: str | DraftRequest, data: JsonValue = None) -> JsonValue:
        """Send an operation with its data, or a request, and return its result. Raises as AsyncConnection.send."""
        return self._call(self._connection.send, request, data)

    def present(self, cheque: NewRequest) -> JsonValue:
        """Send what somebody else authorized, unchanged, and return its result. Raises as `send` does."""
        return self._call(self._connection.present, cheque)

    def send_v3(self, url: str, message: JsonValue, key: AnyKey | None = None) -> JsonValue:
        """Send a message of version 3 to a route of the peer, and return its result. As AsyncConnection.send_v3."""
        return self._call(self._connection.send_v3, url, message, key)

    def keepalive(self) -> None:
        """Let the peer keep the session. Raises as `send` does."""
        self._call(self._connection.keepalive)

    def run(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """The result of an asynchronous function that uses the connection, in its thread."""
        return self._call(work, self._connection)

    def clear_identity_cache(self, identity: str | EthereumKey | None = None) -> None:
        """As AsyncConnection.clear_identity_cache."""
        self._connection.clear_identity_cache(identity)

    def close(self) -> None:
        """Close the connection for good, behind all that was sent, and end its thread. May be called again."""
        if not self._is_closed:
            self._call(self._connection.close)
            self._is_closed = True
            self._thread.close()

    def _call(self, method: Callable[[Unpack[A]], Awaitable[T]], *arguments: *A) -> T:
        """Call a method in the thread of the connection."""
        if self._is_closed:
            raise ConnectionClosedError(f"{self!r} is closed: use it before it is closed, or inside its with block")
        return self._portal.call(method, *arguments)
