"""Compact 1: which hours of the bucket a run looks at."""

from collections.abc import Iterator

from postroom.jobs.bucket import Bucket
from postroom.store.keys import CHUNKS, SEGMENTS, hour_of
from postroom.store.rounds import is_chunk_due, is_segment_due


def due_hours(bucket: Bucket, *, lag_ms: int, since: int, now: int) -> Iterator[str]:
    """The hours of segments that are older than the lag, oldest first; then those of chunks. Of what was looked at
    before, those that are to be looked at again.

    `since`: when the last run began that came to its end; 0: nobody knows. Times in epoch milliseconds. Raises
    NotNowError(STORE_UNAVAILABLE).
    """
    for hour in bucket.hours(SEGMENTS):
        if is_segment_due(hour_of(hour), lag_ms, since, now):
            yield hour
    for hour in bucket.hours(CHUNKS):
        if is_chunk_due(hour_of(hour), since, now):
            yield hour
