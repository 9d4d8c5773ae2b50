"""The times at which a job reads an object, and moves its lines. Pure; times in epoch milliseconds.

To look at a chunk costs a read for each of its lines. So it is looked at when its age has doubled, and then every 30
days: half of it cannot be garbage for longer than it was not, and what was acknowledged is gone 30 days later.
"""

from dataclasses import dataclass
from typing import Final

from postroom.storage.mail.chunks import FULL_BYTES

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
MONTH_MS: Final = 30 * DAY_MS
_LOOKS: Final = (1 * DAY_MS, 2 * DAY_MS, 4 * DAY_MS, 8 * DAY_MS, 16 * DAY_MS, MONTH_MS)


@dataclass(frozen=True, slots=True)
class Before:
    """What is known of the last run that came to its end. `began`: when it did; 0: nobody knows.

    `settled`: it looked at all segments of the hours that had ended by then, whatever the lag was.
    """

    began: int = 0
    settled: int = 0


def settled_by(lag_ms: int, now: int) -> int:
    """Until when a run that begins now has looked at all segments, as `Before` has it.

    Never the last hour: a worker that was held up may write into it after it ended.
    """
    return now - max(lag_ms, HOUR_MS)


def was_seen(hour: int, before: Before) -> bool:
    """Whether the last run looked at all segments of the hour that begins then."""
    return hour + HOUR_MS <= before.settled


def is_segment_due(hour: int, lag_ms: int, before: Before, now: int) -> bool:
    """Whether segments of the hour that begins then are looked at: when all are older than the lag, then as chunks are.

    What a run that came to its end has left of them must stay, for a mailbox under hold, a row that may still be
    written, a damaged line: it is not read each night for that. Without a lag whatever is there is looked at.
    """
    if not lag_ms:
        return True
    settled = hour + HOUR_MS + lag_ms <= now
    return settled and (not was_seen(hour, before) or is_chunk_due(hour, before.began, now))


def is_chunk_due(hour: int, since: int, now: int) -> bool:
    """Whether a chunk that was written in the hour that begins then is looked at.

    `since`: when the last run began that looked at all that was due; 0: nobody knows, and all that is a day old is due.
    """
    written = hour + HOUR_MS
    return _looks(now - written) > _looks(since - written)


def moves(size: int, kept: int, age: int) -> bool:
    """Whether the lines of a chunk are copied into another: half of it is garbage, or, after 30 days, any of it is, or
    it could share a chunk with others.

    `size`: of the object, in bytes; `kept`: of its lines that are live there.
    """
    if kept == 0:
        return False
    return 2 * kept <= size or (age >= MONTH_MS and (kept < size or 2 * size < FULL_BYTES))


def _looks(age: int) -> int:
    """How often a chunk of this age was due."""
    early = sum(look <= age for look in _LOOKS)
    return early + max(0, age // MONTH_MS - 1)
