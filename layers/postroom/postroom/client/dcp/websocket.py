"""Transports that send messages over a WebSocket (RFC 6455): to the target at a URL, and that of a server."""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx

from postroom.client.dcp.errors import MessageRefusedError, TransportError
from postroom.client.dcp.unsigned_answers import check_signed
from postroom.client.mailbox.http import choose_route, choose_tls, read_address
from postroom.core.errors import SettingsError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.asyncio.connection import Connection as WebSocket
    from websockets.exceptions import ConnectionClosed

_MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
_FRAME_BYTES: Final = 32 * 1024
"""API Gateway closes a WebSocket with a longer frame."""
_CLOSE_SECONDS: Final = 2.0
"""How long a peer has to confirm that the WebSocket is closed; nothing that matters is sent after that."""
_PING_SECONDS: Final = 20.0
"""Between pings, and for the answer to one."""
UNUSED_SECONDS: Final = 540.0
"""API Gateway closes a WebSocket by which nothing is sent for 600 s; pings of the WebSocket itself may not count."""
_TEXT_PING_SECONDS: Final = 60.0
"""For the answer to a ping that is a text."""
_FINAL_CODES: Final = frozenset({1000, 1003, 1007, 1008, 1009})
"""The session was ended on purpose, or the same message would be refused again (RFC 6455 §7.4.1)."""
_FORM: Final = "it must be wss://, a host and a path, such as wss://nlweb.receiver.example/dcp"


@dataclass(eq=False)
class TextPing:
    """The text that keeps a WebSocket open, and the text that answers it. Neither is a message of DCP.

    `users`: how many need that at the moment; a WebSocket that nobody needs may end.
    """

    ping: str
    pong: str
    users: int = field(default=0, init=False)

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Within the block, keep the WebSocket open."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1


class WebSocketTransport:
    """The transport to the target at a URL; see AsyncMailbox for `ca_file`, `connect` and `local`.

    It connects when it first sends, and again when it sends after the connection was lost. `timeout`: seconds until
    there is a connection; `text_ping`: what keeps it open. Raises SettingsError, OurError.
    """

    def __init__(
        self,
        url: str,
        *,
        ca_file: str | os.PathLike[str] | None = None,
        connect: tuple[str, int] | None = None,
        local: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        text_ping: TextPing | None = None,
    ) -> None:
        route = choose_route(ca_file, connect, local)
        try:
            parts = urlsplit(url)
            address = read_address(f"https://{parts.netloc}", route.connect)
        except (ValueError, SettingsError):
            raise SettingsError(f"the target's URL is {url!r}; {_FORM}") from None
        if parts.scheme != "wss" or parts.query or parts.fragment:
            raise SettingsError(f"the target's URL is {url!r}; {_FORM}")
        self._url = f"wss://{address.named}{parts.path or '/'}"
        self._host, self._connect, self._timeout = address.host, route.connect, timeout
        self._tls = choose_tls(route.ca_file)
        self._is_closed = False
        self._socket: ClientConnection | None = None
        self._pinging: set[asyncio.Task[None]] = set()
        self._text_ping, self._has_received = text_ping, asyncio.Event()
        self._used_at = 0.0
        """When a message was sent last, by the clock of the event loop."""
        self._is_last_a_ping = False
        """Whether no message was sent after the last text ping, which is not answered yet."""
        self._opening = asyncio.Lock()
        self._is_open = asyncio.Event()
        self._sent_by: ClientConnection | None = None
        """What the last message was sent by, until its loss was told: either by `send` or by `receive`."""

    async def send(self, message: bytes) -> None:
        """Send a message. Raises TransportError."""
        from websockets.exceptions import ConnectionClosed

        socket = await self._open()
        self._used_at, self._is_last_a_ping = asyncio.get_running_loop().time(), False
        try:
            await socket.send(_frames(message), text=True)
        except ConnectionClosed as error:
            if self._sent_by is socket:
                raise self._lost(socket, error) from None

    async def receive(self) -> bytes:
        """The next message. Raises TransportError, MessageRefusedError."""
        from websockets.exceptions import ConnectionClosed

        while True:
            await self._is_open.wait()
            socket = self._socket
            if socket is None:
                raise TransportError("the transport is closed")
            try:
                message = await socket.recv(decode=False)
            except ConnectionClosed as error:
                if self._sent_by is socket:
                    raise self._lost(socket, error) from None
            else:
                self._has_received.set()
                if not self._answers_ping(message):
                    check_signed(message)
                    return message

    async def aclose(self) -> None:
        """Close the connection to the target."""
        self._is_closed = True
        socket, self._socket = self._socket, None
        self._is_open.set()  # whoever receives need not wait
        if socket is not None:
            await socket.close()

    async def _open(self) -> "ClientConnection":
        """The connection, or a new one, to send a message by. Raises TransportError."""
        async with self._opening:
            if self._is_closed:
                raise TransportError("the transport is closed")
            if self._socket is None:
                self._socket = await self._connected()
                self._pinging = {asyncio.create_task(_ping(self._socket))}
                if self._text_ping:
                    self._pinging.add(asyncio.create_task(self._keep_open(self._socket, self._text_ping)))
                self._is_open.set()
            self._sent_by = self._socket
            return self._socket

    async def _keep_open(self, socket: "ClientConnection", text_ping: TextPing) -> None:
        """Send text pings while somebody needs that, and nothing else is sent, and close a connection without answers.

        Anything that arrives is an answer.
        """
        from websockets.exceptions import ConnectionClosed
        from websockets.frames import CloseCode

        clock = asyncio.get_running_loop().time
        looked_at = clock()
        with suppress(ConnectionClosed):
            while not await _happens(socket.wait_closed(), max(self._used_at, looked_at) + UNUSED_SECONDS - clock()):
                if clock() < self._used_at + UNUSED_SECONDS:
                    continue
                # Whoever needs it later sends something at once.
                looked_at = clock()
                if text_ping.users:
                    self._has_received.clear()
                    self._is_last_a_ping = True
                    await socket.send(text_ping.ping)
                    if not await _happens(self._has_received.wait(), _TEXT_PING_SECONDS):
                        await socket.close(CloseCode.INTERNAL_ERROR, "a text ping was not answered")

    def _answers_ping(self, message: bytes) -> bool:
        """Whether a message is the answer to a text ping, or its refusal, by which no request failed."""
        if self._text_ping is None:
            return False
        is_answer = message == self._text_ping.pong.encode() or (self._is_last_a_ping and _is_refusal(message))
        self._is_last_a_ping &= not is_answer
        return is_answer

    async def _connected(self) -> "ClientConnection":
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidStatus

        opening = partial(
            connect,
            self._url,
            ssl=self._tls,
            compression=None,
            open_timeout=self._timeout,
            close_timeout=_CLOSE_SECONDS,
            max_size=_MAX_MESSAGE_BYTES,
            ping_interval=None,  # see _ping
        )
        try:
            if self._connect is None:
                return await opening()
            # A proxy of the environment could not reach this address.
            return await opening(proxy=None, host=self._connect[0], port=self._connect[1])
        except ssl.SSLCertVerificationError as error:
            raise TransportError(
                f"The certificate of {self._host} is not accepted: {error.verify_message.rstrip('.')}."
            ) from None
        except InvalidStatus as error:
            status = error.response.status_code
            raise TransportError(
                f"{self._host} answered {status} instead of opening a WebSocket.",
                repeats=status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR,
            ) from None
        except TimeoutError:
            raise TransportError(f"{self._host} did not answer in time.", repeats=True) from None
        except (OSError, InvalidHandshake) as error:
            detail = str(error) or type(error).__name__
            raise TransportError(f"No WebSocket to {self._host}: {detail}.", repeats=True) from None

    def _lost(self, socket: "ClientConnection", error: "ConnectionClosed") -> TransportError:
        """What tells that a connection is lost, once."""
        self._sent_by = None
        if self._socket is socket:
            self._socket = None
            self._is_open.clear()
        codes = {each.code for each in (error.rcvd, error.sent) if each is not None}
        return TransportError(
            f"The WebSocket to {self._host} was closed: {error}.", repeats=codes.isdisjoint(_FINAL_CODES)
        )


