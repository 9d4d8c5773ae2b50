"""Deletion of old claims and replies, and of unfinished uploads."""

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import Final

from postroom.jobs.bucket import MOST_DELETED, Bucket, BucketObject, Share
from postroom.jobs.expiring import Deletion
from postroom.jobs.tally import Tally
from postroom.storage.containers.store import PREFIX
from postroom.storage.layout import CHUNKS, CLAIMS, REPLIES, SEGMENTS, hour_of
from postroom.storage.mail.expiry import GARBAGE_MS, HANDED_ON_DAYS, is_hour_over

_OURS: Final = (SEGMENTS, CHUNKS, CLAIMS, REPLIES, PREFIX)


def old_hours(bucket: Bucket, prefix: str, days: int, now: int) -> Iterator[str]:
    """The hours whose objects are all older than `days` days, oldest first. `now`: epoch milliseconds.

    Raises NotNowError(STORE_UNAVAILABLE).
    """
    return takewhile(lambda hour: is_hour_over(hour_of(hour), days, now), bucket.hours(prefix))


class TemporaryObjects:
    """Deletes old objects. `now`: when the run began, epoch milliseconds. `dry_run`: only counts.

    Raises NotNowError(STORE_UNAVAILABLE).
    """

    def __init__(self, bucket: Bucket, tally: Tally, *, now: int, dry_run: bool) -> None:
        self._bucket = bucket
        self._tally = tally
        self._now = now
        self._dry_run = dry_run

    def handed_on(self) -> Iterator[Deletion]:
        """Delete claims and replies that are no longer needed.

        On AWS, the bucket's lifecycle usually deletes them first.
        """
        for prefix in (CLAIMS, REPLIES):
            for hour in old_hours(self._bucket, prefix, HANDED_ON_DAYS, self._now):
                objects = self._bucket.objects(Share(hour))
                yield from delete_objects(
                    self._bucket, self._tally, hour, "objects handed on", objects, dry_run=self._dry_run
                )

    def uploads(self) -> Iterator[Deletion]:
        """Abort multipart uploads that nobody finished. The lifecycle aborts them, too."""
        for upload in self._bucket.unfinished(self._now - GARBAGE_MS):
            if not upload.name.startswith(_OURS):
                continue
            self._tally.add("uploads.aborted")
            if not self._dry_run:
                self._bucket.abort(upload)
            yield Deletion(upload.name, 1, "unfinished upload", 0)


def delete_objects(
    bucket: Bucket, tally: Tally, where: str, why: str, garbage: Iterable[BucketObject], *, dry_run: bool
) -> Iterator[Deletion]:
    """Delete objects in bulk; yields how many and their bytes, if any. Raises NotNowError(STORE_UNAVAILABLE)."""
    count = size = 0
    rest = iter(garbage)
    while some := list(islice(rest, MOST_DELETED)):
        if not dry_run:
            bucket.delete_all([found.name for found in some])
        count += len(some)
        size += sum(found.size for found in some)
    if count:
        tally.add("objects.collected", count)
        tally.add("bytes.collected", size)
        yield Deletion(where, count, why, size)
