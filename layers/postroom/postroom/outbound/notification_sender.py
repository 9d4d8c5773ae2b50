"""The sending of notifications: to each verified target of a mailbox, at least once, debounced.

At most one notification is sent in an interval. If more mail arrives during the interval, one more is sent at its end.
While a target fails, a single notification to it is retried, and stands for the later ones.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from postroom.api.states import TargetState
from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.outbound.backoff import backoff
from postroom.outbound.notification_messages import MailWaiting, Notification
from postroom.outbound.pausing import has_failed_too_long
from postroom.outbound.ports import Clock, NewId, SendQueue
from postroom.storage.directory.debounce import Debounce, DebounceInterval
from postroom.storage.directory.notification_targets import (
    SESSION_SECONDS,
    NotificationRetry,
    NotificationTarget,
    NotificationTargets,
    TargetKind,
)
from postroom.storage.secrets.webhook_keys import WebhookKeys

RETRY_LATE_SECONDS: Final = 3600
"""A retry that is this late counts as lost: the next notification is sent beside it."""
NOTIFYING_SECONDS: Final = 60
"""Longer than one attempt to notify a session takes."""
_log: Final = logging.getLogger(__name__)


class NotificationOutcome(StrEnum):
    """The result of one queue message."""

    SPREAD = "spread"
    """An interval began: a notification for each target is in the queue."""
    LATER = "later"
    """The targets were notified just now; they are notified again at the end of the interval."""
    COVERED = "covered"
    """Another notification, which is in the queue, covers this one."""
    DELIVERED = "delivered"
    WAITING = "waiting"
    PAUSED = "paused"
    GIVEN_UP = "given up"
    SILENT = "nobody to tell"


class Carrier(Protocol):
    """A way to notify targets; e-mail would be another one."""

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:
        """Send a notification to a target, under the notification's id; False: the target is gone for good, or says
        so.

        Raises NotNowError: OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE.
        """
        ...


@dataclass(frozen=True, slots=True)
class NotificationRules:
    """`interval_seconds`: between two notifications of a mailbox. `pause_seconds`: how long a target may fail."""

    interval_seconds: int
    pause_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotificationSender:
    """Notifies targets. `jitter` returns 0 ≤ x < 1."""

    targets: NotificationTargets
    debounce: Debounce
    keys: WebhookKeys
    carriers: Mapping[TargetKind, Carrier]
    queue: SendQueue
    rules: NotificationRules
    clock: Clock
    new_id: NewId
    jitter: Callable[[], float]

    def fan_out(self, waiting: MailWaiting) -> NotificationOutcome:
        """Notify the targets of a mailbox, or make sure that they are notified later.

        Raises NotNowError if neither is possible.
        """
        try:
            return self._fan_out(waiting)
        except NotNowError as error:
            _log.warning("notifications of %s wait: %s", waiting.mailbox, error)
            self.queue.send(waiting.again().encode(), backoff(waiting.tries, self.jitter()), group=waiting.group)
            return NotificationOutcome.WAITING

    def _fan_out(self, waiting: MailWaiting) -> NotificationOutcome:
        interval_ms = self.rules.interval_seconds * 1000
        # A message for the end of an interval has none after it: it must send its notifications, however often it is
        # retried.
        mark = waiting.mark or self.new_id()
        interval = self.debounce.take(waiting.mailbox, now_ms=self._now_ms(), interval_ms=interval_ms, mark=mark)
        if interval.ours:
            return self._spread(waiting.mailbox, interval)
        if not waiting.after_ms:
            # Each is notified once, and so never too often.
            self._queue_for(self._active(waiting.mailbox, TargetKind.SESSION), self._now_ms())
        # If another interval began since the one that this message is for, its notifications covered this message.
        if waiting.after_ms != interval.at_ms if waiting.after_ms else interval.followed:
            return NotificationOutcome.COVERED
        left_ms = interval.at_ms + interval_ms - self._now_ms()
        following = MailWaiting(waiting.mailbox, interval.at_ms, self.new_id())
        # The order matters: another message that reads that this one is queued may be dropped.
        self.queue.send(following.encode(), max(1, left_ms // 1000 + 1), group=following.group)
        with suppress(NotNowError):  # it saves messages, and is not needed
            self.debounce.followed(waiting.mailbox, interval)
        return NotificationOutcome.LATER

    def _spread(self, mailbox: str, interval: DebounceInterval) -> NotificationOutcome:
        active = self._active(mailbox, *TargetKind)
        self._queue_for(active, interval.at_ms)
        return NotificationOutcome.SPREAD if active else NotificationOutcome.SILENT

    def _active(self, mailbox: str, *kinds: TargetKind) -> list[NotificationTarget]:
        targets = self.targets.of(mailbox)
        return [each for each in targets if each.state is TargetState.ACTIVE and each.kind in kinds]

    def _queue_for(self, targets: Iterable[NotificationTarget], at_ms: int) -> None:
        for target in targets:
            # The notifications of one interval have the same id: they may be sent twice. Later mail gets another
            # notification.
            notification = Notification(target.mailbox, target.id, f"{target.id}-{at_ms}", at_ms)
            self.queue.send(notification.encode(), group=notification.group)

    def notify(self, notification: Notification) -> NotificationOutcome:
        """Notify a target, or requeue the notification. Raises NotNowError if that failed, too."""
        try:
            return self._notify(notification)
        except NotNowError as error:
            _log.warning("a notification of %s waits: %s", notification.mailbox, error)
            self.queue.send(
                notification.again().encode(), backoff(notification.tries, self.jitter()), group=notification.group
            )
            return NotificationOutcome.WAITING

    def _notify(self, notification: Notification) -> NotificationOutcome:
        target = self.targets.find(notification.mailbox, notification.target)
        if target is None or not _is_for(notification, target):
            return NotificationOutcome.SILENT
        if target.retry and target.retry.notification != notification.id and self.clock() < target.retry.until:
            return NotificationOutcome.COVERED
        if target.kind is TargetKind.SESSION:
            # A second response would end the session.
            now = int(self.clock())
            if not self.targets.begin_notifying(target, notification.id, now=now, until=now + NOTIFYING_SECONDS):
                return NotificationOutcome.COVERED
        elif target.retry:
            self.targets.begin_retry(target, target.retry.notification)
        try:
            taken = self.carriers[target.kind].carry(
                target, notification.id, notification.content(self.keys.code(target) if notification.challenge else "")
            )
        except NotNowError as error:
            # Our own faults never pause a target.
            if error.reason != OUTBOUND_FAILED:
                raise
            return self._failed(notification, target, error.detail or error.reason.sentence)
        if target.kind is TargetKind.SESSION:
            self.targets.remove(target.mailbox, target.id)
            return NotificationOutcome.DELIVERED if taken else NotificationOutcome.SILENT
        if not taken:
            return self._end(notification, target, "it answered 410 Gone")
        if target.failing_since_ms:
            self.targets.went_well(target)
        return NotificationOutcome.DELIVERED

    def _failed(self, notification: Notification, target: NotificationTarget, detail: str) -> NotificationOutcome:
        now_ms = self._now_ms()
        is_over = target.kind is TargetKind.SESSION and now_ms > target.made_at_ms + SESSION_SECONDS * 1000
        if is_over or has_failed_too_long(notification, target, now_ms=now_ms, pause_seconds=self.rules.pause_seconds):
            return self._end(notification, target, detail)
        delay = backoff(notification.tries, self.jitter())
        # The order matters: another message that reads that this one is queued may be dropped.
        self.queue.send(notification.again().encode(), delay, group=notification.group)
        until = int(self.clock()) + delay + RETRY_LATE_SECONDS
        retry = None if notification.challenge else NotificationRetry(notification.id, until)
        with suppress(NotNowError):  # if it were requeued again for that, there would be two
            self.targets.failed(target, detail, target.failing_since_ms or now_ms, retry)
        return NotificationOutcome.WAITING

    def _end(self, notification: Notification, target: NotificationTarget, detail: str) -> NotificationOutcome:
        """Stop retrying, and show the reason to the owner."""
        if notification.challenge:
            self.targets.failed(target, detail, target.failing_since_ms or self._now_ms(), None)
            return NotificationOutcome.GIVEN_UP
        if target.kind is TargetKind.SESSION:
            self.targets.remove(target.mailbox, target.id)
            return NotificationOutcome.GIVEN_UP
        self.targets.pause(target, detail)
        return NotificationOutcome.PAUSED

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)


def _is_for(notification: Notification, target: NotificationTarget) -> bool:
    """Whether a target may be sent this now: before it is verified, only its newest code."""
    if target.state is TargetState.UNVERIFIED:
        return notification.challenge == target.challenge
    return target.state is TargetState.ACTIVE and not notification.challenge
