"""What nobody will ask for: claims and replies of long ago, containers and uploads that nobody finished."""

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import Final

from postroom.errors import OurError
from postroom.jobs.bucket import MOST_DELETED, Bucket, Found, Share
from postroom.jobs.expiring import Went
from postroom.jobs.scanning import Table
from postroom.jobs.tally import Tally
from postroom.store.expiry import GARBAGE_MS, HANDED_ON_DAYS, is_hour_over
from postroom.store.keys import CHUNKS, CLAIMS, REPLIES, SEGMENTS, hour_of
from postroom.store.storage import PREFIX, Container, Part, Storage, read_kept

MOST_NAMES: Final = 500_000
"""Of objects under `box/`, some 250 bytes each: for every so many the whole table is read once."""
_OURS: Final = (SEGMENTS, CHUNKS, CLAIMS, REPLIES, PREFIX)


def old_hours(bucket: Bucket, prefix: str, days: int, now: int) -> Iterator[str]:
    """The hours of which all objects are so many days old, oldest first. `now`: epoch milliseconds.

    Raises NotNowError(STORE_UNAVAILABLE).
    """
    return takewhile(lambda hour: is_hour_over(hour_of(hour), days, now), bucket.hours(prefix))


class Sweeper:
    """Deletes. `now`: when the run began, epoch milliseconds. `dry_run`: only counts. `most_names`: held at a time.

    Raises NotNowError(STORE_UNAVAILABLE).
    """

    def __init__(
        self,
        bucket: Bucket,
        storage: Storage,
        storage_table: Table,
        tally: Tally,
        *,
        now: int,
        dry_run: bool,
        most_names: int = MOST_NAMES,
    ) -> None:
        self._bucket = bucket
        self._storage = storage
        self._table = storage_table
        self._tally = tally
        self._now = now
        self._dry_run = dry_run
        self._most_names = most_names

    def handed_on(self) -> Iterator[Went]:
        """Claims and replies that nobody can ask for any more. On AWS the bucket's lifecycle is there first."""
        for prefix in (CLAIMS, REPLIES):
            for hour in old_hours(self._bucket, prefix, HANDED_ON_DAYS, self._now):
                yield from self._deleted(hour, "objects handed on", self._bucket.objects(Share(hour)))

    def uploads(self) -> Iterator[Went]:
        """Uploads in parts that nobody finished; the lifecycle knows them, too."""
        for upload in self._bucket.unfinished(self._now - GARBAGE_MS):
            if not upload.name.startswith(_OURS):
                continue
            self._tally.add("uploads.aborted")
            if not self._dry_run:
                self._bucket.abort(upload)
            yield Went(upload.name, 1, "unfinished upload", 0)

    def parts(self) -> Iterator[Went]:
        """Parts of containers that nobody joined; the count of what is kept stays right."""
        for kept in self._kept():
            if isinstance(kept, Part) and kept.at * 1000 < self._now - GARBAGE_MS:
                self._tally.add("parts.dropped")
                if not self._dry_run:
                    self._storage.drop([kept])
                yield Went(kept.mailbox, 1, "part that nobody joined", kept.piece.size)

    def containers(self) -> Iterator[Went]:
        """What lies under `box/` and is named by no row (docs/storage.md, Garbage).

        Nothing goes while there is a row that this release cannot read: nobody knows what it names.
        """
        old = self._bucket.older(PREFIX, self._now - GARBAGE_MS)
        # Objects first, then the rows: none comes to name an object that is old and was not named before.
        while listed := {found.name: found for found in islice(old, self._most_names)}:
            for kept in self._kept():
                if kept is None:
                    return
                for piece in kept.pieces:
                    listed.pop(piece.object, None)
            yield from self._deleted(PREFIX, "objects that no row names", listed.values())

    def _kept(self) -> "Iterator[Container | Part | None]":
        """All that is kept; None: something that cannot be read."""
        for row in self._table.rows():
            try:
                kept = read_kept(row)
            except OurError:
                self._tally.add("rows.unreadable")
                yield None
                continue
            if kept:
                yield kept

    def _deleted(self, where: str, why: str, garbage: Iterable[Found]) -> Iterator[Went]:
        count = size = 0
        rest = iter(garbage)
        while some := list(islice(rest, MOST_DELETED)):
            if not self._dry_run:
                self._bucket.delete_all([found.name for found in some])
            count += len(some)
            size += sum(found.size for found in some)
        if count:
            self._tally.add("objects.collected", count)
            self._tally.add("bytes.collected", size)
            yield Went(where, count, why, size)
