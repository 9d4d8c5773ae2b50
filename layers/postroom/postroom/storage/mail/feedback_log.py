"""Step 6: at most one Feedback for a discard. Its id is written to the claim's row before it is sent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.storage.keys import RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_THERE: Final = "attribute_exists(pk)"


@dataclass(frozen=True, slots=True)
class Told:
    """The identity of a Feedback, and the buffer it goes to: every try repeats them.

    `sent`: it arrived, or was given up, or stands in a summary: nothing is left to do.
    """

    buffer: str
    correlation: str
    timestamp_ms: int
    sent: bool


NOBODY_TOLD: Final = Told("", "", 0, sent=True)
"""It needed no identity: it stands in a summary, was given up before it had one, or its row is gone for good."""


class TellTale:
    """The `told` and `sent` attributes of discarded rows in table `post`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def find(self, row: RowKey) -> Told | None:
        """What was noted about the Feedback for this row, read consistently; None: nothing yet."""
        with passing_faults():
            item = self._dynamodb.get_item(
                TableName=self._table, Key={"pk": {"S": row.pk}, "sk": {"S": row.sk}}, ConsistentRead=True
            ).get("Item", {})
        if "told" in item:
            told = item["told"]["M"]
            return Told(told["b"]["S"], told["c"]["S"], int(told["t"]["N"]), "sent" in item)
        return NOBODY_TOLD if "sent" in item else None

    def note(self, row: RowKey, buffer: str, correlation: str, timestamp_ms: int) -> Told:
        """Write the Feedback's identity down, unless one stands there or none is needed; answer what then stands."""
        told = {"b": {"S": buffer}, "c": {"S": correlation}, "t": {"N": str(timestamp_ms)}}
        fresh = f"{_THERE} AND attribute_not_exists(told) AND attribute_not_exists(sent)"
        if self._update(row, "SET told = :told", {":told": {"M": told}}, fresh):
            return Told(buffer, correlation, timestamp_ms, sent=False)
        # A row that is gone for good (its time is over) leaves nobody to tell.
        return self.find(row) or NOBODY_TOLD

    def sent(self, row: RowKey, outcome: str) -> None:
        """Note that nothing is left to do. `outcome`: `delivered`, `refused`, `given up` or `summary`."""
        self._update(row, "SET sent = :outcome", {":outcome": {"S": outcome}}, _THERE)

    def _update(self, row: RowKey, update: str, values: "dict[str, AttributeValueTypeDef]", condition: str) -> bool:
        """Update the row if `condition` holds; whether it did."""
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key={"pk": {"S": row.pk}, "sk": {"S": row.sk}},
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeValues=values,
                )
        except RefusedError:
            return False
        return True
