"""Runs of a function that requests hold, counted for all instances: rows `<kind>#<slot>` of table `limits`.

A request that waits for something holds a run until it ends, and a function has a limited number of runs. There is one
row for each run that may be held at a time, a slot. A name may take only some of the slots, the same at every instance:
that limits the runs of a name without a further write. To hold a run takes one write, and to release it another one; a
request that gets no slot writes nothing, unless another request takes a slot at the same moment. Many requests write no
common row.

Which slots a name may take follows from it and from the name of the table, whose end CloudFormation draws at random: a
stranger cannot calculate a name that may take the slots of somebody else, in order to hold them all. The slots of a
name do not change with time, because it could hold twice its runs when they do. Nothing here stops a stranger with many
names from holding all slots.

A killed run releases nothing: its slot is free again when the row's time is over.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError
from postroom.storage.aws.attributes import ABSENT, TTL, Item, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

OF_A_NAME: Final = 4
_HOLDER: Final = Text("holder")


def most_of_a_name(most: int) -> int:
    """The most runs for one name, if there may be `most` in all: never more than half of them, rounded up."""
    return min(OF_A_NAME, (most + 1) // 2)


class HeldRuns:
    """The runs that requests of a `kind` hold.

    `most`: in all. `seconds`: the longest time that a run can take. `clock`: epoch seconds; `new_id`: a new identity
    for each request.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table: str,
        kind: str,
        *,
        most: int,
        seconds: int,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._table_name = table
        self._kind = kind
        self._most = most
        self._most_of_a_name = most_of_a_name(most)
        self._seconds = seconds
        self._clock = clock
        self._new_id = new_id

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Hold a run for `name` while the context lasts; False: it may hold no more now, or the table is unavailable.

        The slots of a name overlap with those of others: it may be refused before it holds `most_of_a_name`.
        """
        holder = self._new_id()
        slot = None
        with suppress(NotNowError):
            slot = self._take(name, holder)
        try:
            yield slot is not None
        finally:
            if slot is not None:
                with suppress(NotNowError):
                    self._table.delete(slot, f"{_HOLDER} = :holder", {":holder": _HOLDER.encode(holder)})

    def _take(self, name: str, holder: str) -> Item | None:
        now = int(self._clock())
        # The order differs from request to request, so that those of one moment rarely want the same slot.
        for slot in _chosen(holder, self._most_of_a_name, self._slots_of(name)):
            key = primary_key(f"{self._kind}#{slot}")
            row = self._table.get(key)
            if row is not None and TTL.read(row) >= now:
                continue
            mine = key | item(_HOLDER.of(holder), TTL.of(now + self._seconds))
            other = self._table.put(mine, f"{ABSENT} OR {TTL} < :now", {":now": TTL.encode(now)})
            # One write at most: if another request was first, this one is refused. The row is its own if boto3 repeated
            # the write.
            return key if other is None or _HOLDER.read(other) == holder else None
        return None

    def _slots_of(self, name: str) -> Sequence[int]:
        return _chosen(f"{self._table_name} {name}", self._most_of_a_name, range(self._most))


def _chosen(text: str, number: int, slots: Sequence[int]) -> Sequence[int]:
    """A number of slots, the same for the same text."""
    return Random(text).sample(slots, number)  # noqa: S311 - nobody sees the result, from which the text could follow
