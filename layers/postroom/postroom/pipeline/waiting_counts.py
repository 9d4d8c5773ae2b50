"""The count of claims that begin to wait for a silent zone, or go on waiting: what is written, and when.

It is written after a claim was sent to the waiting queue, or hidden there. A run that ends between the two leaves a
claim that waits uncounted until it is hidden past the end of a period, and never counts one that does not wait.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from postroom.core.errors import NotNowError
from postroom.pipeline.silence import Silence
from postroom.storage.limits import waiting_periods
from postroom.storage.limits.sender_zones import SenderZones


class Wait(NamedTuple):
    """A claim that was hidden, or delayed, for so many seconds. `begins`: it did not wait before."""

    silence: Silence
    seconds: int
    begins: bool = False


class ZoneCount(NamedTuple):
    """The claims that have to be counted for a zone in a period."""

    zone: str
    period: int
    claims: int


def counts_of(waits: Iterable[Wait], now: float) -> list[ZoneCount]:
    """What has to be counted: for the zones themselves, and for the topmost ones above them. Mostly nothing."""
    found: Counter[tuple[str, int]] = Counter()
    for silence, seconds, begins in waits:
        for period in waiting_periods.entered(now, seconds, begins=begins):
            found.update((zone, period) for zone in {silence.zone, silence.above})
    return [ZoneCount(zone, period, claims) for (zone, period), claims in found.items()]


def write_count(zones: SenderZones, count: ZoneCount, now: float) -> None:
    """Add to the count of a zone. One write."""
    with suppress(NotNowError):  # the claims wait, counted or not
        zones.count(count.zone, count.period, count.claims, int(now))
