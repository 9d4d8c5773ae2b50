"""The record of Feedback in the row of its claim, written before sending: at most one for a discard (step 6)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import PRESENT, Map, Number, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable, Values
from postroom.storage.layout import RowKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FEEDBACK, SENT = Map("told"), Text("sent")
_BUFFER, _CORRELATION, _TIMESTAMP = Text("b"), Text("c"), Number("t")
"""Attributes of a Feedback."""


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """The identity of a Feedback and the buffer it is sent to, the same at every attempt.

    `sent`: finished: it arrived, was given up, or is part of a summary.
    """

    buffer: str
    correlation: str
    timestamp_ms: int
    sent: bool


NO_FEEDBACK: Final = FeedbackRecord("", "", 0, sent=True)
"""No identity was needed: it is part of a summary, was given up before it had one, or its row was deleted."""


class FeedbackLog:
    """The `record` and `sent` attributes of discarded rows in table `post`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def find(self, row: RowKey) -> FeedbackRecord | None:
        """What was recorded about the Feedback for this row, read consistently; None: nothing yet."""
        found = self._table.get(primary_key(row.pk, row.sk)) or {}
        record, is_sent = FEEDBACK.find(found), SENT.is_in(found)
        if record is not None:
            return FeedbackRecord(_BUFFER.read(record), _CORRELATION.read(record), _TIMESTAMP.read(record), is_sent)
        return NO_FEEDBACK if is_sent else None

    def note(self, row: RowKey, buffer: str, correlation: str, timestamp_ms: int) -> FeedbackRecord:
        """Record the Feedback's identity, unless there is one or none is needed; return what is then recorded."""
        record = item(_BUFFER.of(buffer), _CORRELATION.of(correlation), _TIMESTAMP.of(timestamp_ms))
        fresh = f"{PRESENT} AND attribute_not_exists({FEEDBACK}) AND attribute_not_exists({SENT})"
        if self._update(row, f"SET {FEEDBACK} = :feedback", {":feedback": FEEDBACK.encode(record)}, fresh):
            return FeedbackRecord(buffer, correlation, timestamp_ms, sent=False)
        # If the row was deleted, because it expired, there is nobody to tell.
        return self.find(row) or NO_FEEDBACK

    def sent(self, row: RowKey, outcome: str) -> None:
        """Record that the Feedback is finished. `outcome`: of the courier, such as `delivered` or `summary`."""
        self._update(row, f"SET {SENT} = :outcome", {":outcome": SENT.encode(outcome)}, PRESENT)

    def _update(self, row: RowKey, change: str, values: Values, condition: str) -> bool:
        return self._table.update(primary_key(row.pk, row.sk), change, values, condition)
