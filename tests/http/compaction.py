"""The job of compaction at the store of a counter: its real stages, without Spark."""

from tests.http.counter import RETAIN, Counter
from tests.jobs.played import Played

from postroom.storage.mail.rounds import DAY_MS, HOUR_MS


def compact(counter: Counter, nights: int = 0) -> None:
    """All that waits moves into chunks, however young it is; whatever nobody needs is deleted.

    `nights`: so much later. What is in chunks is looked at again after one.
    """
    now = int(counter.clock.now * 1000) + nights * (DAY_MS + HOUR_MS)
    Played(counter.deployed, RETAIN, lag_ms=0, new_id=counter.new_id).compact(now)
