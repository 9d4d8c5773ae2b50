"""Lamport clocks of chats (6/PAYLOADS: Clock vs Timestamp and message ordering)."""

from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.status.reasons import CLOCK_AHEAD, CLOCK_INVALID

MOST_AHEAD_MS: Final = 120_000
"""How far a clock may be ahead of the time at which its message came, in milliseconds."""
LATE_MS: Final = 120_000
"""How far a clock may be behind that time before its message is marked as late."""
LATE: Final = "late"
"""The mark of such a message: it may have been inserted in the history."""
CLOCK_LIMIT: Final = 1 << 63
"""Clocks are below it: the next one is a number of 64 bits, too, in whatever keeps it."""


def next_clock(now_ms: int, last: int) -> int:
    """The clock of a new message. `last`: the largest clock of the chat; 0: it has no messages."""
    return max(now_ms, last + 1)


def check_clock(clock: int) -> None:
    """Check that a clock can be one. Raises TheirError(CLOCK_INVALID)."""
    if not 0 < clock < CLOCK_LIMIT:
        raise TheirError(CLOCK_INVALID, "the clock is 0" if clock == 0 else "the clock is 2^63 or more")


def is_ahead(clock: int, at_ms: int) -> bool:
    """Whether a clock is too far ahead of the time at which its message came."""
    return clock - at_ms > MOST_AHEAD_MS


def check_not_ahead(clock: int, at_ms: int) -> None:
    """Check the same. Raises TheirError(CLOCK_AHEAD)."""
    if is_ahead(clock, at_ms):
        raise TheirError(CLOCK_AHEAD, f"the clock is {clock - at_ms} ms ahead of when the message came")


def is_late(clock: int, at_ms: int) -> bool:
    """Whether a clock is that far behind the time at which its message came."""
    return at_ms - clock > LATE_MS
