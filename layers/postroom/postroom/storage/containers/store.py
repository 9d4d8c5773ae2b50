"""The store of containers: table `storage` and the objects under `box/`. Keys, sizes and encrypted bytes.

A container is a row that names its objects; whatever the row names is the container. Rows and the usage of a mailbox
change in one transaction, so that the usage always fits the rows. A write takes three steps:

1. the bytes become an object with a new name (`If-None-Match: *`), 2. the row is written and counted, on condition that
it has not changed since it was read and that there is room, 3. the objects that the row named before are deleted.

A process that dies in between leaves objects that no row names. Nobody sees them, and they are deleted by age
(docs/receive/storage.md). A container larger than a request comes in parts. Each part is a row that is counted, and
step 2 joins them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from postroom.api.reasons import CHANGED_MEANWHILE, PART_UNKNOWN, STORAGE_FULL
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.net.aws_errors import CONDITION_FAILED, CancelledError, transacting
from postroom.storage.aws.attributes import ABSENT, PK, PRESENT, SK
from postroom.storage.aws.object_store import ObjectStore, Place
from postroom.storage.aws.table import DynamoTable, Values
from postroom.storage.containers.rows import (
    AFTER_CONTAINERS,
    BYTES,
    CONTAINER,
    CONTAINERS,
    PART,
    VERSION,
    Part,
    Piece,
    StorageUsage,
    StoredContainer,
    container_key,
    container_row,
    part_key,
    part_row,
    read_container,
    read_part,
    read_use,
    use_key,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import QueryOutputTypeDef, TransactWriteItemTypeDef

PREFIX: Final = "box/"
"""Prefix of the objects' names."""
SEALED: Final = "application/octet-stream"
CONFLICT_TRIES: Final = 10
"""If two transactions of one mailbox run at once, one is cancelled; after each such conflict, the other has succeeded.
"""

DROPPED_AT_ONCE: Final = 50
"""The number of stale parts that one request deletes, because its client waits for the answer."""

_UNCHANGED: Final = f"{VERSION} = :version"
_PASSING: Final = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


