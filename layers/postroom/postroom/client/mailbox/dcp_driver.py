"""The drivers of a mailbox over DCP: an owner's requests as operations of a connection, each authorized by its key."""

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, TypeAlias

import httpx
from anyio.from_thread import start_blocking_portal

from postroom.api.http import DCP_PATH
from postroom.api.reasons import NOT_A_REQUEST
from postroom.api.schemas import MAX_WAIT_SECONDS
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import DcpError, NotConnectedError, RequestFailedError
from postroom.client.dcp.keys import load_ethereum_key
from postroom.client.mailbox.dcp_waits import WATCH_SECONDS, MailWaits, socket_of
from postroom.client.mailbox.exchange import Answer, MailboxRequest, MailboxResponse
from postroom.client.mailbox.http import HostRoute
from postroom.client.mailbox.keys import Key, load_key
from postroom.client.mailbox.over_dcp import OperationCall, failure_of, operation_of, response_to
from postroom.client.mailbox.session import Retries, Signer
from postroom.core.errors import OurError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys

OwnerKey: TypeAlias = Key | EthereumKey
_ONCE_MORE = Retries(attempts=2, first_seconds=0.2)
"""Of the same message, which counts once. The retries of the mailbox are requests of their own."""
_TRY_AGAIN_SECONDS: Final = 600.0
"""After a WebSocket could not be opened: it takes time to find out."""
_CLOSE_SECONDS: Final = 2.0
_CANNOT: Final = (ErrorCode.EINVAL, str(NOT_A_REQUEST))
"""What a guardian refuses an operation with that it does not know."""


class _AnyIdentity:
    """Remembers no addresses: the host proves itself by its certificate, and its operator may rotate the identity."""

    def address_at(self, url: str) -> Address | None:
        """None."""

    def remember(self, url: str, address: Address) -> None:
        """Do nothing."""

    def clear(self, address: Address | None = None) -> None:
        """Do nothing."""


class _Waiting:
    """How messages are waited for: over a WebSocket, if the host has that, and it can be reached."""

    def __init__(self, owner: EthereumKey, route: HostRoute, timeout: float) -> None:
        self.waits = MailWaits(owner)
        self._owner, self._route, self._timeout = owner, route, timeout
        self._not_before, self._longest = 0.0, float(MAX_WAIT_SECONDS)

    @property
    def most_wait(self) -> float:
        """How long one request can wait, in seconds."""
        return self._longest if self.is_possible and self.waits.is_known else MAX_WAIT_SECONDS

    @property
    def is_possible(self) -> bool:
        """Whether a WebSocket is to be tried now."""
        return time.monotonic() >= self._not_before

    def settings_from(self, described: Answer) -> dict[str, Any] | None:
        """The arguments of the connection over a WebSocket, by the answer to GET /dcp; None: there is none now."""
        socket = socket_of(described)
        if socket is None:
            is_final = isinstance(described, MailboxResponse) and described.status in (200, 404)
            self._not_before = math.inf if is_final else time.monotonic() + _TRY_AGAIN_SECONDS
            return None
        self._longest = socket.most_wait
        return {
            "url": socket.url, "key": self._owner, "expect": socket.guardian, "identities": _AnyIdentity(),
            "ca_file": self._route.ca_file, "connect": self._route.connect, "timeout": self._timeout,
            "text_ping": socket.text_ping,
            # A message that is sent again would come by another WebSocket than the watch before it.
            "retries": Retries(attempts=1), "close_timeout": _CLOSE_SECONDS,
            "answer_timeout": WATCH_SECONDS,
        }  # fmt: skip

    def failed(self, error: DcpError) -> bool:
        """Whether the messages are to be listed in another way now. Otherwise, the error is told."""
        if self.waits.is_known:
            return isinstance(error, NotConnectedError)
        is_refused = isinstance(error, RequestFailedError) and error.code in _CANNOT
        self._not_before = math.inf if is_refused else time.monotonic() + _TRY_AGAIN_SECONDS
        return True


