"""Answered challenges: each is valid once. Rows `challenge#<id>` of table `limits`."""

from typing import TYPE_CHECKING

from postroom.storage.aws.attributes import ABSENT, TTL, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class AnsweredChallenges:
    """Records answered challenges. Issued ones are not recorded, so that strangers cannot make us write."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def answer(self, challenge_id: str, forget_at: int) -> bool:
        """Record that a challenge was answered; False: it was answered before. `forget_at`: its expiry, epoch seconds.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        row = primary_key(f"challenge#{challenge_id}") | item(TTL.of(forget_at))
        return self._table.put(row, ABSENT) is None