class Storage:
    """Stores containers.

    All methods raise NotNowError(STORE_UNAVAILABLE). `quota`: of a mailbox. `new_id`: random and unique.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table: str,
        objects: ObjectStore,
        quota: StorageUsage,
        new_id: Callable[[], str],
    ) -> None:
        self._dynamodb = dynamodb
        self._table = DynamoTable(dynamodb, table)
        self._objects = objects
        self._new_id = new_id
        self.quota = quota

    # --- reading ------------------------------------------------------------------------------------------------
    def find(self, mailbox: str, key: str) -> StoredContainer | None:
        """The container under a key."""
        row = self._table.get(container_key(mailbox, key))
        return read_container(row) if row else None

    def read(self, container: StoredContainer, first: int, end: int) -> bytes:
        """Bytes of a container. Raises KeyError if they are gone: read the row again."""
        return b"".join(map(self._objects.get_range, _places(container.pieces, first, end)))

    def page(self, mailbox: str, after: str, limit: int) -> tuple[list[StoredContainer], bool]:
        """Containers in key order, after a key (empty: from the first), and whether there may be more."""
        first = f"{CONTAINER}{after}{'!' if after else ''}"
        page = self._query(mailbox, first, AFTER_CONTAINERS, limit)
        return [read_container(row) for row in page["Items"]], "LastEvaluatedKey" in page

    def use(self, mailbox: str) -> StorageUsage:
        """The usage of a mailbox."""
        row = self._table.get(use_key(mailbox))
        return read_use(row) if row else StorageUsage()

    def find_parts(self, mailbox: str, ids: Iterable[str]) -> list[Part]:
        """The parts with these ids that exist."""
        rows = (self._table.get(part_key(mailbox, part_id)) for part_id in ids)
        return [read_part(row) for row in rows if row]

    # --- writing ------------------------------------------------------------------------------------------------
    def put(self, mailbox: str, key: str, old: StoredContainer | None, data: bytes) -> StoredContainer:
        """Store `data` in place of `old`; None: there must be no container.

        Raises TheirError: CHANGED_MEANWHILE, STORAGE_FULL.
        """
        # An empty object has no range that could be read.
        pieces = (self._written(data),) if data else ()
        try:
            return self._commit(StoredContainer(mailbox, key, self._new_id(), pieces), old)
        except CancelledError as error:
            self._delete_objects(pieces)
            raise _refusal(error) from None

    def join(self, mailbox: str, key: str, old: StoredContainer | None, parts: Sequence[Part]) -> StoredContainer:
        """Join parts, in this order, into a container in place of `old`. They are no longer parts afterwards.

        Raises TheirError: CHANGED_MEANWHILE, PART_UNKNOWN.
        """
        pieces = tuple(part.piece for part in parts)
        try:
            return self._commit(StoredContainer(mailbox, key, self._new_id(), pieces), old, parts)
        except CancelledError as error:
            raise _refusal(error) from None

    def delete(self, old: StoredContainer) -> None:
        """Delete a container. Raises TheirError(CHANGED_MEANWHILE)."""
        gone = self._table.to_delete(container_key(old.mailbox, old.key), _UNCHANGED, _version_of(old))
        try:
            self._transact([self._counted(old.mailbox, StorageUsage(-1, -old.size)), {"Delete": gone}])
        except CancelledError as error:
            raise _refusal(error) from None
        self._delete_objects(old.pieces)

    def add_part(self, mailbox: str, data: bytes, at: int) -> Part:
        """Store a part of a future container. `at`: epoch seconds. Raises TheirError(STORAGE_FULL)."""
        part = Part(mailbox, f"{at:010d}-{self._new_id()}", self._written(data), at)
        try:
            self._transact(
                [
                    self._counted(mailbox, StorageUsage(1, part.piece.size)),
                    {"Put": self._table.to_put(part_row(part), ABSENT)},
                ]
            )
        except CancelledError as error:
            self._delete_objects([part.piece])
            raise _refusal(error) from None
        return part

    def drop(self, parts: Iterable[Part]) -> int:
        """Delete parts, and return how many were deleted.

        Parts that another request joins or deletes now are skipped.
        """
        dropped = 0
        for part in parts:
            with suppress(CancelledError):
                self._transact([self._counted(part.mailbox, StorageUsage(-1, -part.piece.size)), self._without(part)])
                self._delete_objects([part.piece])
                dropped += 1
        return dropped

    def drop_stale(self, mailbox: str, before: int) -> bool:
        """Delete parts stored before a time (epoch seconds), at most the oldest `DROPPED_AT_ONCE`; True: there were
        any."""
        stale = self._query(mailbox, PART, f"{PART}{before:010d}", DROPPED_AT_ONCE)["Items"]
        self.drop(map(read_part, stale))
        return bool(stale)

    # --- steps --------------------------------------------------------------------------------------------------
    def _written(self, data: bytes) -> Piece:
        """Step 1."""
        piece = Piece(PREFIX + self._new_id(), len(data))
        self._objects.put(piece.object, data, SEALED)
        return piece

    def _commit(self, new: StoredContainer, old: StoredContainer | None, parts: Sequence[Part] = ()) -> StoredContainer:
        """Steps 2 and 3. Raises CancelledError."""
        replaced = old.size if old else 0
        more = StorageUsage((old is None) - len(parts), new.size - replaced - sum(part.piece.size for part in parts))
        row = container_row(new)
        put = self._table.to_put(row, _UNCHANGED, _version_of(old)) if old else self._table.to_put(row, ABSENT)
        self._transact([self._counted(new.mailbox, more), {"Put": put}, *map(self._without, parts)])
        self._delete_objects(old.pieces if old else ())
        return new

    def _counted(self, mailbox: str, more: StorageUsage) -> "TransactWriteItemTypeDef":
        """The write that counts usage, on condition that there is room.

        A write that frees room or needs none never fails.
        """
        values = {":containers": CONTAINERS.encode(more.containers), ":bytes": BYTES.encode(more.bytes)}
        conditions = []
        for attribute, added, most in (
            (CONTAINERS, more.containers, self.quota.containers),
            (BYTES, more.bytes, self.quota.bytes),
        ):
            if added > 0 and most:
                placeholder = f":room_{attribute.name}"
                values[placeholder] = attribute.encode(most - added)
                first = f"{ABSENT} OR " if added <= most else ""
                conditions.append(f"({first}{attribute} <= {placeholder})")
        change = f"ADD {CONTAINERS} :containers, {BYTES} :bytes"
        return {"Update": self._table.to_update(use_key(mailbox), change, values, " AND ".join(conditions))}

    def _without(self, part: Part) -> "TransactWriteItemTypeDef":
        return {"Delete": self._table.to_delete(part_key(part.mailbox, part.id), PRESENT)}

    def _transact(self, writes: "Sequence[TransactWriteItemTypeDef]") -> None:
        """Run the transaction: usage, row and parts change together or not at all. Raises CancelledError if nothing
        changed.

        If an answer gets lost, the SDK repeats the request with the same token, so that it takes effect once.
        """
        for tried in range(1, CONFLICT_TRIES + 1):
            try:
                with transacting():
                    self._dynamodb.transact_write_items(TransactItems=writes)
            except CancelledError as error:
                if CONDITION_FAILED in error.codes or tried == CONFLICT_TRIES:
                    raise
            else:
                return

    def _delete_objects(self, pieces: Iterable[Piece]) -> None:
        """Step 3. Objects that cannot be deleted now are deleted by age, like those that a dead process left."""
        for piece in pieces:
            with suppress(NotNowError):
                self._objects.delete(piece.object)

    def _query(self, mailbox: str, first: str, last: str, limit: int) -> "QueryOutputTypeDef":
        """Rows in a range of keys, both ends included."""
        query = self._table.to_query(
            f"{PK} = :pk AND {SK} BETWEEN :first AND :last",
            {":pk": PK.encode(mailbox), ":first": SK.encode(first), ":last": SK.encode(last)},
            limit,
        )
        return self._table.page(query)


def _places(pieces: Iterable[Piece], first: int, end: int) -> Iterator[Place]:
    """The places of the bytes from `first` up to but without `end`, in pieces that follow one another."""
    start = 0
    for piece in pieces:
        begin, stop = max(first, start), min(end, start + piece.size)
        if begin < stop:
            yield Place(piece.object, begin - start, stop - begin)
        start += piece.size


def _refusal(error: CancelledError) -> TheirError | NotNowError | CancelledError:
    """The reason why a transaction was cancelled, by its usage, row and parts."""
    used, row, *parts = error.codes
    if row == CONDITION_FAILED:
        return TheirError(CHANGED_MEANWHILE)
    if used == CONDITION_FAILED:
        return TheirError(STORAGE_FULL)
    if CONDITION_FAILED in parts:
        return TheirError(PART_UNKNOWN)
    return NotNowError(STORE_UNAVAILABLE) if set(error.codes) <= _PASSING else error


def _version_of(old: StoredContainer) -> Values:
    """The value of `_UNCHANGED`."""
    return {":version": VERSION.encode(old.version)}
