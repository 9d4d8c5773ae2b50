"""Passes through a mailbox: each message is shown once, however late it was filed. Sans-I/O.

A cursor belongs to one pass: a message may be filed behind it, and the next pass shows it (store protocol, Reader). So
a client that waits for messages starts passes again and again, and skips the messages that it has shown.

If no messages stay in the mailbox, the server waits at the beginning of the next pass, and a message is shown as soon
as it is filed, late or not. If messages stay, because they are not acknowledged, the beginning is never empty. Then the
server waits at the end of the pass, and starts the next pass when a message is filed before it. If too many messages
stay to be watched, the next pass starts after some seconds.

A server that lets no more requests wait answers at once, with Retry-After. The client then pauses for that long.
"""

import math
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from postroom.api.schemas import MAX_WAIT_SECONDS, Message
from postroom.client.mailbox.core import Core, FetchedPage
from postroom.client.mailbox.exchange import Steps

REST_SECONDS: Final = 20.0
"""The pause between passes if messages stay: each pass lists them all again."""


M = TypeVar("M")


class News(NamedTuple, Generic[M]):
    """What was not shown before: messages, and ids of messages that cannot be read now."""

    messages: list[M]
    unreadable: list[str]


class Passes:
    """The messages of a mailbox, page by page.

    `wait`: ends when nothing new came for so many seconds; True: never; False: after one pass. `clock`: seconds.
    `most_wait`: how long one request can wait. Raises ValueError. An error changes nothing: the same page is then
    requested again.
    """

    def __init__(
        self,
        core: Core,
        wait: float,
        conversation: str,
        clock: Callable[[], float],
        most_wait: Callable[[], float] = lambda: MAX_WAIT_SECONDS,
    ) -> None:
        self._core = core
        self._wait = math.inf if wait is True else float(wait)
        if not self._wait >= 0:
            raise ValueError(f"wait is {wait}; it must be seconds, True or False")
        self._conversation = conversation
        self._clock = clock
        self._most_wait = most_wait
        self._cursor = ""
        self._more = False
        self._whole = False
        """Whether this pass began at the beginning, and has not waited at its end yet."""
        self._met: set[str] = set()
        """What this pass found."""
        self._known: set[str] = set()
        """What the previous pass found; all of it was shown. What it did not find is gone, and forgotten."""
        self._over = False
        self._news = True
        self._ends_at = -math.inf
        self._rests_until = -math.inf
        self._not_before = -math.inf
        """When the server allows the next request."""

    def next_page(self) -> Steps[News[Message] | None]:
        """The messages that were not shown before, perhaps none; None: the end. Raises MailboxError."""
        now = self._clock()
        if self._news:
            # The time counts from now on: the caller took some for the last messages.
            self._news, self._ends_at = False, now + self._wait
        if self._over:
            return None
        if self._more:
            return self._take((yield from self._core.page(self._cursor, 0.0, self._conversation)))
        pause = max(min(self._not_before, self._ends_at) - now, 0.0)
        begins, rests_until = now + pause, min(self._rests_until, self._ends_at)
        rests = begins < rests_until
        wait = min(max((rests_until if rests else self._ends_at) - begins, 0.0), self._most_wait())
        fetched = yield from self._core.page(self._cursor if rests else "", wait, self._conversation, pause)
        self._whole = not rests
        if not rests:
            self._known, self._met = self._met, set()
        return self._take(fetched)

    def _take(self, fetched: FetchedPage) -> News[Message]:
        page, retry_after = fetched
        self._not_before = self._clock() + retry_after
        shown = self._known | self._met
        new = [each for each in page.messages if each.id not in shown]
        unreadable = [each for each in page.unreadable if each not in shown]
        self._met.update((each.id for each in page.messages), page.unreadable)
        self._news = self._news or bool(new)
        self._cursor, self._more = page.cursor, page.more
        if self._whole and not self._more:
            now, stays = self._clock(), not self._met.isdisjoint(self._known)
            self._rests_until = now + REST_SECONDS if stays else -math.inf
            # A pass that ended before its time is not the last one: new messages may have come meanwhile.
            self._over = now >= self._ends_at and not (self._news and self._wait)
        return News(new, unreadable)
