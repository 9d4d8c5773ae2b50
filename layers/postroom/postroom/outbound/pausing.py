"""The rule for when a failing notification target is paused, or the sending of its verification code ends."""

from typing import Final

from postroom.outbound.notification_messages import Notification
from postroom.storage.directory.notification_targets import NotificationTarget

CODE_SECONDS: Final = 3600
"""How long the sending of a code is retried: its owner waits for it."""


def has_failed_too_long(
    notification: Notification, target: NotificationTarget, *, now_ms: int, pause_seconds: int
) -> bool:
    """Whether to stop the retries of a notification that just failed.

    A target is paused after `pause_seconds` of failures. A code is given up CODE_SECONDS after it was requested.
    """
    if notification.challenge:
        return now_ms - notification.at_ms > CODE_SECONDS * 1000
    return now_ms - (target.failing_since_ms or now_ms) > pause_seconds * 1000
