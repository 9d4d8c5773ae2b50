"""The reader of a mailbox: rows in order, strongly consistent; then the bytes they point to.

A cursor is the `sk` of the last row that was read. Rows never move, so it stays valid when messages arrive or are
acknowledged. It belongs to one pass, because a row may be filed behind it hours late: the next pass from the beginning
shows that row.
"""

import heapq
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import OurError
from postroom.storage.aws.attributes import PK, SK, TTL
from postroom.storage.aws.object_store import ObjectStore, Place, neighbours
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import RowKey, arrival_of, partition
from postroom.storage.mail.head import Heads, Learning
from postroom.storage.mail.register import CONVERSATION, IS_LIVE, LIVE, STATE, Register, Row, read_row
from postroom.storage.mail.segments import Line, decode_line

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import QueryInputTypeDef

MOST_ROWS: Final = 5_000
"""The most rows in a request: DynamoDB returns at most 1 MB, and a row has some 200 bytes."""
_BETWEEN: Final = f"{PK} = :pk AND {SK} BETWEEN :from AND :end"
_WAITS: Final = f"{IS_LIVE} AND (attribute_not_exists({TTL}) OR {TTL} >= :now)"


@dataclass(frozen=True, slots=True)
class Filed:
    """One message as its owner sees it."""

    row: Row
    line: Line


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A live row without its line: the object is missing or damaged, or the line names another row.

    This violates the store protocol (invariant B), and an operator should look into it; it never counts as gone.
    """

    row: Row


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A place up to which rows were read that are not shown: tombstones, or of other conversations. `sk`: of the last
    row that was read.
    """

    sk: str


@dataclass(frozen=True, slots=True)
class MailboxMail:
    """How much mail a mailbox holds. `bytes`: of its messages' lines."""

    messages: int = 0
    bytes: int = 0


Found = Filed | Unreadable | None
"""The result of reading a row that was live when it was listed; None: it is gone meanwhile."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass through partitions. `cursor`: as for `Reader.list`; `learns`: whether it may write what it learned."""

    cursor: str
    conversations: frozenset[str]
    now: int
    learns: bool = False


