"""Synchronous requests in table `seen`: one execution under a lease, and the reply to repeat."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, TheirError
from postroom.net.aws import RefusedError, conditional
from postroom.reasons import Reason
from postroom.storage.keys import reply_name
from postroom.storage.mail.segments import Objects

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_INLINE_BYTES: Final = 4096
"""A longer reply goes to S3: a DynamoDB write is paid by the kilobyte, and an item holds 400 kB at most."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to execute one request until `until` (epoch seconds); `reply` is set where it was executed before."""

    key: str
    until: int
    reply: str | None = None


class Replies:
    """The `hash`, `lease`, `reply` (or `reply_at`, its S3 key) of table `seen`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, objects: Objects) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._objects = objects

    def begin(self, key: str, digest: str, *, now: int, until: int, forget_at: int) -> Lease:
        """Take the request, or have its remembered reply.

        Raises NotNowError(STILL_WORKING) while its twin is at work, TheirError(CORRELATION_REUSED) for another
        message under the same Correlation, NotNowError(STORE_UNAVAILABLE).
        """
        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item={
                        "pk": {"S": key},
                        "hash": {"S": digest},
                        "lease": {"N": str(until)},
                        "ttl": {"N": str(forget_at)},
                    },
                    # A lease ends by itself when the function that held it died.
                    ConditionExpression="attribute_not_exists(pk) OR #ttl < :now OR (#hash = :hash AND lease < :now "
                    "AND attribute_not_exists(reply) AND attribute_not_exists(reply_at))",
                    ExpressionAttributeNames={"#ttl": "ttl", "#hash": "hash"},
                    ExpressionAttributeValues={":now": {"N": str(now)}, ":hash": {"S": digest}},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            item = refused.item
            if item["hash"]["S"] != digest or "home" in item:
                raise TheirError(Reason.CORRELATION_REUSED) from None
            if "reply" in item:
                return Lease(key, until, item["reply"]["S"])
            if "reply_at" in item:
                return Lease(key, until, self._objects.get(item["reply_at"]["S"]).decode())
            raise NotNowError(Reason.STILL_WORKING) from None
        return Lease(key, until)

    def finish(self, lease: Lease, reply: str, *, at_ms: int, random_id: str) -> None:
        """Remember the reply, if the lease is still ours: whoever took it over remembers theirs."""
        name, value = "reply", reply
        if len(reply.encode()) > MAX_INLINE_BYTES:
            name, value = "reply_at", reply_name(at_ms, random_id)
            self._objects.put(value, reply.encode(), "application/json")
        with suppress(RefusedError), conditional():
            self._dynamodb.update_item(
                TableName=self._table,
                Key={"pk": {"S": lease.key}},
                UpdateExpression="SET #reply = :reply",
                ConditionExpression="lease = :mine",
                ExpressionAttributeNames={"#reply": name},
                ExpressionAttributeValues={":reply": {"S": value}, ":mine": {"N": str(lease.until)}},
            )

    def release(self, lease: Lease) -> None:
        """The request was not executed after all: the next try need not wait for the lease to end."""
        with suppress(RefusedError), conditional():
            self._dynamodb.delete_item(
                TableName=self._table,
                Key={"pk": {"S": lease.key}},
                ConditionExpression="lease = :mine AND attribute_not_exists(reply) AND attribute_not_exists(reply_at)",
                ExpressionAttributeValues={":mine": {"N": str(lease.until)}},
            )
