"""The periods by which claims are counted that wait for a silent zone.

A claim is counted once in each period in which it waits: when it begins to wait, and when it is hidden past the end of
a period. It is never taken off again. A period that is over is not read any more, so claims that have left the queue
leave the count as well, whatever became of the runs that moved them. An answer of a zone changes no count: whoever
holds a zone could otherwise empty the count of their own claims, which still wait.
"""

from collections.abc import Mapping
from typing import Final

PERIOD_SECONDS: Final = 8 * 3600
"""Longer than a claim is ever hidden: so it is received in each period, or hidden past its beginning."""
_REMEMBERED: Final = 45
"""The periods of 15 days. A row that is not written for so long has expired."""


def period_of(time: float) -> int:
    """The period of a time. Epoch seconds."""
    return int(time) // PERIOD_SECONDS


def entered(now: float, seconds: int, *, begins: bool) -> range:
    """The periods in which a claim has to be counted now that it is hidden for so long.

    `begins`: it begins to wait. Otherwise it was counted in the current period.
    """
    return range(period_of(now) + (0 if begins else 1), period_of(now + seconds) + 1)


def waiting(counts: Mapping[int, int], now: float) -> int:
    """The claims that wait, by the counts of periods.

    The greater count of this period and the last one: claims that are received late, after the end of the period for
    which they were counted, are counted again only when they are hidden past the end of this one.
    """
    current = period_of(now)
    return max(counts.get(current, 0), counts.get(current - 1, 0))


def unread(now: float) -> range:
    """The periods whose counts nobody reads any more, as far back as a row may have them."""
    current = period_of(now)
    return range(current - _REMEMBERED, current - 1)
