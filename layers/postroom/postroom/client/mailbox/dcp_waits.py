"""Waiting for messages over a WebSocket: the guardian answers a request of the session when the mailbox has mail."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from postroom.api.dcp import WATCH, GuardianDescription
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import RequestFailedError
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
_JUST_NOW_SECONDS: Final = 5.0
"""What was listed so long ago at the end of a wait is not listed again at the beginning of the next one."""

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
    _looks_again_at: float = field(default=0.0, init=False)
    _listed: "tuple[float, OperationCall, JsonValue] | None" = field(default=None, init=False)
    """When a wait ended without messages, what it listed, and the result."""

    async def page(
        self, connection: AsyncConnection, call: OperationCall, seconds: float, list_now: ListNow
    ) -> JsonValue:
        """The result of listing messages: as soon as there are any, or after some seconds.

        Raises DcpError; RequestFailedError, too, if the guardian cannot tell of mail.
        """
        clock = asyncio.get_running_loop().time
        ends_at = clock() + seconds
        result = self._listed_just_now(call, clock()) if seconds > 0 else None
        while True:
            if result is None:
                result = await self._watch_and_list(connection, call, list_now)
            now = clock()
            if has_messages(result):
                return result
            if now >= ends_at:
                self._listed = now, call, result
                return result
            result = None
            if self._watch is not None:
                due = self._looks_again_at if now < self._looks_again_at else ends_at
                await asyncio.wait({self._watch}, timeout=min(due, ends_at) - now)
                self._take_answer()

    def _listed_just_now(self, call: OperationCall, now: float) -> JsonValue:
        """What the wait before this one listed at its end, if the watch goes on; None: it must be listed."""
        listed, self._listed = self._listed, None
        if listed is None or self._watch is None or self._watch.done():
            return None
        at, listed_call, result = listed
        return result if listed_call == call and now - at < _JUST_NOW_SECONDS else None

    async def _watch_and_list(self, connection: AsyncConnection, call: OperationCall, list_now: ListNow) -> JsonValue:
        """List messages, in a batch behind a new watch, if there is none: what is filed is listed, or told."""
        if self._watch is None:
            self._watch = asyncio.create_task(_send(connection, WATCH, {"mailbox": call.mailbox}, self.owner))
            self._watch.add_done_callback(_note_error)
            self._looks_again_at = asyncio.get_running_loop().time() + LOOK_AGAIN_SECONDS
        try:
            # As a task, because it must begin behind the watch.
            result = await asyncio.create_task(_send(connection, call.operation, call.data, self.owner))
        except RequestFailedError as error:
            if error.code != str(ANSWER_TOO_LARGE):
                raise
            result = await list_now(call)
        self._take_answer()
        self.is_known = True
        return result

    def _take_answer(self) -> None:
        """Forget the watch, if it was answered. Raises DcpError if it failed."""
        if self._watch is not None and self._watch.done():
            watch, self._watch = self._watch, None
            watch.result()


def socket_of(answer: Answer) -> tuple[str, Address | None]:
    """The URL for WebSockets, and the address of the guardian, in the answer to GET /dcp; empty, None: it has none."""
    if not isinstance(answer, MailboxResponse) or answer.status != 200:
        return "", None
    try:
        described = msgspec.json.decode(answer.body, type=GuardianDescription)
        return described.socket, read_address(described.identity)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return "", None


async def _send(connection: AsyncConnection, operation: str, data: JsonValue, owner: EthereumKey) -> JsonValue:
    return await connection.request(operation, data).send(owner)


def _note_error(watch: "asyncio.Task[JsonValue]") -> None:
    """Nobody may wait for it when it ends."""
    if not watch.cancelled():
        watch.exception()
