"""Whether a mailbox has room for one more message: what the door asks, where a quota is set."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from postroom.errors import TheirError
from postroom.reasons import Reason
from postroom.store.cached import Cached
from postroom.store.mailboxes import Mailbox
from postroom.store.quotas import Quota, Usages


@dataclass(slots=True)
class _Held:
    """What a mailbox held when it was read, and what was taken in here since."""

    messages: int
    bytes: int


class Room:
    """Lets messages in. `quota`: the deployment's, for mailboxes without one of their own.

    The usage is read through a cache, and counted on here. So by one door a mailbox never gets more than it had room
    for when it was read; what other doors let in, and what waits in the queue to be filed, is seen with the next
    reading (docs/counter.md, How much a mailbox may hold).
    """

    def __init__(self, usages: Usages, quota: Quota, *, clock: Callable[[], float], cache_seconds: float) -> None:
        self._usages = usages
        self._quota = quota
        self._held: Cached[_Held] = Cached(clock, cache_seconds)
        self._lock = Lock()

    def take(self, mailbox: Mailbox, size: int) -> bool:
        """Let a message of so many bytes in; whether it is to be counted: a quota is set.

        Raises TheirError(MAILBOX_FULL), NotNowError(STORE_UNAVAILABLE).
        """
        quota = self._quota.of(mailbox)
        if not quota.bounded:
            return False
        with self._lock:
            held = self._held.get(mailbox.name, lambda: self._read(mailbox.name))
            if not quota.has_room(held.messages, held.bytes, size):
                raise TheirError(Reason.MAILBOX_FULL)
            held.messages += 1
            held.bytes += size
        return True

    def _read(self, name: str) -> _Held:
        usage = self._usages.read(name)
        return _Held(usage.messages, usage.bytes)
