"""The inbox's check whether a mailbox has room for one more message, where it has a quota."""

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
"""So often at most the usage of a mailbox is read, however many messages come for it."""
_SHARE: Final = 10
"""A door that has taken in a tenth of the room that it read looks again: others take, too."""


@dataclass(slots=True)
class _MailboxUsage:
    """What a mailbox held when it was read, and what was taken in here since."""

    usage: Usage
    read_at: float
    messages: int = 0
    bytes: int = 0


class QuotaCheck:
    """Lets messages in. `quota`: the deployment's, for mailboxes without one of their own.

    Refused is what finds the mailbox full of messages that are filed. What is on its way may be forged: counted here,
    it would close a mailbox to everybody, by the hand of strangers who need no key for that. So the bound is passed by
    what is on its way (docs/receive/mailbox-api.md, How much a mailbox may hold).
    """

    def __init__(self, usages: Usages, quota: Quota, *, clock: Callable[[], float], cache_seconds: float) -> None:
        self._usages = usages
        self._quota = quota
        self._clock = clock
        self._held: LoadingCache[_MailboxUsage] = LoadingCache(clock, cache_seconds)
        self._lock = Lock()

    def take(self, mailbox: MailboxRecord, envelope: str) -> bool:
        """Let a message in; whether it is to be counted: a quota is set.

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
            if not quota.has_room(held.usage.messages, held.usage.bytes, size):
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
