"""The state of a segment's line, by its row alone (store protocol, Compact 2 and 5). Pure.

A line is *past* once its row has left the state that the line's writer saw, and is not at the line either. It never
returns there: an object all of whose lines are past is needed by nobody, however late.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.storage.keys import RowKey
from postroom.storage.mail.register import ACKED, DISCARDED, EXPIRED, FORWARDED, Row
from postroom.storage.mail.segments import Place


class Stand(StrEnum):
    """How a line stands to its row."""

    HERE = "here"
    """The row points to this very line."""

    ACKED = "acked"
    EXPIRED = "expired"
    DISCARDED = "discarded"
    FORWARDED = "forwarded"
    MOVED = "moved"
    """The row is live elsewhere, and not where this line was copied from."""
    FORGOTTEN = "forgotten"
    """There is no row, and nobody can file its claim any more."""

    AT_SOURCE = "at source"
    """The row is where this line was copied from: whoever copied it may still swing it here."""
    TO_COME = "to come"
    """There is no row yet: whoever wrote the line may still file it."""
    ASTRAY = "astray"
    """The row is live in this object, at another place: against the protocol, and for somebody to look into."""
    UNKNOWN = "unknown"
    """The row is of no form that this release knows."""
    HELD = "held"
    """It would be past, and its mailbox is under legal hold."""


PAST: Final = frozenset(
    {Stand.ACKED, Stand.EXPIRED, Stand.DISCARDED, Stand.FORWARDED, Stand.MOVED, Stand.FORGOTTEN}
)  # fmt: skip
"""Of these an object needs no line; a line that is `HERE` becomes past when its row was asked to move."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One line of an object: where it lies, which row it names, and the object that it was copied from, if it was."""

    row: RowKey
    place: Place
    src: str | None


def stand_of(copy: Copy, row: Row | None, *, now: int, retain_seconds: int) -> Stand:
    """How a line stands to its row, as it was read consistently after the line. `now`: epoch seconds."""
    if row is None:
        forgotten = copy.row.received_at_ms // 1000 + retain_seconds < now
        return Stand.FORGOTTEN if forgotten else Stand.TO_COME
    if row.place is None:
        return _of_tombstone(row.why)
    if row.place == copy.place:
        return Stand.HERE
    if row.place.object == copy.place.object:
        return Stand.ASTRAY
    return Stand.AT_SOURCE if row.place.object == copy.src else Stand.MOVED


def _of_tombstone(why: str) -> Stand:
    if why.startswith(DISCARDED):
        return Stand.DISCARDED
    return {ACKED: Stand.ACKED, FORWARDED: Stand.FORWARDED}.get(why, Stand.EXPIRED if why in EXPIRED else Stand.UNKNOWN)