async def _ping(socket: "ClientConnection") -> None:
    """Send pings until a connection is closed, and close one whose peer has answered before and does not any more.

    A peer that never answers is not lost: AWS does not say whether API Gateway answers pings.
    """
    from websockets.exceptions import ConnectionClosed
    from websockets.frames import CloseCode

    does_answer = False
    with suppress(ConnectionClosed):
        while not await _happens(socket.wait_closed(), _PING_SECONDS):
            if await _happens(await socket.ping(), _PING_SECONDS):
                does_answer = True
            elif does_answer:
                await socket.close(CloseCode.INTERNAL_ERROR, "a ping was not answered")


def _is_refusal(message: bytes) -> bool:
    try:
        check_signed(message)
    except (TransportError, MessageRefusedError):
        return True
    return False


async def _happens(what: Awaitable[object], seconds: float) -> bool:
    """Whether something happens within some time."""
    try:
        async with asyncio.timeout(seconds):
            await what
    except TimeoutError:
        return False
    return True


def _frames(message: bytes) -> bytes | list[bytes]:
    """A message, or if it is long, its frames."""
    if len(message) <= _FRAME_BYTES:
        return message
    return [message[start : start + _FRAME_BYTES] for start in range(0, len(message), _FRAME_BYTES)]


@dataclass(frozen=True)
class AcceptedWebSocket:
    """The transport of a WebSocket that a server of the package websockets has opened, for `accept`, which takes one
    `socket` once.

    async def handle(socket: websockets.ServerConnection) -> None:
        connection = await accept(AcceptedWebSocket(socket), key, on_request=answer)
        await socket.wait_closed()

    A server with `max_size=2**24` takes all messages of DCP.
    """

    socket: "WebSocket"

    async def send(self, message: bytes) -> None:
        """Send a message. Raises TransportError."""
        from websockets.exceptions import ConnectionClosed

        try:
            await self.socket.send(message, text=True)
        except ConnectionClosed as error:
            raise TransportError(f"The WebSocket was closed: {error}.") from None

    async def receive(self) -> bytes:
        """The next message. Raises TransportError."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await self.socket.recv(decode=False)
        except ConnectionClosed as error:
            raise TransportError(f"The WebSocket was closed: {error}.") from None

    async def aclose(self) -> None:
        """Close the WebSocket."""
        await self.socket.close()
