"""Challenges that were answered: each counts once. Rows `challenge#<id>` of table `limits`."""

from typing import TYPE_CHECKING

from postroom.storage.aws.attributes import ABSENT, TTL, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class AnsweredChallenges:
    """What was answered; that it was asked is written nowhere, so that strangers cannot make us write."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def answer(self, challenge_id: str, forget_at: int) -> bool:
        """Take a challenge for answered; False: it was before. `forget_at`: epoch seconds, when it counts no more.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        row = primary_key(f"challenge#{challenge_id}") | item(TTL.of(forget_at))
        return self._table.put(row, ABSENT) is None
