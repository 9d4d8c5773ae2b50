"""The compaction job on the store of an `ApiStack`: its real stages, without Spark."""

from tests.http.api_stack import RETAIN, ApiStack
from tests.jobs.played import Played

from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS


def compact(api: ApiStack, nights: int = 0) -> None:
    """Move all unread messages to chunks, whatever their age, and delete unneeded objects.

    `nights`: the number of days later. Chunks are read again after one day.
    """
    now = int(api.clock.now * 1000) + nights * (DAY_MS + HOUR_MS)
    Played(api.deployed, RETAIN, lag_ms=0, new_id=api.new_id).compact(now)
