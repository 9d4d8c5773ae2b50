"""Texts of names that were looked up for all instances: rows `text#<digest>` and `look-up#<digest>` of table `limits`.

The digest is that of a name and a key. The names themselves are in no row: most are those of senders.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import ABSENT, TTL, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LOOK_UP_AGAIN_SECONDS: Final = 60
"""A name is looked up for all instances once in this time."""
_VALUE, _EVIDENCE = Text("uri"), Text("evidence")


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text of a name. `value` None: the name has none; `until`: epoch seconds; `evidence`: JSON."""

    value: str | None
    until: int
    evidence: str


class NameTexts:
    """The rows of table `limits`. All methods raise NotNowError(STORE_UNAVAILABLE). `now`: epoch seconds."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def find(self, name: str, key: str, now: float) -> KeptText | None:
        """The text that is kept; None: nothing is kept."""
        row = self._table.get(primary_key(f"text#{_digest(name, key)}"))
        if row is None or TTL.read(row) <= now:
            return None
        return KeptText(_VALUE.find(row), TTL.read(row), _EVIDENCE.read(row))

    def keep(self, name: str, key: str, text: KeptText) -> None:
        """Keep a text, in place of an older one."""
        row = primary_key(f"text#{_digest(name, key)}") | item(TTL.of(text.until), _EVIDENCE.of(text.evidence))
        self._table.put(row if text.value is None else row | item(_VALUE.of(text.value)))

    def begin_look_up(self, name: str, key: str, now: float) -> bool:
        """Whether a name is to be looked up for all instances; False: that began less than a minute ago."""
        row = primary_key(f"look-up#{_digest(name, key)}") | item(TTL.of(int(now) + LOOK_UP_AGAIN_SECONDS))
        return self._table.put(row, f"{ABSENT} OR {TTL} <= :now", {":now": TTL.encode(int(now))}) is None


def _digest(name: str, key: str) -> str:
    return sha256(f"{name}\n{key}".encode()).hexdigest()
