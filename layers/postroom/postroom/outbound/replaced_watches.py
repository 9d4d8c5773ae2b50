"""The answering of watches that were replaced: their owners know that they are not told of mail any more."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.core.errors import NotNowError
from postroom.outbound.backoff import backoff
from postroom.outbound.notification_messages import WatchReplaced
from postroom.outbound.notification_sender import NotificationOutcome
from postroom.outbound.ports import Clock, SendQueue
from postroom.protocols.dcp.reasons import WATCH_REPLACED
from postroom.storage.directory.notification_targets import SESSION_SECONDS
from postroom.storage.directory.watching_sessions import WatchingSession

_log: Final = logging.getLogger(__name__)


class Refuser(Protocol):
    """A way to answer the requests of sessions by errors."""

    def refuse(self, session: WatchingSession, error: NotNowError, since_ms: int) -> bool:
        """Answer the request of a session; False: the session is gone. `since_ms`: a time when it was there.

        Raises NotNowError: OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ReplacedWatches:
    """Answers watches that were replaced. `jitter` returns 0 ≤ x < 1."""

    sessions: Refuser
    queue: SendQueue
    clock: Clock
    jitter: Callable[[], float]

    def answer(self, replaced: WatchReplaced) -> NotificationOutcome:
        """Answer a watch, or requeue the message. Raises NotNowError if that failed, too."""
        try:
            session = WatchingSession.decode(replaced.session)
            is_there = self.sessions.refuse(session, NotNowError(WATCH_REPLACED), replaced.at_ms)
        except NotNowError as error:
            if self.clock() * 1000 > replaced.at_ms + SESSION_SECONDS * 1000:
                return NotificationOutcome.GIVEN_UP
            _log.warning("a session of %s that was replaced waits to be told: %s", replaced.mailbox, error)
            self.queue.send(replaced.again().encode(), backoff(replaced.tries, self.jitter()), group=replaced.group)
            return NotificationOutcome.WAITING
        return NotificationOutcome.DELIVERED if is_there else NotificationOutcome.SILENT
