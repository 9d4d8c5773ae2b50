"""The debounce of notifications: at most one notification in an interval. Rows `!turn` of `notify#<mailbox>`.

Clocks only need to agree on the length of the interval. Whether a future notification covers a message is read from the
row alone: while it says `followed`, that notification has not been sent, and it will cover all messages filed until
then.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws_errors import ConditionFailedError
from postroom.storage.aws.attributes import Flag, Item, Number, Text, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.notification_targets import PREFIX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TOOK, _MARK, _FOLLOWED = Number("took"), Text("mark"), Flag("followed")
_ROW: Final = "!turn"


@dataclass(frozen=True, slots=True)
class DebounceInterval:
    """The current interval, which began at `at_ms`. `ours`: we began it just now.

    `followed`: a message for its end is in the queue.
    """

    at_ms: int
    ours: bool
    followed: bool


class Debounce:
    """The rows. All methods raise NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def take(self, mailbox: str, *, now_ms: int, interval_ms: int, mark: str) -> DebounceInterval:
        """Begin an interval, if the previous one is over, and return the one that is then current.

        `mark`: identifies the queue message for which it is begun. An interval from the future is ignored: a clock that
        was ahead must not silence a mailbox.
        """
        try:
            self._table.change(
                _key(mailbox),
                f"SET {_TOOK} = :now, {_MARK} = :mark REMOVE {_FOLLOWED}",
                {
                    ":now": _TOOK.encode(now_ms),
                    ":mark": _MARK.encode(mark),
                    ":over": _TOOK.encode(now_ms - interval_ms),
                    ":future": _TOOK.encode(now_ms + interval_ms),
                },
                f"attribute_not_exists({_TOOK}) OR {_TOOK} <= :over OR {_TOOK} > :future",
            )
        except ConditionFailedError as refused:
            # Our own mark: an earlier attempt succeeded, of this very call or for the same queue message.
            ours = _MARK.read(refused.item) == mark
            return DebounceInterval(_TOOK.read(refused.item), ours, _FOLLOWED.is_in(refused.item))
        return DebounceInterval(now_ms, ours=True, followed=False)

    def followed(self, mailbox: str, interval: DebounceInterval) -> None:
        """Record that a message for the end of this interval is in the queue."""
        self._table.update(
            _key(mailbox),
            f"SET {_FOLLOWED} = :true",
            {":true": _FOLLOWED.encode(True), ":at": _TOOK.encode(interval.at_ms)},
            f"{_TOOK} = :at",
        )


def _key(mailbox: str) -> Item:
    return primary_key(PREFIX + mailbox, _ROW)
