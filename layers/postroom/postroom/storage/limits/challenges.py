"""Challenges that were answered: each counts once. Rows `challenge#<id>` of table `limits`."""

from typing import TYPE_CHECKING

from postroom.net.aws import RefusedError, conditional

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class AnsweredChallenges:
    """What was answered; that it was asked is written nowhere, so that strangers cannot make us write."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def answer(self, challenge_id: str, forget_at: int) -> bool:
        """Take a challenge for answered; False: it was before. `forget_at`: epoch seconds, when it counts no more.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item={"pk": {"S": f"challenge#{challenge_id}"}, "ttl": {"N": str(forget_at)}},
                    ConditionExpression="attribute_not_exists(pk)",
                )
        except RefusedError:
            return False
        return True
