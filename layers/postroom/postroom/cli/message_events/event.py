"""One event of a message's life, read from a line of a function's log."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.core.ijson import JsonValue
from postroom.core.timestamps import write_timestamp

REFUSED: Final = "refused"
_LONGEST_FUNCTION: Final = len("dead-letters")
_LONGEST_EVENT: Final = len("acknowledged")


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """An event. `function`: whose log has it. What a line does not say is empty, or None.

    `mailbox`: the owner's whose message it is: the receiver's, or of an outgoing message the sender's. `sender`, `to`:
    names; nobody logs the sender of a dm3 message. `correlation`: of an NLWeb message; of a dm3 message, its hash.
    `tries`: former ones. `received_at_ms`: when the message of a queued claim came.
    """

    at_ms: int
    function: str
    event: str
    claim: str = ""
    mailbox: str = ""
    sender: str = ""
    to: str = ""
    correlation: str = ""
    reason: str = ""
    detail: str = ""
    tries: int | None = None
    received_at_ms: int | None = None

    def as_json(self) -> dict[str, JsonValue]:
        """The event as programs read it; null for what its line does not say."""
        return {
            "at": write_timestamp(self.at_ms), "function": self.function, "event": self.event,
            "claim": self.claim or None, "mailbox": self.mailbox or None, "from": self.sender or None,
            "to": self.to or None, "correlation": self.correlation or None, "reason": self.reason or None,
            "detail": self.detail or None, "tries": self.tries,
        }  # fmt: skip

    def as_line(self) -> str:
        """The event for people."""
        whose = " ".join(
            f"{word} {name}" for word, name in (("from", self.sender), ("to", self.to or self.mailbox)) if name
        )
        tries = f"try {self.tries + 1}" if self.tries else ""
        parts = (
            write_timestamp(self.at_ms),
            self.function.ljust(_LONGEST_FUNCTION),
            self.event.ljust(_LONGEST_EVENT),
            self.correlation or self.claim,
            whose,
            tries,
            ": ".join(part for part in (self.reason, self.detail) if part),
        )
        return "  ".join(part for part in parts if part).rstrip()


def read_events(at_ms: int, text: str) -> Iterator[MessageEvent]:
    """The events in a line of a log: one for each claim that it names, or none if it is about no message."""
    try:
        line = json.loads(text)
    except ValueError:
        return  # Lambda's own lines
    if not isinstance(line, dict) or "level" not in line:
        return  # metrics
    function, event = _text(line, "service"), _text(line, "message")
    common = MessageEvent(
        at_ms,
        function,
        event,
        mailbox=_text(line, "mailbox") or _text(line, "receiver"),
        sender=_text(line, "from") or _text(line, "sender"),
        to=_text(line, "to"),
        correlation=_text(line, "correlation").lower(),
        reason=_text(line, "reason"),
        detail=_text(line, "detail"),
        tries=_whole(line, "tries"),
        received_at_ms=_whole(line, "received_at_ms"),
    )
    if common.to:
        common = replace(common, sender=common.mailbox)
    claims = line["claims"] if isinstance(line.get("claims"), list) else [line.get("claim")]
    for claim in claims:
        if isinstance(claim, str):
            yield replace(common, claim=claim)
        elif common.mailbox or common.correlation or event == REFUSED:
            yield common


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def _whole(line: Mapping[str, Any], name: str) -> int | None:
    value = line.get(name)
    return value if type(value) is int else None


class Claims:
    """What is known of claims: a line of many claims names nothing else of them. Remembers the last `most`."""

    def __init__(self, most: int = 100_000) -> None:
        self._known: OrderedDict[str, MessageEvent] = OrderedDict()
        self._most = most

    def complete(self, event: MessageEvent) -> MessageEvent:
        """The event with what former ones of its claim said of its message."""
        if not event.claim:
            return event
        known = self._known.get(event.claim, event)
        whole = replace(
            event,
            mailbox=event.mailbox or known.mailbox,
            sender=event.sender or known.sender,
            correlation=event.correlation or known.correlation,
        )
        self._known[event.claim] = whole
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return whole


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are wanted; empty: all. Names are normalised."""

    mailbox: str = ""
    sender: str = ""
    correlation: str = ""
    reason: str = ""

    def matches(self, event: MessageEvent) -> bool:
        """Whether an event is wanted."""
        return (
            self.mailbox in ("", event.mailbox)
            and self.sender in ("", event.sender)
            and self.correlation in ("", event.correlation)
            and self.reason in ("", event.reason)
        )
