"""The state of a line of a segment or chunk, by its row alone (store protocol, Compact 2 and 5). Pure.

A line is *past* once its row has left the state that the line's writer saw, and does not point to the line. It never
returns to it: when all lines of an object are past, nothing will ever need the object.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import ACKED, DISCARDED, DUPLICATE, EXPIRED, FORWARDED, Row


class LineState(StrEnum):
    """The state of a line, seen from its row."""

    HERE = "here"
    """The row points to this line."""

    ACKED = "acked"
    EXPIRED = "expired"
    DISCARDED = "discarded"
    FORWARDED = "forwarded"
    DUPLICATE = "duplicate"
    MOVED = "moved"
    """The row is live elsewhere, and not where this line was copied from."""
    FORGOTTEN = "forgotten"
    """There is no row, and the claim is too old to be filed."""

    AT_SOURCE = "at source"
    """The row points to where this line was copied from: the copier may still repoint it to this line."""
    TO_COME = "to come"
    """There is no row yet: the writer of the line may still file it."""
    ASTRAY = "astray"
    """The row is live in this object, at another place: this violates the protocol, and an operator should look into
    it."""
    UNKNOWN = "unknown"
    """The row has a form that this release does not know."""
    HELD = "held"
    """The line would be past, but its mailbox is under legal hold."""


PAST: Final = frozenset(
    {
        LineState.ACKED, LineState.EXPIRED, LineState.DISCARDED, LineState.FORWARDED, LineState.DUPLICATE,
        LineState.MOVED, LineState.FORGOTTEN,
    }
)  # fmt: skip
"""An object needs no line in one of these states. A line that is `HERE` becomes past once its row has been moved."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One line of an object: its place, the row that it names, and the object that it was copied from, if any."""

    row: RowKey
    place: Place
    src: str | None


def line_state_of(copy: Copy, row: Row | None, *, now: int, retain_seconds: int) -> LineState:
    """The state of a line, by its row, which was read consistently after the line. `now`: epoch seconds."""
    if row is None:
        forgotten = copy.row.received_at_ms // 1000 + retain_seconds < now
        return LineState.FORGOTTEN if forgotten else LineState.TO_COME
    if row.place is None:
        return _of_tombstone(row.why)
    if row.place == copy.place:
        return LineState.HERE
    if row.place.object == copy.place.object:
        return LineState.ASTRAY
    return LineState.AT_SOURCE if row.place.object == copy.src else LineState.MOVED


def _of_tombstone(why: str) -> LineState:
    if why.startswith(DISCARDED):
        return LineState.DISCARDED
    return {ACKED: LineState.ACKED, FORWARDED: LineState.FORWARDED, DUPLICATE: LineState.DUPLICATE}.get(
        why, LineState.EXPIRED if why in EXPIRED else LineState.UNKNOWN
    )
