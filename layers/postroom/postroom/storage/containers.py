"""Containers that owners store: table `storage` and the objects under `box/`. Keys, sizes and encrypted bytes.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.api.reasons import CHANGED_MEANWHILE, PART_UNKNOWN, STORAGE_FULL
from postroom.core.errors import NotNowError, OurError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.net.aws import CancelledError, transacting
from postroom.storage.aws.attributes import (
    ABSENT,
    PK,
    PRESENT,
    SK,
    Item,
    MalformedRowError,
    Maps,
    Number,
    Text,
    item,
    primary_key,
)
from postroom.storage.aws.table import DynamoTable, Values
from postroom.storage.mail.segments import Objects, Place

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

_VERSION, _PIECES, _AT = Text("version"), Maps("pieces"), Number("at")
_OBJECT, _SIZE = Text("object"), Number("size")
"""Attributes of a piece."""
_CONTAINERS, _BYTES = Number("containers"), Number("bytes")
"""Attributes of the usage."""
_UNCHANGED: Final = f"{_VERSION} = :version"
_CONTAINER, _PART, _USE = "c#", "p#", "use"
_AFTER_CONTAINERS: Final = "c$"
_BROKEN: Final = "ConditionalCheckFailed"
_PASSING: Final = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


@dataclass(frozen=True, slots=True)
class Piece:
    """An object and its size in bytes."""

    object: str
    size: int


@dataclass(frozen=True, slots=True)
class StoredContainer:
    """A container as in its row. `version` changes with every write."""

    mailbox: str
    key: str
    version: str
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(piece.size for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a future container. `at`: when it was stored, epoch seconds; the ids of parts are sorted by it."""

    mailbox: str
    id: str
    piece: Piece
    at: int

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces that the row names."""
        return (self.piece,)


@dataclass(frozen=True, slots=True)
class Use:
    """How much a mailbox stores, or may store (then 0 is unlimited).

    A part counts as a container until it is joined.
    """

    containers: int = 0
    bytes: int = 0


class Storage:
    """Stores containers.

    All methods raise NotNowError(STORE_UNAVAILABLE). `quota`: of a mailbox. `new_id`: random and unique.
    """

    def __init__(
        self, dynamodb: "DynamoDBClient", table: str, objects: Objects, quota: Use, new_id: Callable[[], str]
    ) -> None:
        self._dynamodb = dynamodb
        self._table = DynamoTable(dynamodb, table)
        self._objects = objects
        self._new_id = new_id
        self.quota = quota

    # --- reading ------------------------------------------------------------------------------------------------
    def find(self, mailbox: str, key: str) -> StoredContainer | None:
        """The container under a key."""
        row = self._table.get(primary_key(mailbox, _CONTAINER + key))
        return _container(row) if row else None

    def read(self, container: StoredContainer, first: int, end: int) -> bytes:
        """Bytes of a container. Raises KeyError if they are gone: read the row again."""
        return b"".join(map(self._objects.get_range, _places(container.pieces, first, end)))

    def page(self, mailbox: str, after: str, limit: int) -> tuple[list[StoredContainer], bool]:
        """Containers in key order, after a key (empty: from the first), and whether there may be more."""
        first = f"{_CONTAINER}{after}{'!' if after else ''}"
        page = self._query(mailbox, first, _AFTER_CONTAINERS, limit)
        return [_container(row) for row in page["Items"]], "LastEvaluatedKey" in page

    def use(self, mailbox: str) -> Use:
        """The usage of a mailbox."""
        row = self._table.get(primary_key(mailbox, _USE))
        return Use(_CONTAINERS.read(row), _BYTES.read(row)) if row else Use()

    def find_parts(self, mailbox: str, ids: Iterable[str]) -> list[Part]:
        """The parts with these ids that exist."""
        rows = (self._table.get(primary_key(mailbox, _PART + part_id)) for part_id in ids)
        return [_part(row) for row in rows if row]

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
        gone = self._table.to_delete(primary_key(old.mailbox, _CONTAINER + old.key), _UNCHANGED, _version_of(old))
        try:
            self._transact([self._counted(old.mailbox, Use(-1, -old.size)), {"Delete": gone}])
        except CancelledError as error:
            raise _refusal(error) from None
        self._delete_objects(old.pieces)

    def add_part(self, mailbox: str, data: bytes, at: int) -> Part:
        """Store a part of a future container. `at`: epoch seconds. Raises TheirError(STORAGE_FULL)."""
        part = Part(mailbox, f"{at:010d}-{self._new_id()}", self._written(data), at)
        row = primary_key(mailbox, _PART + part.id) | item(_PIECES.of([_stored(part.piece)]), _AT.of(at))
        try:
            self._transact([self._counted(mailbox, Use(1, part.piece.size)), {"Put": self._table.to_put(row, ABSENT)}])
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
                self._transact([self._counted(part.mailbox, Use(-1, -part.piece.size)), self._without(part)])
                self._delete_objects([part.piece])
                dropped += 1
        return dropped

    def drop_stale(self, mailbox: str, before: int) -> bool:
        """Delete parts stored before a time (epoch seconds), at most the oldest `DROPPED_AT_ONCE`; True: there were
        any."""
        stale = self._query(mailbox, _PART, f"{_PART}{before:010d}", DROPPED_AT_ONCE)["Items"]
        self.drop(map(_part, stale))
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
        more = Use((old is None) - len(parts), new.size - replaced - sum(part.piece.size for part in parts))
        row = primary_key(new.mailbox, _CONTAINER + new.key) | item(
            _VERSION.of(new.version), _PIECES.of(map(_stored, new.pieces))
        )
        put = self._table.to_put(row, _UNCHANGED, _version_of(old)) if old else self._table.to_put(row, ABSENT)
        self._transact([self._counted(new.mailbox, more), {"Put": put}, *map(self._without, parts)])
        self._delete_objects(old.pieces if old else ())
        return new

    def _counted(self, mailbox: str, more: Use) -> "TransactWriteItemTypeDef":
        """The write that counts usage, on condition that there is room.

        A write that frees room or needs none never fails.
        """
        values = {":containers": _CONTAINERS.encode(more.containers), ":bytes": _BYTES.encode(more.bytes)}
        conditions = []
        for attribute, added, most in (
            (_CONTAINERS, more.containers, self.quota.containers),
            (_BYTES, more.bytes, self.quota.bytes),
        ):
            if added > 0 and most:
                room = f":room_{attribute.name}"
                values[room] = attribute.encode(most - added)
                first = f"{ABSENT} OR " if added <= most else ""
                conditions.append(f"({first}{attribute} <= {room})")
        change = f"ADD {_CONTAINERS} :containers, {_BYTES} :bytes"
        return {"Update": self._table.to_update(primary_key(mailbox, _USE), change, values, " AND ".join(conditions))}

    def _without(self, part: Part) -> "TransactWriteItemTypeDef":
        return {"Delete": self._table.to_delete(primary_key(part.mailbox, _PART + part.id), PRESENT)}

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
                if _BROKEN in error.codes or tried == CONFLICT_TRIES:
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


def read_kept(row: Item) -> StoredContainer | Part | None:
    """The object of a row; None: the row is the usage. Raises OurError for an unknown form."""
    sk = SK.read(row)
    with suppress(MalformedRowError, ValueError):
        if sk.startswith(_CONTAINER):
            return _container(row)
        if sk.startswith(_PART):
            return _part(row)
    if sk == _USE:
        return None
    raise OurError(f"row {PK.read(row)} {sk} of the storage table is of no form that this release knows")


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
    if row == _BROKEN:
        return TheirError(CHANGED_MEANWHILE)
    if used == _BROKEN:
        return TheirError(STORAGE_FULL)
    if _BROKEN in parts:
        return TheirError(PART_UNKNOWN)
    return NotNowError(STORE_UNAVAILABLE) if set(error.codes) <= _PASSING else error


def _version_of(old: StoredContainer) -> Values:
    """The value of `_UNCHANGED`."""
    return {":version": _VERSION.encode(old.version)}


def _stored(piece: Piece) -> Item:
    return item(_OBJECT.of(piece.object), _SIZE.of(piece.size))


def _pieces(row: Item) -> tuple[Piece, ...]:
    return tuple(Piece(_OBJECT.read(piece), _SIZE.read(piece)) for piece in _PIECES.read(row))


def _container(row: Item) -> StoredContainer:
    return StoredContainer(PK.read(row), SK.read(row).removeprefix(_CONTAINER), _VERSION.read(row), _pieces(row))


def _part(row: Item) -> Part:
    [piece] = _pieces(row)
    return Part(PK.read(row), SK.read(row).removeprefix(_PART), piece, _AT.read(row))
