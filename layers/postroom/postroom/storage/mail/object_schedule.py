"""The schedule by which the jobs read old segments and chunks, and rewrite chunks. Pure; times in epoch milliseconds.

Reading a chunk costs a read for each of its lines. So it is read when its age has doubled, and then every 30 days: half
of a chunk is never garbage for longer than it was not, and the bytes of acknowledged messages are deleted within 30
days.
"""

from dataclasses import dataclass
from typing import Final

from postroom.storage.mail.chunks import FULL_BYTES

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
MONTH_MS: Final = 30 * DAY_MS
_LOOKS: Final = (1 * DAY_MS, 2 * DAY_MS, 4 * DAY_MS, 8 * DAY_MS, 16 * DAY_MS, MONTH_MS)


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run that was completed. `began`: when it began; 0: unknown.

    `settled`: it read all segments of the hours that had ended by then, regardless of the lag.
    """

    began: int = 0
    settled: int = 0


def settled_by(lag_ms: int, now: int) -> int:
    """The end of the time of which a run that begins now has read all segments, as in `LastRun`.

    The last hour is never included: a delayed worker may write into it after it ended.
    """
    return now - max(lag_ms, HOUR_MS)


def was_seen(hour: int, before: LastRun) -> bool:
    """Whether the last run read all segments of the hour that begins then."""
    return hour + HOUR_MS <= before.settled


def is_segment_due(hour: int, lag_ms: int, before: LastRun, now: int) -> bool:
    """Whether segments of the hour that begins then are read: when all are older than the lag, later like chunks.

    A segment that a completed run left has a reason to stay: a mailbox under legal hold, a row that may still be
    written, a damaged line. It is not read every night for that. Without a lag, everything is read.
    """
    if not lag_ms:
        return True
    settled = hour + HOUR_MS + lag_ms <= now
    return settled and (not was_seen(hour, before) or is_chunk_due(hour, before.began, now))


def is_chunk_due(hour: int, since: int, now: int) -> bool:
    """Whether a chunk that was written in the hour that begins then is read.

    `since`: when the last run began that read everything due; 0: unknown, and everything older than a day is due.
    """
    written = hour + HOUR_MS
    return _looks(now - written) > _looks(since - written)


def should_rewrite(size: int, kept: int, age: int) -> bool:
    """Whether the lines of a chunk are copied into another one.

    They are if half of it is garbage; after 30 days, if any of it is, or if it could share a chunk with others. `size`:
    of the object, in bytes; `kept`: of its live lines.
    """
    if kept == 0:
        return False
    return 2 * kept <= size or (age >= MONTH_MS and (kept < size or 2 * size < FULL_BYTES))


def _looks(age: int) -> int:
    """The number of times a chunk of this age was due."""
    early = sum(look <= age for look in _LOOKS)
    return early + max(0, age // MONTH_MS - 1)