class Reader:
    """Lists and fetches messages. It writes only where the next pass may begin."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, register: Register, objects: ObjectStore) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._heads = Heads(dynamodb, table)
        self._register = register
        self._objects = objects

    def count_all(self, now: int) -> dict[str, MailboxMail]:
        """The mail of every mailbox that has some. `now`: epoch seconds. It reads the whole table.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        found: dict[str, MailboxMail] = {}
        for item in self._table.scan(_WAITS, {":live": STATE.encode(LIVE), ":now": TTL.encode(now)}):
            row = read_row(item)
            if row.place:
                mail = found.get(row.key.mailbox, MailboxMail())
                found[row.key.mailbox] = MailboxMail(mail.messages + 1, mail.bytes + row.place.length)
        return found

    def list(
        self,
        mailbox: str,
        shards: int,
        *,
        now: int,
        cursor: str = "",
        conversations: frozenset[str] = frozenset(),
        wanted: int = MOST_ROWS,
    ) -> Iterator[Row]:
        """The live rows of a mailbox after `cursor`, by time of arrival. `now`: epoch seconds.

        `conversations`: only of these; empty: of all. `wanted`: how many rows the caller will probably take; reading
        more is paid for. Raises NotNowError(STORE_UNAVAILABLE).
        """
        merged = self._merged(mailbox, shards, _Pass(cursor, conversations, now), wanted)
        return (each for each in merged if isinstance(each, Row))

    def walk(
        self,
        mailbox: str,
        shards: int,
        *,
        now: int,
        cursor: str = "",
        conversations: frozenset[str] = frozenset(),
        wanted: int = MOST_ROWS,
    ) -> Iterator[Row | PassedOver]:
        """The same, with the places up to which rows were read that are not shown: a caller may end there, and go on
        with the place as a cursor. Later passes do not read what it passed over.

        Only for functions, whose clocks agree with those of the workers: another's could hide mail.
        """
        learns = not conversations  # else the rows of others are passed over, too
        return self._merged(mailbox, shards, _Pass(cursor, conversations, now, learns), wanted)

    def fetch_all(self, rows: Sequence[Row]) -> Sequence[Filed]:
        """The messages of rows, in their order, without those that are gone meanwhile; rows close together share a
        request.

        Raises OurError for one that cannot be read, NotNowError(STORE_UNAVAILABLE).
        """
        found: dict[RowKey, Filed] = {}
        for run in runs_of(rows):
            for each in self.fetch_run(run):
                if isinstance(each, Unreadable):
                    key = each.row.key
                    raise OurError(f"the message of row {key.pk} {key.sk} is live, and cannot be read where it lies")
                if each is not None:
                    found[each.row.key] = each
        return [found[row.key] for row in rows if row.key in found]

    def fetch_run(self, run: Sequence[Row]) -> "Sequence[Found]":
        """The results for the rows of one run of `runs_of`, by one request if nothing moved meanwhile.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        places = sorted({row.place for row in run if row.place})
        try:
            lines = dict(zip(places, self._objects.get_all(places), strict=True))
        except KeyError:
            return [self.fetch(row) for row in run]
        return [_read(row, lines[row.place]) or self.fetch(row) for row in run if row.place]

    def fetch(self, row: Row) -> "Found":
        """The result for a row. Raises NotNowError(STORE_UNAVAILABLE)."""
        current: Row | None = row
        while current is not None and current.place is not None:
            with suppress(KeyError):
                filed = _read(current, self._objects.get_range(current.place))
                if filed:
                    return filed
            # 404: the row was moved while we read (by compaction), or is gone. Reading the row again decides.
            again = self._register.find(current.key)
            if again is not None and again.place == current.place:
                return Unreadable(again)
            current = again
        return None

    def _merged(self, mailbox: str, shards: int, going: _Pass, wanted: int) -> Iterator[Row | PassedOver]:
        partitions = (partition(mailbox, shard) for shard in range(shards))
        return heapq.merge(*(self._partition(pk, going, wanted) for pk in partitions), key=_sk)

    def _partition(self, pk: str, going: _Pass, wanted: int) -> Iterator[Row | PassedOver]:
        head, limit = self._heads.read(pk), min(wanted, MOST_ROWS)
        begin = arrival_of(going.cursor) + 1 if going.cursor else None
        learning = Learning(self._heads, pk, head, going.now * 1000, begin) if going.learns else None
        for begins, ends, left_out in head.ranges(going.cursor and going.cursor + "!"):
            query = self._query(pk, going, begins, ends)
            more = begins < ends
            while more:
                query["Limit"] = limit
                page = self._table.page(query)
                live, passed_over = list(map(read_row, page["Items"])), page["ScannedCount"] - page["Count"]
                more = "LastEvaluatedKey" in page
                last = SK.read(page["LastEvaluatedKey"]) if more else ends
                if learning:
                    learning.page_was_read(passed_over, [row.key for row in live], last)
                yield from live
                if more:
                    query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
                    if passed_over:
                        yield PassedOver(last)
                    # A caller that takes more than it announced, or meets tombstones only, is served with fewer and
                    # fewer requests.
                    limit = min(limit * 4, MOST_ROWS)
            if learning and left_out:
                learning.gap_was_left_out(left_out)

    def _query(self, pk: str, going: _Pass, begins: str, ends: str) -> "QueryInputTypeDef":
        # Tombstones and other conversations are read, and paid for, but not sent.
        named = {f":c{number}": CONVERSATION.encode(name) for number, name in enumerate(sorted(going.conversations))}
        return self._table.to_query(
            _BETWEEN,
            {
                ":pk": PK.encode(pk),
                ":from": SK.encode(begins),
                ":end": SK.encode(ends),
                ":live": STATE.encode(LIVE),
                ":now": TTL.encode(going.now),
                **named,
            },
            MOST_ROWS,
            only=f"{_WAITS} AND {CONVERSATION} IN ({', '.join(named)})" if named else _WAITS,
        )


def runs_of(rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Live rows in runs whose lines one request reads; the runs are in the order of the first row of each."""
    order = {row.key: number for number, row in enumerate(rows)}
    by_place: dict[Place, list[Row]] = {}
    for row in rows:
        if row.place is not None:
            by_place.setdefault(row.place, []).append(row)
    runs = [[row for place in places for row in by_place[place]] for places in neighbours(by_place)]
    return sorted(runs, key=lambda run: min(order[row.key] for row in run))


def _sk(each: Row | PassedOver) -> str:
    return each.sk if isinstance(each, PassedOver) else each.key.sk


def _read(row: Row, data: bytes) -> Filed | None:
    """The message of a row from the bytes that it points to; None: they are not the line of this row."""
    try:
        line = decode_line(data)
    except (ValueError, KeyError, TypeError):
        return None
    return Filed(row, line) if line.row == row.key else None
