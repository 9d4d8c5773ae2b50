"""Rows of table `storage`: containers, parts of future ones, and the usage of each mailbox.

The key of a row is the mailbox, and `c#` and the container's key, `p#` and the part's id, or `use`.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import OurError
from postroom.storage.aws.attributes import (
    PK,
    SK,
    Item,
    MalformedRowError,
    Maps,
    Number,
    Text,
    Value,
    item,
    primary_key,
)

VERSION, PIECES, AT = Text("version"), Maps("pieces"), Number("at")
_OBJECT, _SIZE = Text("object"), Number("size")
"""Attributes of a piece."""
CONTAINERS, BYTES = Number("containers"), Number("bytes")
"""Attributes of the usage."""
CONTAINER, PART, _USE = "c#", "p#", "use"
AFTER_CONTAINERS: Final = "c$"


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
class StorageUsage:
    """How much a mailbox stores, or may store (then 0 is unlimited).

    A part counts as a container until it is joined.
    """

    containers: int = 0
    bytes: int = 0


def container_key(mailbox: str, key: str) -> dict[str, Value]:
    """The key of a container's row."""
    return primary_key(mailbox, CONTAINER + key)


def part_key(mailbox: str, part_id: str) -> dict[str, Value]:
    """The key of a part's row."""
    return primary_key(mailbox, PART + part_id)


def use_key(mailbox: str) -> dict[str, Value]:
    """The key of the row with the usage of a mailbox."""
    return primary_key(mailbox, _USE)


def container_row(container: StoredContainer) -> Item:
    """The row of a container."""
    key = container_key(container.mailbox, container.key)
    return key | item(VERSION.of(container.version), PIECES.of(map(_stored, container.pieces)))


def part_row(part: Part) -> Item:
    """The row of a part."""
    return part_key(part.mailbox, part.id) | item(PIECES.of([_stored(part.piece)]), AT.of(part.at))


def read_use(row: Item) -> StorageUsage:
    """The usage in its row. Raises MalformedRowError."""
    return StorageUsage(CONTAINERS.read(row), BYTES.read(row))


def read_kept(row: Item) -> StoredContainer | Part | None:
    """The object of a row; None: the row is the usage. Raises OurError for an unknown form."""
    sk = SK.read(row)
    with suppress(MalformedRowError, ValueError):
        if sk.startswith(CONTAINER):
            return read_container(row)
        if sk.startswith(PART):
            return read_part(row)
    if sk == _USE:
        return None
    raise OurError(f"row {PK.read(row)} {sk} of the storage table is of no form that this release knows")


def read_container(row: Item) -> StoredContainer:
    """The container of a row. Raises MalformedRowError."""
    return StoredContainer(PK.read(row), SK.read(row).removeprefix(CONTAINER), VERSION.read(row), _pieces(row))


def read_part(row: Item) -> Part:
    """The part of a row. Raises MalformedRowError, or ValueError if it has not exactly one piece."""
    [piece] = _pieces(row)
    return Part(PK.read(row), SK.read(row).removeprefix(PART), piece, AT.read(row))


def _stored(piece: Piece) -> Item:
    return item(_OBJECT.of(piece.object), _SIZE.of(piece.size))


def _pieces(row: Item) -> tuple[Piece, ...]:
    return tuple(Piece(_OBJECT.read(piece), _SIZE.read(piece)) for piece in PIECES.read(row))
