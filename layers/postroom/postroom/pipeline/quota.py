"""The inbox's check that one more message does not exceed the quota of its mailbox."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.loading_cache import LoadingCache
from postroom.core.reasons import MAILBOX_FULL
from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.limits.quotas import Quota, Usage, Usages

ANEW_SECONDS: Final = 1.0
"""The usage of a mailbox is read at most this often, however many messages arrive for it."""
_SHARE: Final = 10
"""An inbox that has accepted a tenth of the free space that it read reads it again: other instances accept, too."""


@dataclass(slots=True)
class _MailboxUsage:
    """The usage of a mailbox when it was read, and what this instance accepted since."""

    usage: Usage
    read_at: float
    messages: int = 0
    bytes: int = 0


class QuotaCheck:
    """Checks messages against the quota. `quota`: the deployment's, for mailboxes without one of their own.

    A message is refused if the mailbox is full of filed messages. Messages on their way are not counted, because they
    may be forged: otherwise strangers without any key could close a mailbox to everybody. So the messages on their way
    may exceed the quota (docs/receive/mailbox-api.md, How much a mailbox may hold).
    """

    def __init__(self, usages: Usages, quota: Quota, *, clock: Callable[[], float], cache_seconds: float) -> None:
        self._usages = usages
        self._quota = quota
        self._clock = clock
        self._held: LoadingCache[_MailboxUsage] = LoadingCache(clock, cache_seconds)
        self._lock = Lock()

    def take(self, mailbox: MailboxRecord, envelope: str) -> bool:
        """Admit a message. True: the mailbox has a quota, so that the message is to be counted.

        Raises TheirError(MAILBOX_FULL), NotNowError(STORE_UNAVAILABLE).
        """
        quota = self._quota.of(mailbox)
        if not quota.bounded:
            return False
        size = len(envelope.encode())
        with self._lock:
            held = self._held.get(mailbox.name, lambda: self._read(mailbox.name))
            if self._is_stale(held, quota):
                self._held.drop(mailbox.name)
                held = self._held.get(mailbox.name, lambda: self._read(mailbox.name))
            if not quota.admits(held.usage.messages, held.usage.bytes, size):
                raise TheirError(MAILBOX_FULL)
            held.messages += 1
            held.bytes += size
        return True

    def _is_stale(self, held: _MailboxUsage, quota: Quota) -> bool:
        if self._clock() < held.read_at + ANEW_SECONDS:
            return False
        taken_many = quota.messages and held.messages * _SHARE >= quota.messages - held.usage.messages
        taken_much = quota.bytes and held.bytes * _SHARE >= quota.bytes - held.usage.bytes
        return bool(taken_many or taken_much)

    def _read(self, name: str) -> _MailboxUsage:
        return _MailboxUsage(self._usages.read(name), self._clock())
