"""The number of codes sent for a mailbox in a day: rows `codes#<mailbox>#<day>` of table `limits`.

Whoever may name a target can have us post to any host, once for each code.
"""

from typing import TYPE_CHECKING, Final

from postroom.net.aws import RefusedError, conditional

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_DAY_SECONDS: Final = 86_400


class CodeLimits:
    """Table `limits`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def take(self, mailbox: str, now: int, most: int) -> bool:
        """Count one code of this day; False: the day had `most` of them. `now`: epoch seconds.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        day = now // _DAY_SECONDS
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key={"pk": {"S": f"codes#{mailbox}#{day}"}},
                    UpdateExpression="ADD n :one SET #ttl = :ttl",
                    ConditionExpression="attribute_not_exists(n) OR n < :most",
                    ExpressionAttributeNames={"#ttl": "ttl"},
                    ExpressionAttributeValues={
                        ":one": {"N": "1"}, ":most": {"N": str(most)}, ":ttl": {"N": str((day + 2) * _DAY_SECONDS)},
                    },
                )  # fmt: skip
        except RefusedError:
            return False
        return True
