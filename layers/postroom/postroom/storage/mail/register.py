"""The row of a claim in table `post`, its register: absent → live → gone, never back (store protocol, 4 and 5)."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import OurError
from postroom.core.reason import Reason
from postroom.net.aws_errors import ConditionFailedError
from postroom.reasons import reason_of
from postroom.storage.aws.attributes import ABSENT, PK, SK, TTL, Item, Number, Text, Value, item, primary_key
from postroom.storage.aws.object_store import Place
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

STATE, WHY = Text("st"), Text("why")
OBJECT, OFFSET, LENGTH, CONVERSATION = Text("o"), Number("off"), Number("len"), Text("c")
LIVE: Final = "L"
GONE: Final = "G"
ACKED: Final = "acked"
FORWARDED: Final = "forwarded"
DUPLICATE: Final = "duplicate"
"""Of a claim too large for the queue: its message is in the row of another claim, or was answered in its request."""
DISCARDED: Final = "discarded:"
OVER: Final = "expired"
CLOSED: Final = "closed"
EXPIRED: Final = frozenset({OVER, CLOSED})
"""The reasons why a message is gone that its owner never read: it expired, or its mailbox was closed long ago."""
IS_LIVE: Final = f"{STATE} = :live"
_BURY: Final = f"SET {STATE} = :gone, {WHY} = :why, {TTL} = :ttl REMOVE {OBJECT}, {OFFSET}, {LENGTH}, {CONVERSATION}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the register. Live: `place` and `conversation` say where its bytes are. Gone: `why`.

    `ttl` (live): when it expires (epoch seconds), whether it has been deleted or not; None: never.
    """

    key: RowKey
    place: Place | None = None
    conversation: str = ""
    why: str = ""
    ttl: int | None = None

    def waits(self, now: int) -> bool:
        """Whether the message is there for its owner."""
        return self.place is not None and (self.ttl is None or self.ttl >= now)

    @property
    def live(self) -> bool:
        """Whether the row is live."""
        return self.place is not None

    @property
    def discarded(self) -> Reason | None:
        """The reason why the claim was discarded; None: it was not."""
        return reason_of(self.why.removeprefix(DISCARDED)) if self.why.startswith(DISCARDED) else None


class Register:
    """Table `post`. `forget_at` is in epoch seconds. Any process may repeat any write, in any order."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def file(self, key: RowKey, place: Place, conversation: str) -> Row | None:
        """Step 4: make the row live, if it is absent. None: done, otherwise the existing row."""
        return self._put_if_absent(
            key,
            STATE.of(LIVE),
            OBJECT.of(place.object),
            OFFSET.of(place.offset),
            LENGTH.of(place.length),
            CONVERSATION.of(conversation),
        )

    def discard(self, key: RowKey, reason: Reason, forget_at: int) -> Row | None:
        """Step 5: make the row a tombstone with its reason, if it is absent; otherwise return the existing row."""
        return self._bury_if_absent(key, f"{DISCARDED}{reason}", forget_at)

    def forwarded(self, key: RowKey, forget_at: int) -> Row | None:
        """The message was forwarded: write a tombstone, if the row is absent; otherwise return the existing row."""
        return self._bury_if_absent(key, FORWARDED, forget_at)

    def mark_duplicate(self, key: RowKey, forget_at: int) -> Row | None:
        """The claim was decided without its own row: write a tombstone, if it is absent; otherwise return the existing
        row."""
        return self._bury_if_absent(key, DUPLICATE, forget_at)

    def acknowledge(self, key: RowKey, forget_at: int) -> int | None:
        """The owner has it: live → gone.

        Returns the bytes removed; 0: it was gone before. None: there is no such row.
        """
        return self._bury_if_live(key, ACKED, forget_at)

    def expire(self, key: RowKey, why: str, forget_at: int) -> int:
        """The message or its mailbox expired: live → gone. Returns the bytes removed; 0: it was gone before."""
        return self._bury_if_live(key, why, forget_at) or 0

    def find(self, key: RowKey) -> Row | None:
        """The row, read consistently; None: absent."""
        found = self._table.get(primary_key(key.pk, key.sk))
        return read_row(found) if found else None

    def _bury_if_live(self, key: RowKey, why: str, forget_at: int) -> int | None:
        try:
            was = self._table.change(
                primary_key(key.pk, key.sk),
                _BURY,
                {
                    ":gone": STATE.encode(GONE),
                    ":why": WHY.encode(why),
                    ":ttl": TTL.encode(forget_at),
                    ":live": STATE.encode(LIVE),
                },
                IS_LIVE,
                returned="UPDATED_OLD",
            )
        except ConditionFailedError as refused:
            return 0 if refused.item else None
        return LENGTH.read(was)

    def _bury_if_absent(self, key: RowKey, why: str, forget_at: int) -> Row | None:
        return self._put_if_absent(key, STATE.of(GONE), WHY.of(why), TTL.of(forget_at))

    def _put_if_absent(self, key: RowKey, *attributes: tuple[str, Value]) -> Row | None:
        standing = self._table.put(primary_key(key.pk, key.sk) | item(*attributes), ABSENT)
        return None if standing is None else read_row(standing)


def read_key(row: Item) -> RowKey:
    """The key of a row, or a key that is in another row. Raises MalformedRowError."""
    return RowKey(PK.read(row), SK.read(row))


def read_row(row: Item) -> Row:
    """A row from its attributes. Raises OurError if it is neither live nor gone: it must not be taken for either."""
    found, state = read_key(row), STATE.read(row)
    if state == GONE:
        return Row(found, why=WHY.read(row))
    if state != LIVE:
        raise OurError(f"row {found.pk} {found.sk} is in state {state!r}; this release knows {LIVE} and {GONE}")
    # Rows of one batch point to one object: a process with many rows holds its name once.
    place = Place(sys.intern(OBJECT.read(row)), OFFSET.read(row), LENGTH.read(row))
    return Row(found, place, CONVERSATION.read(row), ttl=TTL.find(row))
