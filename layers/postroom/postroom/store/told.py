"""Step 6: at most one Feedback about a discard. Its identity stands in the discarded claim's row before it is sent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from postroom.store.aws import error_code, passing_faults
from postroom.store.keys import RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Told:
    """The identity of a Feedback: every try repeats it. `correlation` is empty where it went into a summary.

    `sent`: it arrived, or was given up, or stands in a summary: nothing is left to do.
    """

    correlation: str
    timestamp_ms: int
    sent: bool


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
        if "told" not in item:
            return None
        told = item["told"]["M"]
        return Told(told["c"]["S"], int(told["t"]["N"]), "sent" in item)

    def note(self, row: RowKey, correlation: str, timestamp_ms: int) -> Told:
        """Write the Feedback's identity down, unless one stands there; answer what stands there."""
        told = {"c": {"S": correlation}, "t": {"N": str(timestamp_ms)}}
        try:
            with passing_faults():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key={"pk": {"S": row.pk}, "sk": {"S": row.sk}},
                    UpdateExpression="SET told = :told",
                    ConditionExpression="attribute_exists(pk) AND attribute_not_exists(told)",
                    ExpressionAttributeValues={":told": {"M": told}},
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            stands = self.find(row)
            # A row that is gone for good (its time is over) leaves nobody to tell.
            return stands or Told("", timestamp_ms, sent=True)
        return Told(correlation, timestamp_ms, sent=False)

    def sent(self, row: RowKey, outcome: str) -> None:
        """Note that nothing is left to do. `outcome`: `delivered`, `refused`, `given up` or `summary`."""
        with passing_faults():
            self._dynamodb.update_item(
                TableName=self._table,
                Key={"pk": {"S": row.pk}, "sk": {"S": row.sk}},
                UpdateExpression="SET sent = :outcome",
                ConditionExpression="attribute_exists(pk)",
                ExpressionAttributeValues={":outcome": {"S": outcome}},
            )
