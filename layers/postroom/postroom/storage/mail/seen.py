"""Deduplication: table `seen` maps the identity of a message to its row in `post`; the first write decides (step 2)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError
from postroom.protocols.nlweb.reasons import STILL_WORKING
from postroom.storage.aws.attributes import ABSENT, TTL, Item, Map, Number, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import read_key

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HASH, HOME = Text("hash"), Map("home")
LEASE, REPLY, REPLY_AT = Number("lease"), Text("reply"), Text("reply_at")
"""Attributes of synchronous requests: until when one is executed (epoch seconds); its reply, or the object with it."""
UNANSWERED: Final = f"attribute_not_exists({REPLY}) AND attribute_not_exists({REPLY_AT})"
_FREE: Final = (
    f"{ABSENT} OR {TTL} < :now OR ({HASH} = :hash AND {LEASE} < :now AND attribute_not_exists({HOME}) AND {UNANSWERED})"
)
"""No row, an expired one, or that of a synchronous request that died without a reply."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a message: its hash, and its home (None: a request that was answered)."""

    hash: str | None
    home: RowKey | None


class Seen:
    """Table `seen`. Its TTL only deletes: whether a row has expired is always our own comparison."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def claim_home(self, key: str, digest: str | None, home: RowKey, *, now: int, forget_at: int) -> Known:
        """Name `home` as the message's home, unless it has one, and return what the row then says.

        `digest`: the message's Hash, if the key alone does not identify the message; otherwise None. `now`,
        `forget_at`: epoch seconds. Raises NotNowError: STILL_WORKING while the same message is being answered as a
        synchronous request, STORE_UNAVAILABLE.
        """
        known_by = () if digest is None else (HASH.of(digest),)
        standing = self._table.put(
            primary_key(key) | item(*known_by, HOME.of(primary_key(home.pk, home.sk)), TTL.of(forget_at)),
            _FREE,
            {":now": TTL.encode(now), ":hash": HASH.encode(digest or "")},
        )
        if standing is None:
            return Known(digest, home)
        known = _known(standing)
        if known.hash == digest and _is_at_work(standing):
            raise NotNowError(STILL_WORKING)
        return known

    def find(self, key: str, *, now: int) -> Known | None:
        """What is remembered, read consistently; None: nothing. Raises NotNowError(STORE_UNAVAILABLE)."""
        row = self._table.get(primary_key(key))
        if row is None or TTL.read(row) < now or _is_at_work(row):
            return None
        return _known(row)


def read_home(row: Item) -> RowKey | None:
    """The home in a row of table `seen`; None: the row is that of a synchronous request."""
    home = HOME.find(row)
    return None if home is None else read_key(home)


def is_answered(row: Item) -> bool:
    """Whether a row of table `seen` remembers the reply to a synchronous request."""
    return REPLY.is_in(row) or REPLY_AT.is_in(row)


def _is_at_work(row: Item) -> bool:
    return not HOME.is_in(row) and not is_answered(row)


def _known(row: Item) -> Known:
    return Known(HASH.find(row), read_home(row))
