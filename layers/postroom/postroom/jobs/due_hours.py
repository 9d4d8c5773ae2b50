"""The hours of the bucket that a run reads (store protocol, Compact 1)."""

from collections.abc import Iterator

from postroom.jobs.bucket import Bucket
from postroom.storage.layout import CHUNKS, SEGMENTS, hour_of
from postroom.storage.mail.object_schedule import LastRun, is_chunk_due, is_segment_due


def due_hours(bucket: Bucket, *, lag_ms: int, before: LastRun, now: int) -> Iterator[str]:
    """The hours of segments that are older than the lag, oldest first; then the hours of chunks.

    Hours that were read before are included when they are due again. Times in epoch milliseconds. Raises
    NotNowError(STORE_UNAVAILABLE).
    """
    for hour in bucket.hours(SEGMENTS):
        if is_segment_due(hour_of(hour), lag_ms, before, now):
            yield hour
    for hour in bucket.hours(CHUNKS):
        if is_chunk_due(hour_of(hour), before.began, now):
            yield hour
