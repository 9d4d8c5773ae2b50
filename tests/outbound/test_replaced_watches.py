"""The answering of watches that were replaced: once, again while it fails, and no more when nobody can be there."""

from dataclasses import dataclass, field, replace

import pytest
from tests.fakes.clock import FakeClock

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE
from postroom.crypto.ethereum import Address
from postroom.outbound.notification_messages import WatchReplaced
from postroom.outbound.notification_sender import NotificationOutcome
from postroom.outbound.queue_messages import read_queue_message
from postroom.outbound.replaced_watches import ReplacedWatches
from postroom.storage.directory.notification_targets import SESSION_SECONDS
from postroom.storage.directory.watching_sessions import WatchingSession

NOW = 1_795_253_400
SESSION = WatchingSession("c=", "X-Y", "r", Address("0" * 40))
REPLACED = WatchReplaced("shop.com", SESSION.encode(), NOW * 1000)


@dataclass
class Sessions:
    """`found`: whether the session is there, or why it cannot be answered now."""

    found: bool | NotNowError = True
    answered: list[tuple[WatchingSession, str, int]] = field(default_factory=list)

    def refuse(self, session: WatchingSession, error: NotNowError, since_ms: int) -> bool:
        if isinstance(self.found, NotNowError):
            raise self.found
        self.answered.append((session, str(error.reason), since_ms))
        return self.found


@dataclass
class Queue:
    sent: list[tuple[str, int, str]] = field(default_factory=list)

    def send(self, body: str, delay_seconds: int = 0, *_: object, group: str = "") -> None:
        self.sent.append((body, delay_seconds, group))


def answer(sessions: Sessions, queue: Queue, at: float = NOW) -> NotificationOutcome:
    return ReplacedWatches(sessions, queue, FakeClock(at), lambda: 0.5).answer(REPLACED)


@pytest.mark.parametrize(
    ("is_there", "outcome"), [(True, NotificationOutcome.DELIVERED), (False, NotificationOutcome.SILENT)]
)
def test_a_session_is_answered_once_whether_it_is_there_or_not(*, is_there: bool, outcome: NotificationOutcome) -> None:
    sessions, queue = Sessions(is_there), Queue()
    assert answer(sessions, queue) is outcome
    assert sessions.answered == [(SESSION, "WatchReplaced", NOW * 1000)]
    assert queue.sent == []


@pytest.mark.parametrize("reason", [OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE], ids=str)
def test_a_failure_is_retried_until_the_session_must_be_over(reason: object) -> None:
    sessions, queue = Sessions(NotNowError(reason)), Queue()  # type: ignore[arg-type]
    assert answer(sessions, queue) is NotificationOutcome.WAITING
    assert answer(sessions, queue, NOW + SESSION_SECONDS) is NotificationOutcome.WAITING
    assert answer(sessions, queue, NOW + SESSION_SECONDS + 1) is NotificationOutcome.GIVEN_UP
    assert [(read_queue_message(body), group) for body, _, group in queue.sent] == [
        (replace(REPLACED, tries=1), REPLACED.group)
    ] * 2
    assert all(delay > 0 for _, delay, _ in queue.sent)
