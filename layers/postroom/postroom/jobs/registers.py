"""The registers for jobs: rows are read in batches of 100 and repointed one by one, within a rate limit."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, OurError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.tally import Tally
from postroom.net.aws_errors import transient_as_not_now
from postroom.storage.aws.attributes import PK, SK, Item, primary_key
from postroom.storage.aws.object_store import Place
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import ROW_PREFIX, RowKey
from postroom.storage.mail.head import Heads
from postroom.storage.mail.register import (
    IS_LIVE,
    LENGTH,
    LIVE,
    OBJECT,
    OFFSET,
    STATE,
    Register,
    Row,
    read_key,
    read_row,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import KeysAndAttributesTypeDef

MOST_READ: Final = 100
"""The keys of one BatchGetItem."""
_PAGE_ROWS: Final = 1000
"""Rows of a partition: if a task dies during a page, the usage of its mailbox is wrong by at most this number."""
_POINT: Final = f"SET {OBJECT} = :o, {OFFSET} = :off, {LENGTH} = :len"
_POINTS_TO_SOURCE: Final = f"{IS_LIVE} AND {OBJECT} = :src"


class Registers:
    """Table `post`.

    All methods raise NotNowError(STORE_UNAVAILABLE) after `TRIES` attempts. Safe to share among threads.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table: str,
        *,
        reads: Pace,
        writes: Pace,
        tally: Tally,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._dynamodb = dynamodb
        self._table = DynamoTable(dynamodb, table)
        self._register = Register(dynamodb, table)
        self._heads = Heads(dynamodb, table)
        self._reading = PacedRequests("read", reads, tally, sleep)
        self._writing = PacedRequests("write", writes, tally, sleep)
        self._tally = tally

    def find_all(self, keys: Sequence[RowKey]) -> Mapping[RowKey, Row | OurError | None]:
        """The rows of at most `MOST_READ` keys, read consistently; None: absent."""
        # DynamoDB refuses a request that has a key twice.
        wanted = list(dict.fromkeys(keys))
        found: dict[RowKey, Row | OurError | None] = dict.fromkeys(wanted)
        left: list[Item] = [primary_key(key.pk, key.sk) for key in wanted]

        def read() -> None:
            nonlocal left
            rows, left = self._read(left)
            for item in rows:
                found[read_key(item)] = _row(item)
            if left:
                raise NotNowError(STORE_UNAVAILABLE)

        self._reading.keep_asking(read, lambda: len(left))
        return found

    def repoint(self, key: RowKey, source: str, place: Place) -> bool:
        """Repoint a row that is live at `source` to `place`; False: it has left `source` (and never comes back)."""
        return self._writing.ask(lambda: self._repoint(key, source, place))

    def live_before(self, pk: str, before: int) -> Iterator[Sequence[Row]]:
        """The live rows of a partition that were received before a time (epoch milliseconds), page by page.

        Not read consistently: rows that are missed are found by the next run.
        """
        head, end = self._reading.ask(lambda: self._heads.read(pk)), f"{ROW_PREFIX}{before:013d}"
        for begins, ends, _ in head.ranges(""):
            if begins < min(ends, end):
                yield from self._live_between(pk, begins, min(ends, end))

    def _live_between(self, pk: str, begin: str, end: str) -> Iterator[Sequence[Row]]:
        query = self._table.to_query(
            f"{PK} = :pk AND {SK} BETWEEN :begin AND :end",
            {
                ":pk": PK.encode(pk),
                ":begin": SK.encode(begin),
                ":end": SK.encode(end),
                ":live": STATE.encode(LIVE),
            },
            _PAGE_ROWS,
            only=IS_LIVE,
            consistent=False,
        )
        query["ReturnConsumedCapacity"] = "TOTAL"
        while True:
            page = self._reading.ask(lambda: self._table.page(query))
            self._reading.charge(page.get("ConsumedCapacity", {}).get("CapacityUnits", 1) - 1)
            rows = [row for item in page["Items"] if isinstance(row := _row(item), Row)]
            self._tally.add("rows.unreadable", len(page["Items"]) - len(rows))
            yield rows
            if "LastEvaluatedKey" not in page:
                return
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def expire(self, key: RowKey, why: str, forget_at: int) -> int:
        """Expire a live message. Returns the bytes removed; 0: it was gone. `forget_at`: epoch seconds."""
        return self._writing.ask(lambda: self._register.expire(key, why, forget_at))

    def _repoint(self, key: RowKey, source: str, place: Place) -> bool:
        return self._table.update(
            primary_key(key.pk, key.sk),
            _POINT,
            {
                ":o": OBJECT.encode(place.object),
                ":off": OFFSET.encode(place.offset),
                ":len": LENGTH.encode(place.length),
                ":live": STATE.encode(LIVE),
                ":src": OBJECT.encode(source),
            },
            _POINTS_TO_SOURCE,
        )

    def _read(self, keys: Sequence[Item]) -> tuple[Sequence[Item], list[Item]]:
        request: KeysAndAttributesTypeDef = {"Keys": keys, "ConsistentRead": True}
        with transient_as_not_now():
            answer = self._dynamodb.batch_get_item(RequestItems={self._table.name: request})
        left = answer.get("UnprocessedKeys", {}).get(self._table.name, {"Keys": []})["Keys"]
        # A consistent read of a row, which is under 4 kB, is one unit.
        self._tally.add("units.read", len(keys) - len(left))
        self._tally.add("dynamodb.read")
        return answer["Responses"].get(self._table.name, []), list(left)


def _row(item: Item) -> Row | OurError:
    try:
        return read_row(item)
    except OurError:
        return OurError(f"row {PK.read(item)} {SK.read(item)} has a form that this release does not know")
