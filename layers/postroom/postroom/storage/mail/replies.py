"""Synchronous requests in table `seen`: one execution under a lease, and the remembered reply."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED, STILL_WORKING
from postroom.storage.aws.attributes import ABSENT, TTL, item, primary_key
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import reply_name
from postroom.storage.mail.seen import HASH, HOME, LEASE, REPLY, REPLY_AT, UNANSWERED

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_INLINE_BYTES: Final = 4096
"""A longer reply goes to S3: a DynamoDB write is paid by the kilobyte, and an item has at most 400 kB."""
_FREE: Final = f"{ABSENT} OR {TTL} < :now OR ({HASH} = :hash AND {LEASE} < :now AND {UNANSWERED})"
"""A lease expires by itself if the function that held it died."""
_MINE: Final = f"{LEASE} = :mine"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to execute one request until `until` (epoch seconds); `reply` is set if it was executed before."""

    key: str
    until: int
    reply: str | None = None


class Replies:
    """The attributes `hash`, `lease`, `reply` (or `reply_at`, its S3 key) of table `seen`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, objects: ObjectStore) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._objects = objects

    def begin(self, key: str, digest: str, *, now: int, until: int, forget_at: int) -> Lease:
        """Take the lease, or return the remembered reply.

        Raises NotNowError(STILL_WORKING) while the same request is being executed, TheirError(CORRELATION_REUSED) for
        another message with the same Correlation, NotNowError(STORE_UNAVAILABLE).
        """
        standing = self._table.put(
            primary_key(key) | item(HASH.of(digest), LEASE.of(until), TTL.of(forget_at)),
            _FREE,
            {":now": TTL.encode(now), ":hash": HASH.encode(digest)},
        )
        if standing is None:
            return Lease(key, until)
        if HASH.read(standing) != digest or HOME.is_in(standing):
            raise TheirError(CORRELATION_REUSED)
        reply = REPLY.find(standing)
        if reply is None and (name := REPLY_AT.find(standing)) is not None:
            reply = self._objects.get(name).decode()
        if reply is None:
            raise NotNowError(STILL_WORKING)
        return Lease(key, until, reply)

    def finish(self, lease: Lease, reply: str, *, at_ms: int, random_id: str) -> None:
        """Remember the reply, if the lease is still ours; whoever took the lease over remembers its own reply."""
        attribute, value = REPLY, reply
        if len(reply.encode()) > MAX_INLINE_BYTES:
            attribute, value = REPLY_AT, reply_name(at_ms, random_id)
            self._objects.put(value, reply.encode(), "application/json")
        self._table.update(
            primary_key(lease.key),
            f"SET {attribute} = :reply",
            {":reply": attribute.encode(value), ":mine": LEASE.encode(lease.until)},
            _MINE,
        )

    def release(self, lease: Lease) -> None:
        """Give the lease back because the request was not executed: the next attempt need not wait until it expires."""
        self._table.delete(primary_key(lease.key), f"{_MINE} AND {UNANSWERED}", {":mine": LEASE.encode(lease.until)})
