"""Histories as JSON Lines: wrappers of any carrier, in any order, shown as one (`postroom chat fold`)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pybase64 import b64decode

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.typed_members import Members
from postroom.protocols.status.enums import type_named
from postroom.protocols.status.keys import ChatKey, key_named
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.verify import verify
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES

MAX_LINE_BYTES: Final = 2 * MAX_WRAPPER_BYTES
MAX_TIME_MS: Final = 1 << 53
"""Times are below it, so that they are exact in any JSON."""
_MAX_TYPE: Final = (1 << 31) - 1
"""The largest number of an enum in protobuf."""
_MEMBERS: Final = frozenset({"wrapper", "at", "type", "carrier"})


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line: a wrapper, when it came (milliseconds since 1970), the type of an untyped one, and its carrier's key."""

    wrapper: bytes
    at_ms: int
    type: int | None = None
    carrier: ChatKey | None = None


@dataclass(frozen=True, slots=True)
class DiscardedLine:
    """A wrapper that no view can show. `number`: its line, from 1 on."""

    number: int
    error: TheirError


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """The log of a history, and what is not in it."""

    log: ChatLog
    discarded: list[DiscardedLine] = field(default_factory=list)


def fold(lines: Iterable[HistoryLine], own: ChatKey) -> FoldedHistory:
    """Add all lines to the log of the user with this key."""
    folded = FoldedHistory(ChatLog(own))
    for number, line in enumerate(lines, 1):
        try:
            verified = verify(line.wrapper, own=own, named=line.type, carrier=line.carrier)
        except TheirError as error:
            folded.discarded.append(DiscardedLine(number, error))
        else:
            folded.log.add(verified, line.at_ms)
    return folded


def read_line(line: bytes) -> HistoryLine:
    """Read a line: `{"wrapper": base64, "at": ms, "type"?, "carrier"?}`. Raises ValueError that says what is wrong.

    The type is a name, or any number from 0 to 2^31 - 1: also one of a later version.
    """
    try:
        value = parse(line, max_bytes=MAX_LINE_BYTES)
    except TheirError as error:
        raise ValueError(error.detail or error.reason.sentence) from None
    members = Members(value, "a line")
    if isinstance(value, dict) and (strange := sorted(value.keys() - _MEMBERS)):
        raise ValueError(f"a line has no member {strange[0]!r}; it has {', '.join(sorted(_MEMBERS))}")
    at_ms = members.whole("at")
    if not 0 <= at_ms < MAX_TIME_MS:
        raise ValueError("at of a line must be milliseconds since 1970, below 2^53")
    return HistoryLine(
        _wrapper(members.text("wrapper")),
        at_ms,
        _type(members.any("type")) if "type" in members else None,
        key_named(members.text("carrier")) if "carrier" in members else None,
    )


def _type(named: object) -> int:
    return named if type(named) is int and 0 <= named <= _MAX_TYPE else type_named(named)


def _wrapper(text: str) -> bytes:
    try:
        return b64decode(text, None, True)
    except ValueError:
        raise ValueError("wrapper of a line must be base64") from None
