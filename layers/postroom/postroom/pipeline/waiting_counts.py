"""The count of claims that begin to wait for a silent zone, or go on waiting."""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import suppress
from typing import NamedTuple

from postroom.core.errors import NotNowError
from postroom.core.side_by_side import side_by_side
from postroom.pipeline.silence import Silence
from postroom.storage.limits import waiting_periods
from postroom.storage.limits.sender_zones import SenderZones


class Wait(NamedTuple):
    """A claim that was hidden, or delayed, for so many seconds. `begins`: it did not wait before."""

    silence: Silence
    seconds: int
    begins: bool = False


def count_waits(zones: SenderZones, pool: Executor, waits: Iterable[Wait], now: float) -> None:
    """Count claims for their zones, and for the topmost ones above them. One write for each zone; mostly none.

    Called after the claims were sent to their queue, or hidden there. A run that ends between the two leaves a claim
    that waits uncounted until it is hidden past the end of a period, and never counts one that does not wait.
    """
    found: Counter[tuple[str, int]] = Counter()
    for silence, seconds, begins in waits:
        for period in waiting_periods.entered(now, seconds, begins=begins):
            found.update((zone, period) for zone in {silence.zone, silence.above})

    def write(counted: tuple[str, int]) -> None:
        with suppress(NotNowError):  # the claims wait, counted or not
            zones.count(*counted, found[counted], int(now))

    side_by_side(pool, write, list(found))
