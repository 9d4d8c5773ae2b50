"""The rules of expiry: which messages of a mailbox are deleted when. Pure; times in epoch milliseconds.

A message may be deleted once it was received so many days ago (dm3 2.3.2; decision "Message TTL"). Whatever is set,
nothing younger than `FLOOR_DAYS` is; no message of a mailbox of the dm3 delivery service before the time that senders
are told; and none at all of a mailbox under legal hold.
"""

from dataclasses import dataclass
from typing import Final

from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.mail.register import CLOSED, OVER
from postroom.storage.mail.rounds import DAY_MS, HOUR_MS

FLOOR_DAYS: Final = 30
HANDED_ON_DAYS: Final = 31
"""Of claims and replies, as the bucket's lifecycle has it: what may still be asked for is younger (`RetainSeconds`)."""
ORPHAN_DAYS: Final = 30
"""Segments and chunks so old are looked at, whenever compaction looked at them last."""
GARBAGE_MS: Final = DAY_MS
"""Of what was begun and not finished: parts, uploads, objects of containers. A request ends within a minute."""


@dataclass(frozen=True, slots=True)
class Periods:
    """What the deployment says. `dm3_message_ttl_days`: what senders of dm3 letters are told; 0: without end.

    `closed_days`: how long a mailbox that was closed keeps what it has.
    """

    dm3_message_ttl_days: int
    closed_days: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Of a mailbox: what was received before `over` has had its time; before `closed`, it goes with its mailbox."""

    over: int = 0
    closed: int = 0

    @property
    def before(self) -> int:
        """What was received then or later stays; 0: all stays."""
        return max(self.over, self.closed)

    def why(self, received_at_ms: int) -> str | None:
        """Why a message goes; None: it stays."""
        if received_at_ms < self.over:
            return OVER
        return CLOSED if received_at_ms < self.closed else None


def days_kept(ttl_days: int | None, told: int | None) -> int:
    """How many days a message stays in a mailbox; 0: without end. `ttl_days`: as it is set for the mailbox.

    `told`: what senders of dm3 letters are told; None: the mailbox is none of the delivery service.
    """
    days = (told or 0) if ttl_days is None else ttl_days
    return 0 if days <= 0 or told == 0 else max(days, told or 0, FLOOR_DAYS)


def ends_of(mailbox: MailboxRecord, *, is_dm3: bool, periods: Periods, now: int) -> Ends:
    """What of a mailbox goes. `is_dm3`: it is, or was, one of the delivery service."""
    told = periods.dm3_message_ttl_days if is_dm3 else None
    if mailbox.held:
        return Ends()
    days = days_kept(mailbox.ttl_days, told)
    # What senders are told in days holds for a mailbox that was closed, too; "without end" is until then.
    return Ends(
        over=_ago(days, now) if days else 0,
        closed=_ago(max(told or 0, FLOOR_DAYS), now) if _is_long_closed(mailbox, periods, now) else 0,
    )


def is_hour_over(hour: int, days: int, now: int) -> bool:
    """Whether all that was written in the hour that begins then is so many days old."""
    return hour + HOUR_MS + days * DAY_MS <= now


def _is_long_closed(mailbox: MailboxRecord, periods: Periods, now: int) -> bool:
    # 0: of a time that is not known nothing can be said.
    at = mailbox.closed_at or now // 1000
    return at * 1000 < _ago(max(periods.closed_days, FLOOR_DAYS), now)


def _ago(days: int, now: int) -> int:
    return max(0, now - days * DAY_MS)
