"""What became of a message that was sent: the verdict of its receiver's post office, or Feedback at our own."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from postroom.cli.exits import Exit, UsageFault
from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue
from postroom.core.settings import DeploymentSettings

if TYPE_CHECKING:
    from postroom.cli.message_events.event import MessageEvent
    from postroom.cli.message_events.event_log import EventLog
    from postroom.cli.open_deployment import OpenDeployment
    from postroom.runtime.storage_parts import StorageParts
    from postroom.storage.mail.reader import Filed

LOOK_SECONDS: Final = 1.0
CLOCK_MS: Final = 60_000
"""How much later our clock may be than that of the post office."""
_GOOD: Final = frozenset({"accepted", "duplicate", "forwarded"})
_DISCARDED: Final = "discarded"
_ON_THE_WAY: Final = frozenset({"retried", "stuck"})


@dataclass(frozen=True, slots=True)
class SentMessageIdentity:
    """The identity of a message, from its Header.

    Names are normalised. The Correlation is as it was written, because the logs have it so.
    """

    sender: str
    receiver: str
    correlation: str


def identity_of(envelope: bytes) -> SentMessageIdentity:
    """The identity of the message in an envelope. Raises TheirError."""
    from postroom.core.ijson import parse
    from postroom.protocols.nlweb.envelope import read_frame, text_of
    from postroom.protocols.nlweb.names import read_correlation, read_receiver, read_sender

    _, header = read_frame(parse(envelope, max_bytes=DeploymentSettings().nlweb_max_body_bytes))
    correlation = text_of(header, "Correlation", "Header.")
    read_correlation(correlation)
    return SentMessageIdentity(
        read_sender(text_of(header, "From", "Header.")),
        read_receiver(text_of(header, "To", "Header.")),
        correlation,
    )


@dataclass(frozen=True, slots=True)
class MessageVerdict:
    """A verdict. `outcome`: accepted, duplicate, forwarded or discarded; empty: there is none yet, because of `reason`.

    `at_ms`: epoch milliseconds.
    """

    outcome: str
    reason: str = ""
    detail: str = ""
    at_ms: int = 0

    @property
    def exit(self) -> Exit:
        """The exit code."""
        if self.outcome in _GOOD:
            return Exit.GOOD
        return Exit.REFUSED if self.outcome == _DISCARDED else Exit.UNAVAILABLE

    def as_json(self) -> JsonValue:
        """The verdict as programs read it."""
        from postroom.core.timestamps import write_timestamp

        return {
            "outcome": self.outcome or None, "reason": self.reason or None, "detail": self.detail or None,
            "at": write_timestamp(self.at_ms) if self.at_ms else None,
        }  # fmt: skip

    def as_line(self) -> str:
        """The verdict for people."""
        why = ": ".join(part for part in (self.reason, self.detail) if part)
        return ": ".join(part for part in (self.outcome or "no verdict yet", why) if part)


NO_FEEDBACK: Final = MessageVerdict("", detail="there is no Feedback, which only a discarded message gets")
"""As far as the sender can know, the message may have been accepted."""


class Watch(Protocol):
    """A place in which the verdict on a message appears."""

    def look(self) -> MessageVerdict:
        """The verdict so far. Raises NotNowError."""
        ...


@dataclass(frozen=True)
class ReceiverLog:
    """The log of the receiver's post office. `since_ms`: when the message was sent, or somewhat earlier."""

    log: "EventLog"
    message: SentMessageIdentity
    since_ms: int

    def look(self) -> MessageVerdict:
        """The verdict so far. Raises NotNowError(STORE_UNAVAILABLE)."""
        from postroom.cli.message_events.event import EventFilter
        from postroom.cli.message_events.event_log import wanted_events

        lines = self.log.lines_about(self.message.correlation, self.since_ms)
        return verdict_in(list(wanted_events(lines, EventFilter())), self.message)


def verdict_in(events: "Sequence[MessageEvent]", message: SentMessageIdentity) -> MessageVerdict:
    """The verdict on the copy of a message that was queued last. `events`: by time."""
    queued = [
        event
        for event in events
        if event.event == "queued"
        and (event.correlation, event.sender) == (message.correlation.lower(), message.sender)
    ]
    latest = MessageVerdict("")
    for event in events:
        if queued and event.claim == queued[-1].claim:
            if event.event in _GOOD or event.event == _DISCARDED:
                return MessageVerdict(event.event, event.reason, event.detail, event.at_ms)
            if event.event in _ON_THE_WAY:
                latest = MessageVerdict("", event.reason or event.event, event.detail, event.at_ms)
    return latest


@dataclass(frozen=True)
class OwnBuffer:
    """Our own buffer, to which the receiver reports if it discards the message."""

    storage: "StorageParts"
    message: SentMessageIdentity

    def look(self) -> MessageVerdict:
        """The Feedback from the message's receiver, otherwise NO_FEEDBACK."""
        from postroom.protocols.nlweb.feedback import conversation_about

        storage, name = self.storage, self.message.sender
        rows = list(
            storage.reader.list(
                name, storage.directory.shards(name), now=int(time.time()), cursor="",
                conversations=frozenset({conversation_about(self.message.correlation.lower())}), wanted=10,
            )
        )  # fmt: skip
        found = [_feedback_in(filed, self.message) for filed in storage.reader.fetch_all(rows)]
        return next((verdict for verdict in found if verdict), NO_FEEDBACK)


def _feedback_in(filed: "Filed", message: SentMessageIdentity) -> MessageVerdict | None:
    from postroom.core.ijson import parse
    from postroom.protocols.nlweb.envelope import read_envelope
    from postroom.protocols.nlweb.feedback import read_feedback

    data = filed.line.envelope.encode()
    envelope = read_envelope(parse(data, max_bytes=len(data)))
    if envelope.sender != message.receiver:
        return None
    about = read_feedback(envelope.body)
    return MessageVerdict(_DISCARDED, about.code, about.reason, filed.row.key.received_at_ms)


def find_watch(places: "Sequence[OpenDeployment]", message: SentMessageIdentity) -> Watch:
    """Where to wait for the verdict: at the receiver's post office, or at our own buffer.

    `places`: the deployments that may be read. Raises UsageFault if none of them will know.
    """
    from postroom.cli.message_events.event_log import event_log_of

    since_ms = int(time.time() * 1000) - CLOCK_MS
    for opened in places:
        domain = opened.storage.directory.domain(message.receiver)
        if domain is not None and domain.inbox:
            return ReceiverLog(event_log_of(opened.outputs, opened.clients("logs")), message, since_ms)
    for opened in places:
        domain = opened.storage.directory.domain(message.sender)
        if domain is not None and domain.buffer:
            return OwnBuffer(opened.storage, message)
    raise UsageFault(
        f"--wait needs the post office of {message.receiver}, or the buffer of {message.sender}: name it by "
        "--stack-name or --local"
    )


def wait_for_verdict(
    watch: Watch,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> MessageVerdict:
    """The verdict, when there is one or after so many seconds. While it cannot be read, it is waited for, too."""
    until = clock() + seconds
    while not (verdict := _look(watch)).outcome and clock() < until:
        sleep(LOOK_SECONDS)
    return verdict


def _look(watch: Watch) -> MessageVerdict:
    try:
        return watch.look()
    except NotNowError as error:
        return MessageVerdict("", str(error.reason), error.detail)