class AsyncDcpDriver:
    """Sends an owner's requests over a connection of DCP. Parameters as for AsyncMailbox.

    `describe`: asks the host for its guardian, GET /dcp.
    """

    def __init__(
        self,
        url: str,
        key: OwnerKey,
        *,
        route: HostRoute,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
        describe: Callable[[], Awaitable[Answer]],
    ) -> None:
        """Raises SettingsError, OSError, OurError."""
        self.key, self._owner = _keys(key)
        self._is_closed = False
        self._connection = AsyncConnection(
            _guardian_at(url), self._owner, http_transport=transport, ca_file=route.ca_file, connect=route.connect,
            timeout=timeout, retries=_ONCE_MORE, identities=_AnyIdentity(),
        )  # fmt: skip
        self._describe = describe
        self._waiting = _Waiting(self._owner, route, timeout)
        self._socket: AsyncConnection | None = None
        self._opening = asyncio.Lock()

    @property
    def most_wait(self) -> float:
        """How long one request can wait, in seconds."""
        return self._waiting.most_wait

    async def ask(self, request: MailboxRequest) -> Answer | None:
        """The answer to a request; None: it is not an operation of DCP. Raises UnexpectedAnswerError."""
        call = operation_of(request)
        if call is None:
            return None
        try:
            result = await (self._wait(call, request.wait) if request.wait else self._send(call))
        except DcpError as error:
            return failure_of(error)
        return response_to(call, result)

    async def aclose(self) -> None:
        """Close the sessions."""
        self._is_closed = True
        try:
            await self._connection.close()
        finally:
            await self._drop(self._socket)

    async def _send(self, call: OperationCall) -> JsonValue:
        return await self._connection.request(call.operation, call.data).send(self._owner)

    async def _wait(self, call: OperationCall, seconds: float) -> JsonValue:
        socket = await self._open_socket() if self._waiting.is_possible else None
        if socket is not None:
            try:
                return await self._waiting.waits.page(socket, call.waiting(0), seconds, self._send)
            except DcpError as error:
                if socket.state is ConnectionState.CLOSED or not isinstance(error, RequestFailedError):
                    await self._drop(socket)
                if not self._waiting.failed(error):
                    raise
        return await self._send(call.waiting(min(seconds, MAX_WAIT_SECONDS)))

    async def _open_socket(self) -> AsyncConnection | None:
        async with self._opening:
            if self._socket is None:
                settings = self._waiting.settings_from(await self._describe())
                self._socket = AsyncConnection(**settings) if settings and not self._is_closed else None
            return self._socket

    async def _drop(self, socket: AsyncConnection | None) -> None:
        """Close a WebSocket; the next wait opens another one."""
        if socket is not None:
            self._socket = None if self._socket is socket else self._socket
            await socket.close()


class DcpDriver:
    """The same for programs without asyncio: an AsyncDcpDriver with a thread of its own."""

    def __init__(
        self,
        url: str,
        key: OwnerKey,
        *,
        route: HostRoute,
        timeout: float,
        transport: httpx.BaseTransport | None,
        describe: Callable[[], Answer],
    ) -> None:
        """Raises SettingsError, OSError, OurError."""
        if transport is not None and not isinstance(transport, httpx.AsyncBaseTransport):
            raise OurError("with dcp=True, the transport must be one for asyncio, too: the connection uses that")
        self._driver = AsyncDcpDriver(
            url, key, route=route, timeout=timeout, transport=transport, describe=partial(asyncio.to_thread, describe)
        )
        self.key = self._driver.key
        self._thread = ExitStack()
        self._portal = self._thread.enter_context(start_blocking_portal())

    @property
    def most_wait(self) -> float:
        """As AsyncDcpDriver."""
        return self._driver.most_wait

    def ask(self, request: MailboxRequest) -> Answer | None:
        """As AsyncDcpDriver."""
        return self._portal.call(self._driver.ask, request)

    def close(self) -> None:
        """Close the sessions, and end the thread."""
        with self._thread:
            self._portal.call(self._driver.aclose)


def _guardian_at(url: str) -> str:
    return f"{url.rstrip('/')}{DCP_PATH}"


def _keys(key: OwnerKey) -> tuple[Signer | UserKeys, EthereumKey]:
    """The key by which an owner signs in and opens messages, and that by which requests are authorized."""
    match key:
        case EthereumKey():
            return key, key
        case str() | os.PathLike():
            owner = load_ethereum_key(key)
            try:
                return load_key(key), owner
            except OurError:  # a keystore, or a PEM of secp256k1
                return owner, owner
    signing = key.signing if isinstance(key, UserKeys) else key
    found = signing.ethereum_key if isinstance(signing, PrivateSigningKey) else None
    if found is None:
        raise OurError("with dcp=True, the key must be one of secp256k1")
    return key, found
