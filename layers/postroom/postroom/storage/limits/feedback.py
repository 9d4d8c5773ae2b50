"""Hourly limits of Feedback for each domain and buffer, and the number of messages withheld."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws_errors import ConditionFailedError
from postroom.storage.aws.attributes import TTL, Flag, Item, Map, Number, Text, Value, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HOUR_SECONDS: Final = 3600
_KEPT_SECONDS: Final = 3 * 24 * HOUR_SECONDS
_TAKEN, _REQUESTED, _SUMMARY, _SENT = Number("n"), Flag("asked"), Map("told"), Text("sent")
_RECEIVER, _TO, _CORRELATION, _TIMESTAMP, _CODES = Text("r"), Text("b"), Text("c"), Number("t"), Map("codes")
"""Attributes of a summary."""
_WITHHELD: Final = "w#"
"""Prefix of the attribute that counts a machine code."""
_BUFFER: Final = "buffer:"
"""Prefix of a buffer's name, in the place of a sender's: no host name contains a colon."""


@dataclass(frozen=True, slots=True)
class SummaryIdentity:
    """The identity of a summary, the same at every attempt. `receiver`: our domain, in whose name it is sent."""

    receiver: str
    buffer: str
    correlation: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The Feedback withheld from one domain in one hour: machine code → count. `sent`: the summary is finished."""

    codes: Mapping[str, int]
    identity: SummaryIdentity
    sent: bool


class FeedbackLimits:
    """Table `limits`. An hour is numbered from the epoch: `now // 3600`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def take(self, sender: str, hour: int, limit: int) -> bool:
        """Count one Feedback about messages of `sender`; False: the hour's limit is reached, nothing was counted."""
        if limit < 1:
            return False
        return self._table.update(
            _key(sender, hour),
            f"ADD {_TAKEN} :one SET {TTL} = :ttl",
            {":one": _TAKEN.encode(1), ":limit": _TAKEN.encode(limit), ":ttl": _ttl(hour)},
            f"attribute_not_exists({_TAKEN}) OR {_TAKEN} < :limit",
        )

    def take_of_buffer(self, buffer: str, hour: int, limit: int) -> bool:
        """Count one Feedback to `buffer`, about any sender; False: the hour's limit is reached."""
        return self.take(_BUFFER + buffer, hour, limit)

    def withhold(self, sender: str, hour: int, code: str) -> bool:
        """Count one withheld Feedback; True: no summary of this hour has been requested yet."""
        row = self._table.change(
            _key(sender, hour),
            f"ADD #w :one SET {TTL} = :ttl",
            {":one": Number(code).encode(1), ":ttl": _ttl(hour)},
            returned="ALL_NEW",
            names={"#w": _WITHHELD + code},
        )
        return not _REQUESTED.is_in(row)

    def note_requested(self, sender: str, hour: int) -> None:
        """Record that a summary of the hour was requested."""
        self._table.update(_key(sender, hour), f"SET {_REQUESTED} = :yes", {":yes": _REQUESTED.encode(True)})

    def summary(self, sender: str, hour: int, identity: SummaryIdentity) -> Summary:
        """The summary of a past hour. The first call fixes its content and identity; later ones repeat them."""
        row = self._find(sender, hour)
        if not _SUMMARY.is_in(row):
            fresh = item(
                _RECEIVER.of(identity.receiver),
                _TO.of(identity.buffer),
                _CORRELATION.of(identity.correlation),
                _TIMESTAMP.of(identity.timestamp_ms),
                _CODES.of({name.removeprefix(_WITHHELD): row[name] for name in row if name.startswith(_WITHHELD)}),
            )
            change, unless = f"SET {_SUMMARY} = :summary", f"attribute_not_exists({_SUMMARY})"
            values = {":summary": _SUMMARY.encode(fresh)}
            try:
                row = self._table.change(_key(sender, hour), change, values, unless, returned="ALL_NEW")
            except ConditionFailedError as refused:
                row = refused.item
        stored = _SUMMARY.read(row)
        codes = _CODES.read(stored)
        fixed = SummaryIdentity(
            _RECEIVER.read(stored), _TO.read(stored), _CORRELATION.read(stored), _TIMESTAMP.read(stored)
        )
        return Summary({code: Number(code).read(codes) for code in codes}, fixed, _SENT.is_in(row))

    def sent(self, sender: str, hour: int, outcome: str) -> None:
        """Record that the summary of the hour is finished."""
        self._table.update(_key(sender, hour), f"SET {_SENT} = :outcome", {":outcome": _SENT.encode(outcome)})

    def _find(self, sender: str, hour: int) -> Item:
        return self._table.get(_key(sender, hour)) or {}


def _key(sender: str, hour: int) -> Item:
    return primary_key(f"feedback#{sender}#{hour}")


def _ttl(hour: int) -> Value:
    return TTL.encode(hour * HOUR_SECONDS + _KEPT_SECONDS)
