"""The worker's part of notifications: it tells the courier which mailboxes received mail."""

from typing import Protocol

from postroom.outbound.notification_messages import MailWaiting
from postroom.outbound.ports import SendQueue


class NotificationDirectory(Protocol):
    """The directory of mailboxes; `postroom.storage.directory.domains.Directory` is one."""

    def is_notified(self, mailbox: str) -> bool:
        """Whether anybody is notified when a mailbox receives mail. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...


class NotificationTrigger:
    """Asks for notifications. For a mailbox without notifications this costs one look-up in memory."""

    def __init__(self, directory: NotificationDirectory, courier: SendQueue) -> None:
        self._directory = directory
        self._courier = courier

    def trigger(self, mailbox: str) -> None:
        """Say that a mailbox has mail, once or more often. Raises NotNowError(STORE_UNAVAILABLE)."""
        if self._directory.is_notified(mailbox):
            waiting = MailWaiting(mailbox)
            self._courier.send(waiting.encode(), group=waiting.group)
