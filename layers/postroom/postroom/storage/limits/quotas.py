"""Quotas of mailboxes, and their usage: row `usage#<mailbox>` of table `limits`.

Every process that files, acknowledges or expires messages counts them, once for each batch and mailbox, after it wrote
the rows. If it dies in between, the usage is wrong by that batch. A count of the whole mailbox corrects it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import Item, Number, Value, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.mailboxes import MailboxRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PREFIX: Final = "usage#"
_MESSAGES, _BYTES, _CHANGES = Number("n"), Number("b"), Number("changes")
_COUNT: Final = f"ADD {_MESSAGES} :n, {_BYTES} :b, {_CHANGES} :one"
_COUNTED: Final = f"attribute_exists({_CHANGES})"


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a mailbox may hold: a number of messages, and the bytes of their lines. 0: unlimited."""

    messages: int = 0
    bytes: int = 0

    @property
    def bounded(self) -> bool:
        """Whether there is a limit."""
        return bool(self.messages or self.bytes)

    def of(self, mailbox: MailboxRecord) -> "Quota":
        """The quota of a mailbox, if this is the deployment's: the mailbox's own settings take precedence."""
        return Quota(
            self.messages if mailbox.max_messages is None else mailbox.max_messages,
            self.bytes if mailbox.max_bytes is None else mailbox.max_bytes,
        )

    def admits(self, messages: int, size: int, more: int) -> bool:
        """Whether one more message of `more` bytes fits, if there are so many messages of so many bytes."""
        return (not self.messages or messages < self.messages) and (not self.bytes or size + more <= self.bytes)


@dataclass(frozen=True, slots=True)
class Usage:
    """How much a mailbox holds, as far as it was counted. `changes`: how many times it was counted."""

    messages: int = 0
    bytes: int = 0
    changes: int = 0


class Usages:
    """Reads and counts the usage."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def read(self, mailbox: str) -> Usage:
        """The current usage. Raises NotNowError(STORE_UNAVAILABLE)."""
        row = self._table.get(_key(mailbox))
        return Usage(_MESSAGES.read(row), _BYTES.read(row), _CHANGES.read(row)) if row else Usage()

    def add(self, mailbox: str, messages: int, size: int) -> None:
        """Count filed messages; negative: messages that were removed. Raises NotNowError(STORE_UNAVAILABLE)."""
        self._table.update(_key(mailbox), _COUNT, _counts(messages, size))

    def take_off(self, mailbox: str, messages: int, size: int) -> None:
        """Count removed messages, if anything was ever counted. Raises NotNowError(STORE_UNAVAILABLE)."""
        self._table.update(_key(mailbox), _COUNT, _counts(-messages, -size), _COUNTED)

    def correct(self, mailbox: str, found: Usage, messages: int, size: int) -> bool:
        """Set the usage to a new count; False: it has changed since it was `found`, and is left as it is.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        if (found.messages, found.bytes) == (messages, size):
            return True
        values, unchanged = _counts(messages, size), f"attribute_not_exists({_CHANGES})"
        if found.changes:
            values[":found"] = _CHANGES.encode(found.changes)
            unchanged = f"{_CHANGES} = :found"
        change = f"SET {_MESSAGES} = :n, {_BYTES} = :b ADD {_CHANGES} :one"
        return self._table.update(_key(mailbox), change, values, unchanged)


def _counts(messages: int, size: int) -> dict[str, Value]:
    return {":n": _MESSAGES.encode(messages), ":b": _BYTES.encode(size), ":one": _CHANGES.encode(1)}


def _key(mailbox: str) -> Item:
    return primary_key(PREFIX + mailbox)
