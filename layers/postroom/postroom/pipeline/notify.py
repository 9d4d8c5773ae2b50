"""The worker's part of notifications: it tells the courier which mailboxes got mail."""

from typing import Protocol

from postroom.outbound.notifications import MailWaiting
from postroom.outbound.ports import SendQueue


class NotificationDirectory(Protocol):
    """What is known of mailboxes; `postroom.storage.directory.domains.Directory` is one."""

    def is_notified(self, mailbox: str) -> bool:
        """Whether anybody is told when something waits in it. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...


class NotificationTrigger:
    """Announces. Mailboxes whose owners want no notifications cost a look into memory."""

    def __init__(self, directory: NotificationDirectory, courier: SendQueue) -> None:
        self._directory = directory
        self._courier = courier

    def announce(self, mailbox: str) -> None:
        """Say that something waits in a mailbox; once or more often. Raises NotNowError(STORE_UNAVAILABLE)."""
        if self._directory.is_notified(mailbox):
            waiting = MailWaiting(mailbox)
            self._courier.send(waiting.encode(), group=waiting.group)
