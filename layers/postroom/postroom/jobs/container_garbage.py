"""Deletion of garbage of archive containers: parts that nobody joined, and objects that no row names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import OurError
from postroom.jobs.bucket import Bucket, BucketObject, Share
from postroom.jobs.expiring import Deletion
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.scanning import TableScanner
from postroom.jobs.tally import Tally
from postroom.jobs.temporary_objects import delete_objects
from postroom.storage.containers.rows import Part, StoredContainer, read_kept
from postroom.storage.containers.store import PREFIX, Storage
from postroom.storage.mail.expiry import GARBAGE_MS

UNREADABLE: Final = "containers.unreadable"
"""The number of rows of an unknown form. While there is one, it is unknown which objects are named."""
_TRANSACTION_UNITS: Final = 4
"""The units of a transaction of two rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ContainerGarbage:
    """Deletes garbage. `now`: when the run began, epoch milliseconds. `dry_run`: only counts.

    Raises NotNowError(STORE_UNAVAILABLE).
    """

    bucket: Bucket
    storage: Storage
    table: TableScanner
    tally: Tally
    writes: PacedRequests
    now: int
    dry_run: bool

    def drop_parts(self, segment: int, segments: int) -> Iterator[Deletion]:
        """Delete the parts in one of `segments` segments of the table that nobody joined within a day.

        Their bytes are subtracted from the owner's usage.
        """
        for kept in self._kept(segment, segments):
            if isinstance(kept, Part) and kept.at * 1000 < self.now - GARBAGE_MS and (self.dry_run or self._drop(kept)):
                self.tally.add("parts.dropped")
                yield Deletion(kept.mailbox, 1, "part that nobody joined", kept.piece.size)

    def shares(self) -> Sequence[Share]:
        """All objects under `box/`, in shares."""
        return self.bucket.shares(PREFIX)

    def old(self, share: Share) -> Iterator[BucketObject]:
        """The objects of a share that are older than a day: a row that does not name such an object now never will."""
        return self.bucket.older(share, self.now - GARBAGE_MS)

    def named(self, segment: int, segments: int) -> Iterator[str]:
        """The objects named by rows in one of `segments` segments of the table; rows of an unknown form are counted."""
        for kept in self._kept(segment, segments):
            if kept is None:
                self.tally.add(UNREADABLE)
            else:
                yield from (piece.object for piece in kept.pieces)

    def delete(self, garbage: Iterable[BucketObject]) -> Iterator[Deletion]:
        """Delete old objects that no row names."""
        why = "objects that no row names"
        return delete_objects(self.bucket, self.tally, PREFIX, why, garbage, dry_run=self.dry_run)

    def _drop(self, part: Part) -> bool:
        dropped = self.writes.ask(lambda: self.storage.drop([part]))
        self.writes.charge(_TRANSACTION_UNITS - 1)
        return dropped > 0

    def _kept(self, segment: int, segments: int) -> "Iterator[StoredContainer | Part | None]":
        """The content of the rows; None: a row that cannot be read."""
        for row in self.table.rows(segment=segment, segments=segments):
            try:
                kept = read_kept(row)
            except OurError:
                yield None
            else:
                if kept:
                    yield kept
