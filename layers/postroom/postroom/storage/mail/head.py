"""The head of a partition: a hint where reading may begin, past its oldest tombstones. Row `!head` of table `post`.

A mailbox that is emptied every day has a month of tombstones before its first live row. Without the hint, each listing
would read and pay for all of them. `gen` counts how many times a row was filed before the head, or the head was passed;
a process that raises the head must have read it before its first query (docs/design/store-protocol.md, Head hint).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import SK, Item, Number, Text, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import ROW_PREFIX, RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

POSITION, GENERATION = Text("pos"), Number("gen")
_HEAD: Final = "!head"
_BEYOND_ALL: Final = f"{ROW_PREFIX}~"
LATE_MS: Final = 60 * 1000
"""A row that is filed so long after its claim was received may be before the head."""
SETTLED_MS: Final = 4 * 60 * 1000
"""The head is raised to a time at least this long ago: later claims may still be filed without a look at the head.

Each listing reads the tombstones since then again, and anybody can make us write some. The clocks of the worker and of
the reader may differ by what lies between the two times.
"""
WORTH_RAISING: Final = 200
"""The number of tombstones before the first live row at which the head is raised: reading their 20 kB costs more than
writing a head."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a pass begins. `generation`: the head is raised only if this has not changed."""

    sk: str
    generation: int


class Heads:
    """The head of each partition. Any process may repeat any operation, in any order."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def read(self, pk: str) -> Position:
        """The current head. Raises NotNowError(STORE_UNAVAILABLE)."""
        row = self._table.get(primary_key(pk, _HEAD))
        if not row:
            return Position(ROW_PREFIX, 0)
        sk = POSITION.find(row)
        return Position(ROW_PREFIX if sk is None else sk, GENERATION.read(row))

    def raise_to(self, pk: str, found: Position, place: str | None, begun_ms: int) -> Position:
        """Let the next pass begin at a place, or SETTLED_MS ago, whichever is earlier; return where it begins.

        `found`: the head before the first query of this pass, at `begun_ms` (epoch milliseconds), or what an earlier
        call of this pass returned; if another process has changed it since, nothing happens, now or later. `place`: of
        a row before which no row is live; None: none is. Raises NotNowError(STORE_UNAVAILABLE).
        """
        settled = f"{ROW_PREFIX}{begun_ms - SETTLED_MS:013d}"
        sk = settled if place is None else min(place, settled)
        if sk <= found.sk:
            return found
        same = f"{GENERATION} = :gen"
        unchanged = same if found.generation else f"attribute_not_exists({GENERATION}) OR {same}"
        raised = self._table.update(
            primary_key(pk, _HEAD),
            f"SET {POSITION} = :sk, {GENERATION} = :gen",
            {":sk": POSITION.encode(sk), ":gen": GENERATION.encode(found.generation)},
            f"({unchanged}) AND (attribute_not_exists({POSITION}) OR {POSITION} < :sk)",
        )
        return Position(sk if raised else _BEYOND_ALL, found.generation)

    def show(self, row: RowKey, now_ms: int) -> None:
        """Make the next pass include a live row, if it was filed late.

        `now_ms`: read after the row was written, or met: whoever wrote it may have died before this. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        if now_ms - row.received_at_ms > LATE_MS:
            self.lower_to(row)

    def lower_to(self, row: RowKey) -> None:
        """Record that a row was filed late: no pass may begin behind it, and no pass that has begun may raise the head.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        # One of the two conditions holds for any head. The head may move between the two attempts, so they are
        # repeated.
        while not (
            self._count(row, f"SET {POSITION} = :sk ADD {GENERATION} :one", f"{POSITION} > :sk")
            or self._count(row, f"ADD {GENERATION} :one", f"attribute_not_exists({POSITION}) OR {POSITION} <= :sk")
        ):
            continue

    def _count(self, row: RowKey, change: str, condition: str) -> bool:
        values = {":sk": POSITION.encode(row.sk), ":one": GENERATION.encode(1)}
        return self._table.update(primary_key(row.pk, _HEAD), change, values, condition)


def is_head(row: Item) -> bool:
    """Whether a row of table `post` is a head, and not a register."""
    return SK.read(row) == _HEAD
