"""The debounce of notifications: at most one turn in an interval. Rows `!turn` of `notify#<mailbox>`.

What is needed of clocks is the length of the interval. That a message is covered by a turn to come is read from the row
alone: while it says `followed`, that turn was not taken, and whoever takes it tells of all that was filed until then.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws import RefusedError, conditional
from postroom.storage.directory.notification_targets import PREFIX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_ROW: Final = "!turn"


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn that stands, since `at_ms`. `ours`: we took it just now.

    `followed`: a message waits in the queue for the end of its interval.
    """

    at_ms: int
    ours: bool
    followed: bool


class Turns:
    """The rows. All of it raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def take(self, mailbox: str, *, now_ms: int, interval_ms: int, mark: str) -> Turn:
        """Take the turn, if the interval of the one before is over; whose turn it is then.

        `mark`: of the message alone for which it is taken.

        One from the future is none: a clock that was ahead must not keep a mailbox silent.
        """
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key=_key(mailbox),
                    UpdateExpression="SET took = :now, mark = :mark REMOVE followed",
                    ConditionExpression="attribute_not_exists(took) OR took <= :over OR took > :future",
                    ExpressionAttributeValues={
                        ":now": {"N": str(now_ms)},
                        ":mark": {"S": mark},
                        ":over": {"N": str(now_ms - interval_ms)},
                        ":future": {"N": str(now_ms + interval_ms)},
                    },
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            # Our own mark: an earlier try got through, of this very call or of the same message.
            ours = refused.item["mark"]["S"] == mark
            return Turn(int(refused.item["took"]["N"]), ours, "followed" in refused.item)
        return Turn(now_ms, ours=True, followed=False)

    def followed(self, mailbox: str, turn: Turn) -> None:
        """Note that a message for the end of this turn's interval is in the queue."""
        with suppress(RefusedError), conditional():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(mailbox),
                UpdateExpression="SET followed = :true",
                ConditionExpression="took = :at",
                ExpressionAttributeValues={":true": {"BOOL": True}, ":at": {"N": str(turn.at_ms)}},
            )


def _key(mailbox: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": PREFIX + mailbox}, "sk": {"S": _ROW}}
