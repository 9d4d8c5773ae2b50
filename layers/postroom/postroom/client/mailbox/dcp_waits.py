"""Waiting for messages over a WebSocket: the guardian answers a request of the session when the mailbox has mail."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import msgspec

from postroom.api.dcp import WATCH, GuardianDescription
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import OutcomeUnknownError, RequestFailedError
from postroom.client.mailbox.exchange import Answer, MailboxResponse
from postroom.client.mailbox.over_dcp import OperationCall, has_messages
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.reasons import ANSWER_TOO_LARGE

MOST_SECONDS: Final = 540.0
"""Of one wait: API Gateway closes a WebSocket that is not used for 600 s."""
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
        clock = asyncio.get_running_loop().time
        ends_at = clock() + seconds
        woken = asyncio.Event()
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
                if self._look_again_at is not None and looked_at < self._look_again_at and not has_messages(result):
                    # A wait that ends before looks at its end, for there may be no other.
                    await _wait(woken, min(self._look_again_at, ends_at) - clock())
                    if not woken.is_set():
                        result = await self._list(connection, call, list_now)
                if not has_messages(result):
                    await _wait(woken, ends_at - clock())
                if has_messages(result):
                    return result
                if watch.done():
                    watch.result()
                if not woken.is_set():
                    return result
                woken.clear()
        finally:
            self._waiting.discard(woken)

    def _open_watch(self, connection: AsyncConnection, call: OperationCall) -> "asyncio.Task[JsonValue]":
        """The watch that is not answered yet; a new one is sent in a batch with what follows."""
        if self._watch is not None and not self._watch.done():
            return self._watch
        watch = asyncio.create_task(_send(connection, WATCH, {"mailbox": call.mailbox}, self.owner))
        watch.add_done_callback(self._answered)
        self._watch, self._look_again_at = watch, None
        return watch

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


def socket_of(answer: Answer) -> tuple[str, Address | None]:
    """The URL for WebSockets, and the address of the guardian, in the answer to GET /dcp; empty, None: it has none."""
    if not isinstance(answer, MailboxResponse) or answer.status != 200:
        return "", None
    try:
        described = msgspec.json.decode(answer.body, type=GuardianDescription)
        guardian, parts = read_address(described.identity), urlsplit(described.socket)
        is_usable = parts.scheme == "wss" and parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return "", None
    return (described.socket, guardian) if is_usable else ("", None)


async def _send(connection: AsyncConnection, operation: str, data: JsonValue, owner: EthereumKey) -> JsonValue:
    return await connection.request(operation, data).send(owner)
