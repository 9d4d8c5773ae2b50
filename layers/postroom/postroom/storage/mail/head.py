"""A hint where to begin reading a partition, behind tombstones only. Row `!head` of table `post`.

A mailbox that is read and emptied day by day has a month of tombstones before its first live row; without this, each
look into it would read, and pay for, all of them. `gen` counts how often something was filed before or behind the
head; whoever raises the head must have read it before the first query (docs/design/store-protocol.md, Head hint).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import SK, Item, Number, Text, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.keys import ROW_PREFIX, RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

POSITION, GENERATION = Text("pos"), Number("gen")
_HEAD: Final = "!head"
LATE_MS: Final = 10 * 60 * 1000
"""A row that is filed so long after its claim came in may lie before the head."""
SETTLED_MS: Final = 30 * 60 * 1000
"""The head is raised to the past only, by so much: what came in since may still be filed without a look at it."""
WORTH_RAISING: Final = 200
"""Tombstones that a pass met before its first live row: some 20 kB, which cost more to read than a head to write."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a pass begins; `generation`: what whoever raises it must find unchanged."""

    sk: str
    generation: int


class Heads:
    """The head of each partition. All of it may be repeated, by anyone, in any order."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def read(self, pk: str) -> Position:
        """The head as it is now. Raises NotNowError(STORE_UNAVAILABLE)."""
        row = self._table.get(primary_key(pk, _HEAD))
        if not row:
            return Position(ROW_PREFIX, 0)
        sk = POSITION.find(row)
        return Position(ROW_PREFIX if sk is None else sk, GENERATION.read(row))

    def raise_to(self, pk: str, found: Position, first_live: str | None, begun_ms: int) -> None:
        """Let the next pass begin at the first live row, or half an hour ago, if that is before it.

        `found`: the head as it was before this pass made its first query, at `begun_ms` (epoch milliseconds); where it
        has changed since, nothing happens. `first_live`: None where there is none. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        settled = f"{ROW_PREFIX}{begun_ms - SETTLED_MS:013d}"
        sk = settled if first_live is None else min(first_live, settled)
        if sk <= found.sk:
            return
        same = f"{GENERATION} = :gen"
        unchanged = same if found.generation else f"attribute_not_exists({GENERATION}) OR {same}"
        self._table.update(
            primary_key(pk, _HEAD),
            f"SET {POSITION} = :sk, {GENERATION} = :gen",
            {":sk": POSITION.encode(sk), ":gen": GENERATION.encode(found.generation)},
            f"({unchanged}) AND (attribute_not_exists({POSITION}) OR {POSITION} < :sk)",
        )

    def lower_to(self, row: RowKey) -> None:
        """A row was filed, or found filed, late: no pass may begin behind it, and nobody who has begun may raise the
        head by what he saw. Raises NotNowError(STORE_UNAVAILABLE)."""
        # One of the two holds, whatever the head is; between them it may move, so until one is taken.
        while not (
            self._count(row, f"SET {POSITION} = :sk ADD {GENERATION} :one", f"{POSITION} > :sk")
            or self._count(row, f"ADD {GENERATION} :one", f"attribute_not_exists({POSITION}) OR {POSITION} <= :sk")
        ):
            continue

    def _count(self, row: RowKey, change: str, condition: str) -> bool:
        values = {":sk": POSITION.encode(row.sk), ":one": GENERATION.encode(1)}
        return self._table.update(primary_key(row.pk, _HEAD), change, values, condition)


def is_head(row: Item) -> bool:
    """Whether a row of table `post` is no register, but a head."""
    return SK.read(row) == _HEAD
