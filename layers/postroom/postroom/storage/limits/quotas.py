"""Quotas of mailboxes, and their usage: row `usage#<mailbox>` of table `limits`.

The usage is counted by whoever files, acknowledges or lets expire, once for each batch and mailbox, after the rows:
who dies in between leaves it wrong by what he did. Whoever counts a whole mailbox puts it right.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.storage.directory.mailboxes import Mailbox

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

PREFIX: Final = "usage#"


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a mailbox may hold: messages, and bytes of their lines. 0: as much as comes."""

    messages: int = 0
    bytes: int = 0

    @property
    def bounded(self) -> bool:
        """Whether it is one at all."""
        return bool(self.messages or self.bytes)

    def of(self, mailbox: Mailbox) -> "Quota":
        """That of a mailbox, where this is the deployment's: what was set for the mailbox itself goes before."""
        return Quota(
            self.messages if mailbox.max_messages is None else mailbox.max_messages,
            self.bytes if mailbox.max_bytes is None else mailbox.max_bytes,
        )

    def has_room(self, messages: int, size: int, more: int) -> bool:
        """Whether one message of `more` bytes fits beside so many messages of so many bytes."""
        return (not self.messages or messages < self.messages) and (not self.bytes or size + more <= self.bytes)


@dataclass(frozen=True, slots=True)
class Usage:
    """How much a mailbox holds, as far as it was counted. `changes`: how often it was."""

    messages: int = 0
    bytes: int = 0
    changes: int = 0


class Usages:
    """Reads and counts."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def read(self, mailbox: str) -> Usage:
        """The usage as it is now. Raises NotNowError(STORE_UNAVAILABLE)."""
        with passing_faults():
            item = self._dynamodb.get_item(TableName=self._table, Key=_key(mailbox), ConsistentRead=True).get("Item")
        return Usage(int(item["n"]["N"]), int(item["b"]["N"]), int(item["changes"]["N"])) if item else Usage()

    def add(self, mailbox: str, messages: int, size: int) -> None:
        """Count what was filed; below zero: what left. Raises NotNowError(STORE_UNAVAILABLE)."""
        with passing_faults():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(mailbox),
                UpdateExpression="ADD n :n, b :b, changes :one",
                ExpressionAttributeValues={":n": {"N": str(messages)}, ":b": {"N": str(size)}, ":one": {"N": "1"}},
            )

    def take_off(self, mailbox: str, messages: int, size: int) -> None:
        """Count what left, where anything was ever counted. Raises NotNowError(STORE_UNAVAILABLE)."""
        with suppress(RefusedError), conditional():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(mailbox),
                UpdateExpression="ADD n :n, b :b, changes :one",
                ConditionExpression="attribute_exists(changes)",
                ExpressionAttributeValues={":n": {"N": str(-messages)}, ":b": {"N": str(-size)}, ":one": {"N": "1"}},
            )

    def correct(self, mailbox: str, found: Usage, messages: int, size: int) -> bool:
        """Set what was counted since the usage was `found`; False: it changed meanwhile, and stays.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        if (found.messages, found.bytes) == (messages, size):
            return True
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key=_key(mailbox),
                    UpdateExpression="SET n = :n, b = :b ADD changes :one",
                    ConditionExpression="changes = :found" if found.changes else "attribute_not_exists(changes)",
                    ExpressionAttributeValues={
                        ":n": {"N": str(messages)}, ":b": {"N": str(size)}, ":one": {"N": "1"},
                        **({":found": {"N": str(found.changes)}} if found.changes else {}),
                    },
                )  # fmt: skip
        except RefusedError:
            return False
        return True


def _key(mailbox: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": PREFIX + mailbox}}
