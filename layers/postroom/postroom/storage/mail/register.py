"""Steps 4 and 5, and acknowledge: the register of a claim, absent → live → gone and never back."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import OurError
from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.reasons import Reason, reason_of
from postroom.storage.keys import RowKey
from postroom.storage.mail.segments import Place

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

LIVE: Final = "L"
GONE: Final = "G"
ACKED: Final = "acked"
FORWARDED: Final = "forwarded"
DISCARDED: Final = "discarded:"
OVER: Final = "expired"
CLOSED: Final = "closed"
EXPIRED: Final = frozenset({OVER, CLOSED})
"""Why a message is gone that nobody picked up: its time was over, or its mailbox was closed long ago."""


@dataclass(frozen=True, slots=True)
class Row:
    """A register. Live: `place` and `conversation` say where its bytes are. Gone: `why`.

    `ttl` (live): when its time is over (epoch seconds), whether it is swept by then or not; None: never.
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
        """Whether the message is there."""
        return self.place is not None

    @property
    def discarded(self) -> Reason | None:
        """Why the claim was discarded; None: it was not."""
        return reason_of(self.why.removeprefix(DISCARDED)) if self.why.startswith(DISCARDED) else None


class Register:
    """Table `post`. `forget_at` is in epoch seconds; every write may be repeated, by anyone, in any order."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def file(self, key: RowKey, place: Place, conversation: str) -> Row | None:
        """Step 4: make the row live, if it is absent; None: done, else the row that stands there already."""
        return self._put_if_absent(
            key,
            {
                "st": {"S": LIVE},
                "o": {"S": place.object},
                "off": {"N": str(place.offset)},
                "len": {"N": str(place.length)},
                "c": {"S": conversation},
            },
        )

    def discard(self, key: RowKey, reason: Reason, forget_at: int) -> Row | None:
        """Step 5: make the row a tombstone that says why, if it is absent; else the row that stands there."""
        return self._bury_if_absent(key, f"{DISCARDED}{reason}", forget_at)

    def forwarded(self, key: RowKey, forget_at: int) -> Row | None:
        """The message was handed on: a tombstone, if the row is absent; else the row that stands there."""
        return self._bury_if_absent(key, FORWARDED, forget_at)

    def acknowledge(self, key: RowKey, forget_at: int) -> int | None:
        """The owner has it: live → gone. How many bytes left; 0: it was gone before. None: there is no such row."""
        return self._bury_if_live(key, ACKED, forget_at)

    def expire(self, key: RowKey, why: str, forget_at: int) -> int:
        """It has had its time, or its mailbox: live → gone. How many bytes left; 0: it was gone before."""
        return self._bury_if_live(key, why, forget_at) or 0

    def find(self, key: RowKey) -> Row | None:
        """The row, read consistently; None: absent."""
        with passing_faults():
            item = self._dynamodb.get_item(TableName=self._table, Key=_key(key), ConsistentRead=True).get("Item")
        return read_row(item) if item else None

    def _bury_if_live(self, key: RowKey, why: str, forget_at: int) -> int | None:
        try:
            with conditional():
                was = self._dynamodb.update_item(
                    TableName=self._table,
                    Key=_key(key),
                    UpdateExpression="SET st = :gone, why = :why, #ttl = :ttl REMOVE o, off, len, c",
                    ConditionExpression="st = :live",
                    ExpressionAttributeNames={"#ttl": "ttl"},
                    ExpressionAttributeValues={
                        ":gone": {"S": GONE},
                        ":why": {"S": why},
                        ":live": {"S": LIVE},
                        ":ttl": {"N": str(forget_at)},
                    },
                    ReturnValues="UPDATED_OLD",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            return 0 if refused.item else None
        return int(was["Attributes"]["len"]["N"])

    def _bury_if_absent(self, key: RowKey, why: str, forget_at: int) -> Row | None:
        return self._put_if_absent(key, {"st": {"S": GONE}, "why": {"S": why}, "ttl": {"N": str(forget_at)}})

    def _put_if_absent(self, key: RowKey, attributes: "Mapping[str, AttributeValueTypeDef]") -> Row | None:
        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item={**_key(key), **attributes},
                    ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            return read_row(refused.item)
        return None


def read_row(item: "Mapping[str, AttributeValueTypeDef]") -> Row:
    """A row from its attributes. Raises OurError where it is neither live nor gone: nobody may take it for either."""
    key, state = RowKey(item["pk"]["S"], item["sk"]["S"]), item["st"]["S"]
    if state == GONE:
        return Row(key, why=item["why"]["S"])
    if state != LIVE:
        raise OurError(f"row {key.pk} {key.sk} is in state {state!r}; this release knows {LIVE} and {GONE}")
    # Rows of one batch point to one object: whoever holds many rows holds its name once.
    place = Place(sys.intern(item["o"]["S"]), int(item["off"]["N"]), int(item["len"]["N"]))
    return Row(key, place, item["c"]["S"], ttl=int(item["ttl"]["N"]) if "ttl" in item else None)


def _key(key: RowKey) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}
