"""Waiting for messages over a WebSocket: the guardian answers a request of the session when the mailbox has mail."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import msgspec

from postroom.api.dcp import WATCH, GuardianDescription
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import DcpError, OutcomeUnknownError, RequestFailedError
from postroom.client.dcp.websocket import UNUSED_SECONDS, TextPing
from postroom.client.mailbox.exchange import Answer, MailboxResponse
from postroom.client.mailbox.over_dcp import OperationCall, ends_wait
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.reasons import ANSWER_TOO_LARGE, WATCH_REPLACED
from postroom.protocols.dcp.states import ConnectionState

_LONGEST_SECONDS: Final = 3000.0
"""Of one wait, where pings keep the WebSocket open: the list behind it finds what the guardian could not tell of."""
_SHARE_OF_SESSION: Final = (5, 6)
"""The same, of the time for which a session goes on without a message: numerator and denominator."""
_MOST_PING_CHARACTERS: Final = 1000
WATCH_SECONDS: Final = 7200.0
"""How long a watch may go unanswered: API Gateway keeps a WebSocket for as long."""
REPLACED_SECONDS: Final = 540.0
"""After another session took the place of a watch: more sessions wait than may, and take turns."""
LOOK_AGAIN_SECONDS: Final = 35.0
"""After a watch began: until then, there may be workers who do not know of it (DIRECTORY_CACHE_SECONDS is 30)."""
_ANSWER_SECONDS: Final = 60.0
"""For a list: a run of the function ends after 29 s."""

ListNow = Callable[[OperationCall], Awaitable[JsonValue]]
"""Lists messages over HTTPS, without a wait."""


@dataclass(eq=False)
class MailWaits:
    """The waits of one mailbox. `owner`: the key that authorizes requests; `is_known`: a watch was accepted.

    To be used in the event loop of its connection.
    """

    owner: EthereumKey
    is_known: bool = False
    _watch: "asyncio.Task[JsonValue] | None" = field(default=None, init=False)
    _look_again_at: float | None = field(default=None, init=False)
    """When all workers know of the watch, by the clock of the event loop; None: it may not have begun yet."""
    _waiting: set[asyncio.Event] = field(default_factory=set, init=False)

    async def page(
        self, connection: AsyncConnection, call: OperationCall, seconds: float, list_now: ListNow
    ) -> JsonValue:
        """The result of listing messages: as soon as there are any, or after some seconds.

        Raises DcpError; RequestFailedError, too, if the guardian cannot tell of mail.
        """
        ends_at = asyncio.get_running_loop().time() + seconds
        with connection.kept_open():
            return await self._page(connection, call, ends_at, list_now)

    async def _page(
        self, connection: AsyncConnection, call: OperationCall, ends_at: float, list_now: ListNow
    ) -> JsonValue:
        clock, woken = asyncio.get_running_loop().time, asyncio.Event()
        self._waiting.add(woken)
        try:
            while True:
                watch = self._open_watch(connection, call)
                looked_at = clock()
                result = await self._list(connection, call, list_now)
                if watch.done():
                    # Another wait may have opened the next one, of which this list says nothing.
                    watch.result()
                elif self._look_again_at is None:
                    self._look_again_at = clock() + LOOK_AGAIN_SECONDS
                self.is_known = True
                if self._look_again_at is not None and looked_at < self._look_again_at and not ends_wait(result):
                    # A wait that ends before looks at its end, for there may be no other.
                    await _wait(woken, min(self._look_again_at, ends_at) - clock())
                    if not woken.is_set():
                        result = await self._list(connection, call, list_now)
                if not ends_wait(result):
                    await _wait(woken, ends_at - clock())
                if ends_wait(result):
                    return result
                if watch.done():
                    watch.result()
                if not woken.is_set():
                    return result
                woken.clear()
        except DcpError as error:
            if not isinstance(error, RequestFailedError) or connection.state is ConnectionState.CLOSED:
                # Of a session that is over, no watch is left to go on with.
                self._watch = None
            raise
        finally:
            self._waiting.discard(woken)

    def _open_watch(self, connection: AsyncConnection, call: OperationCall) -> "asyncio.Task[JsonValue]":
        """The watch that is not answered yet; a new one is sent in a batch with what follows."""
        if self._watch is not None and not self._watch.done():
            return self._watch
        watch = asyncio.create_task(self._wait_for_mail(connection, call))
        watch.add_done_callback(self._answered)
        self._watch, self._look_again_at = watch, None
        return watch

    async def _wait_for_mail(self, connection: AsyncConnection, call: OperationCall) -> JsonValue:
        """Watch until there is mail. Raises DcpError."""
        try:
            return await _send(connection, WATCH, {"mailbox": call.mailbox}, self.owner)
        except RequestFailedError as error:
            if error.code != str(WATCH_REPLACED):
                raise
        # Whoever watches again at once takes the place of another session, which then does the same.
        await asyncio.sleep(REPLACED_SECONDS)
        return None

    async def _list(self, connection: AsyncConnection, call: OperationCall, list_now: ListNow) -> JsonValue:
        # As a task, because it must begin behind the watch.
        listing = asyncio.create_task(_send(connection, call.operation, call.data, self.owner))
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await listing
        except TimeoutError:
            raise OutcomeUnknownError("the messages were not listed in time") from None
        except RequestFailedError as error:
            if error.code != str(ANSWER_TOO_LARGE):
                raise
            return await list_now(call)

    def _answered(self, watch: "asyncio.Task[JsonValue]") -> None:
        """Wake all who wait, whatever became of the watch."""
        if not watch.cancelled():
            watch.exception()  # nobody may wait for it
        for each in self._waiting:
            each.set()


async def _wait(woken: asyncio.Event, seconds: float) -> None:
    """Wait until the event is set, or the time is over."""
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await woken.wait()
    except TimeoutError:
        pass


@dataclass(frozen=True, slots=True)
class GuardianSocket:
    """Where a guardian takes messages over WebSockets. `text_ping`: what keeps one open; None: only messages do.

    `most_wait`: how long one wait may take, in seconds.
    """

    url: str
    guardian: Address | None = None
    text_ping: TextPing | None = None
    most_wait: float = UNUSED_SECONDS


def socket_of(answer: Answer) -> GuardianSocket | None:
    """What the answer to GET /dcp says of WebSockets; None: there are none."""
    if not isinstance(answer, MailboxResponse) or answer.status != 200:
        return None
    try:
        described = msgspec.json.decode(answer.body, type=GuardianDescription)
        guardian, parts = read_address(described.identity), urlsplit(described.socket)
        is_usable = parts.scheme == "wss" and parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return None
    if not is_usable:
        return None
    ping, pong = described.ping, described.pong
    # Releases before this one tell none.
    if not (0 < len(ping) <= _MOST_PING_CHARACTERS and 0 < len(pong) <= _MOST_PING_CHARACTERS):
        return GuardianSocket(described.socket, guardian)
    numerator, denominator = _SHARE_OF_SESSION
    # In integers, because a guardian may tell one that no float can hold.
    share = described.session_seconds * numerator // denominator
    most_wait = max(UNUSED_SECONDS, min(_LONGEST_SECONDS, share))
    return GuardianSocket(described.socket, guardian, TextPing(ping, pong), most_wait)


async def _send(connection: AsyncConnection, operation: str, data: JsonValue, owner: EthereumKey) -> JsonValue:
    return await connection.request(operation, data).send(owner)
