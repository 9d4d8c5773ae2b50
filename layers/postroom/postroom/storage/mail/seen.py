"""Step 2: which message is this, and which row is its home? The first write decides; all others adopt it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from postroom.core.errors import NotNowError
from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.reasons import Reason
from postroom.storage.keys import RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a message: the hash it came with, and its home (None: a request that was answered)."""

    hash: str | None
    home: RowKey | None


class Seen:
    """Table `seen`. Its TTL only sweeps: every "expired?" is our own compare."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def claim_home(self, key: str, digest: str | None, home: RowKey, *, now: int, forget_at: int) -> Known:
        """Name `home` as the message's home, unless it has one; answer what then stands there.

        `digest`: the message's Hash, where the key alone does not say which message it is; else None. `now`,
        `forget_at`: epoch seconds. Raises NotNowError: STILL_WORKING while the same message is being answered as a
        synchronous request, STORE_UNAVAILABLE.
        """
        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item={
                        "pk": {"S": key},
                        **({} if digest is None else {"hash": {"S": digest}}),
                        "home": {"M": {"pk": {"S": home.pk}, "sk": {"S": home.sk}}},
                        "ttl": {"N": str(forget_at)},
                    },
                    # Nobody, somebody long forgotten, or a synchronous request that died without a reply.
                    ConditionExpression="attribute_not_exists(pk) OR #ttl < :now OR (#hash = :hash AND lease < :now "
                    "AND attribute_not_exists(home) AND attribute_not_exists(reply) "
                    "AND attribute_not_exists(reply_at))",
                    ExpressionAttributeNames={"#ttl": "ttl", "#hash": "hash"},
                    ExpressionAttributeValues={":now": {"N": str(now)}, ":hash": {"S": digest or ""}},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            known = _known(refused.item)
            if known.hash == digest and _at_work(refused.item):
                raise NotNowError(Reason.STILL_WORKING) from None
            return known
        return Known(digest, home)

    def find(self, key: str, *, now: int) -> Known | None:
        """What is remembered, read consistently; None: nothing. Raises NotNowError(STORE_UNAVAILABLE)."""
        with passing_faults():
            item = self._dynamodb.get_item(TableName=self._table, Key={"pk": {"S": key}}, ConsistentRead=True).get(
                "Item"
            )
        if item is None or int(item["ttl"]["N"]) < now or _at_work(item):
            return None
        return _known(item)


def _at_work(item: "Mapping[str, AttributeValueTypeDef]") -> bool:
    return not {"home", "reply", "reply_at"} & item.keys()


def _known(item: "Mapping[str, AttributeValueTypeDef]") -> Known:
    home = item.get("home", {}).get("M")
    return Known(item.get("hash", {}).get("S"), RowKey(home["pk"]["S"], home["sk"]["S"]) if home else None)
