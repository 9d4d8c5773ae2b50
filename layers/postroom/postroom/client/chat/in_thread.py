"""The base class of chats for asyncio: all calls run in one thread, one after another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from postroom.client.chat.changes import ChatChange
from postroom.client.chat.chats import Chats
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.watching import PAUSE_SECONDS, ChatWatch, WaitingMail
from postroom.client.mailbox import UnavailableError
from postroom.protocols.status.keys import ChatKey

T = TypeVar("T")
_MOST_SECONDS: Final = 10.0
"""Of one wait for mail: after a task was cancelled, its thread waits no longer than that."""


class ChatsInThread:
    """Chats in a thread. If a task is cancelled, its thread still ends what it has begun, such as sending a message."""

    def __init__(self, chats: Chats) -> None:
        self._chats = chats
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chats")

    @property
    def own(self) -> ChatKey:
        """The owner's chat key."""
        return self._chats.own

    @property
    def name(self) -> str:
        """The owner's name, normalised."""
        return self._chats.name

    async def watch(
        self,
        mail: WaitingMail,
        wait: float | bool = True,
        refused: Callable[[SentTo], object] = lambda _: None,
        unavailable: Callable[[UnavailableError], object] | None = None,
    ) -> AsyncIterator[ChatChange]:
        """Pull again and again, and yield each change; what is there at first is no change.

        `wait`: end when no message came for so many seconds; True: never. `refused`: called with who has refused
        something since and why: also a change of a group, which no chat shows. `unavailable`: called with the error if
        the post office does not answer, and it goes on; None: the error is raised.
        """
        watch = await self._in_thread(lambda: ChatWatch(self._chats, mail, unavailable))
        while True:
            pulled = await self._in_thread(watch.pull)
            for each in pulled.refused:
                refused(each)
            for change in pulled.changes:
                yield change
            if not await _has_mail(watch, wait):
                return
            if pulled.needs_pause:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


async def _has_mail(watch: ChatWatch, wait: float | bool) -> bool:
    """As `ChatWatch.has_mail`, in another thread: meanwhile messages can be sent."""
    left = float("inf") if wait is True else float(wait)
    while True:
        seconds = min(left, _MOST_SECONDS)
        if await asyncio.to_thread(watch.has_mail, seconds):
            return True
        left -= seconds
        if left <= 0:
            return False
