"""The rules of expiry: which messages of a mailbox are deleted when. Pure; times in epoch milliseconds.

A message may be deleted a number of days after it was received (dm3 2.3.2; decision "Message TTL"). Whatever is set: no
message younger than `FLOOR_DAYS` is deleted, no message of a mailbox of the dm3 delivery service is deleted before the
time that senders are told, and no message of a mailbox under legal hold is deleted.
"""

from dataclasses import dataclass
from typing import Final

from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS
from postroom.storage.mail.register import CLOSED, OVER

FLOOR_DAYS: Final = 30
HANDED_ON_DAYS: Final = 31
"""Days after which the bucket's lifecycle deletes claims and replies; those still needed are younger (`RetainSeconds`).
"""
ORPHAN_DAYS: Final = 30
"""Segments and chunks of this age are always read, no matter when compaction read them last."""
GARBAGE_MS: Final = DAY_MS
"""The age at which unfinished data is garbage: parts, uploads, objects of containers.

A request ends within a minute.
"""


@dataclass(frozen=True, slots=True)
class Periods:
    """The deployment's settings. `dm3_message_ttl_days`: what senders of dm3 messages are told; 0: unlimited.

    `closed_days`: how long a closed mailbox keeps its messages.
    """

    dm3_message_ttl_days: int
    closed_days: int


@dataclass(frozen=True, slots=True)
class Ends:
    """When messages of a mailbox expire: received before `over`, by age; before `closed`, as it was closed."""

    over: int = 0
    closed: int = 0

    @property
    def before(self) -> int:
        """Messages received then or later are kept; 0: all are."""
        return max(self.over, self.closed)

    def why(self, received_at_ms: int) -> str | None:
        """The reason why a message is deleted; None: it is kept."""
        if received_at_ms < self.over:
            return OVER
        return CLOSED if received_at_ms < self.closed else None


def days_kept(ttl_days: int | None, promised_days: int | None) -> int:
    """The number of days a mailbox keeps a message; 0: unlimited. `ttl_days`: the mailbox's setting.

    `promised_days`: what senders of dm3 messages are told; None: the mailbox is not one of the delivery service.
    """
    days = (promised_days or 0) if ttl_days is None else ttl_days
    return 0 if days <= 0 or promised_days == 0 else max(days, promised_days or 0, FLOOR_DAYS)


def ends_of(mailbox: MailboxRecord, *, is_dm3: bool, periods: Periods, now: int) -> Ends:
    """Which messages of a mailbox expire. `is_dm3`: it is, or was, one of the delivery service."""
    promised_days = periods.dm3_message_ttl_days if is_dm3 else None
    if mailbox.held:
        return Ends()
    days = days_kept(mailbox.ttl_days, promised_days)
    # The days that senders are told apply to a closed mailbox, too; "unlimited" applies until it is closed.
    return Ends(
        over=_ago(days, now) if days else 0,
        closed=_ago(max(promised_days or 0, FLOOR_DAYS), now) if _is_long_closed(mailbox, periods, now) else 0,
    )


def is_hour_over(hour: int, days: int, now: int) -> bool:
    """Whether everything written in the hour that begins at `hour` is older than `days` days."""
    return hour + HOUR_MS + days * DAY_MS <= now


def _is_long_closed(mailbox: MailboxRecord, periods: Periods, now: int) -> bool:
    # 0: the time is unknown.
    at = mailbox.closed_at or now // 1000
    return at * 1000 < _ago(max(periods.closed_days, FLOOR_DAYS), now)


def _ago(days: int, now: int) -> int:
    return max(0, now - days * DAY_MS)
