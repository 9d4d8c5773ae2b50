"""Reading a mailbox: rows in order, strongly consistent; then the bytes they point to.

A cursor is the `sk` of the last row seen. Rows never move, so it is stable under arrival and acknowledgement; it
belongs to one pass, because a row may be filed behind it hours late: the next pass from the beginning shows it.
"""

import heapq
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.errors import NotNowError
from postroom.store.aws import passing_faults
from postroom.store.head import WORTH_RAISING, Heads
from postroom.store.keys import ROW_PREFIX, RowKey, partition
from postroom.store.register import LIVE, Register, Row, read_row
from postroom.store.segments import Line, Objects, decode_line, neighbours

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import QueryInputTypeDef

MOST_ROWS: Final = 5_000
"""Asked for at once: DynamoDB returns 1 MB at most, and a row has some 200 bytes."""


@dataclass(frozen=True, slots=True)
class Filed:
    """One message as its owner sees it."""

    row: Row
    line: Line


@dataclass(slots=True)
class _Pass:
    """A way through a partition. `begins`: the first key; `passed_over`: rows that were read and are not shown."""

    pk: str
    begins: str
    conversation: str
    now: int
    passed_over: int = 0


class Reader:
    """Lists and fetches; writes nothing but where the next pass may begin."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, register: Register, objects: Objects) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._heads = Heads(dynamodb, table)
        self._register = register
        self._objects = objects

    def list(
        self, mailbox: str, shards: int, *, now: int, cursor: str = "", conversation: str = "", wanted: int = MOST_ROWS
    ) -> Iterator[Row]:
        """The live rows of a mailbox after `cursor`, by time of arrival. `now`: epoch seconds.

        `wanted`: how many will be taken, most likely; to read more than that is paid for. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        passes = [self._shard(partition(mailbox, shard), cursor, conversation, now, wanted) for shard in range(shards)]
        yield from heapq.merge(*passes, key=lambda row: row.key.sk)

    def fetch_all(self, rows: Sequence[Row]) -> Sequence[Filed]:
        """The messages of rows, in their order, without those that are gone meanwhile; neighbours share a request.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        by_place = {row.place: row for row in rows if row.place is not None}
        found: dict[RowKey, Filed | None] = {}
        for run in neighbours(by_place):
            try:
                lines = self._objects.get_all(run)
            except KeyError:
                found |= {by_place[place].key: self.fetch(by_place[place]) for place in run}
            else:
                read = zip((by_place[place] for place in run), lines, strict=True)
                found |= {row.key: Filed(row, decode_line(line)) for row, line in read}
        return [filed for row in rows if (filed := found.get(row.key)) is not None]

    def fetch(self, row: Row) -> Filed | None:
        """The message of a row; None: it is gone meanwhile. Raises NotNowError(STORE_UNAVAILABLE)."""
        current: Row | None = row
        while current is not None and current.place is not None:
            try:
                return Filed(current, decode_line(self._objects.get_range(current.place)))
            except KeyError:
                # 404: the row moved on while we read (compaction), or is gone. Its word counts, read again.
                again = self._register.find(current.key)
                if again is not None and again.place == current.place:
                    raise
                current = again
        return None

    def _shard(self, pk: str, cursor: str, conversation: str, now: int, wanted: int) -> Iterator[Row]:
        if cursor:
            yield from self._rows(_Pass(pk, cursor + "!", conversation, now), wanted)
            return
        head = self._heads.read(pk)
        going = _Pass(pk, head.sk, conversation, now)
        rows = self._rows(going, wanted)
        first = next(rows, None)
        # Of a conversation it is not known what else lies before its first row.
        if going.passed_over >= WORTH_RAISING and not conversation:
            with suppress(NotNowError):  # it saves the next pass something, and this one nothing
                self._heads.raise_to(pk, head, first.key.sk if first else None, now * 1000)
        if first:
            yield first
            yield from rows

    def _rows(self, going: "_Pass", wanted: int) -> Iterator[Row]:
        # Tombstones and other conversations are read, and paid for, but not sent.
        only = "st = :live AND (attribute_not_exists(#ttl) OR #ttl >= :now)" + (
            " AND c = :c" if going.conversation else ""
        )
        query: QueryInputTypeDef = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :from AND :end",
            "FilterExpression": only,
            "ExpressionAttributeNames": {"#ttl": "ttl"},
            "ExpressionAttributeValues": {
                ":pk": {"S": going.pk},
                ":from": {"S": going.begins},
                ":end": {"S": ROW_PREFIX + "~"},
                ":live": {"S": LIVE},
                ":now": {"N": str(going.now)},
                **({":c": {"S": going.conversation}} if going.conversation else {}),
            },
            "ConsistentRead": True,
            "Limit": min(wanted, MOST_ROWS),
        }
        while True:
            with passing_faults():
                page = self._dynamodb.query(**query)
            going.passed_over += page["ScannedCount"] - page["Count"]
            yield from map(read_row, page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
            # Whoever takes more than was said, or met tombstones only, is served with fewer and fewer requests.
            query["Limit"] = min(query["Limit"] * 4, MOST_ROWS)
