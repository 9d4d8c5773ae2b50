"""The life of a message, collected from the functions' logs, the tables and the bucket."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from postroom.cli.message_events.event import EventFilter, MessageEvent
from postroom.cli.message_events.event_log import EventLog, event_log_of, wanted_events
from postroom.cli.message_events.life import MessageLife, MessageTrace, SentLife, not_queued
from postroom.storage.layout import row_key
from postroom.storage.mail.ids import claim_of, id_of, row_of
from postroom.storage.mail.reader import Filed

if TYPE_CHECKING:
    from postroom.cli.open_deployment import OpenDeployment
    from postroom.storage.mail.register import Row

_NOTIFIED_WITHIN_MS: Final = 10 * 60_000
"""Notifications that are shown with a message: an owner is told of many at once, and not of each."""
_BEFORE_MS: Final = 60_000
_QUEUED: Final = "queued"


class MessageTracer:
    """Traces messages of one deployment. `since_ms`: how far back logs are read for a Correlation."""

    def __init__(self, opened: "OpenDeployment", since_ms: int) -> None:
        self._storage = opened.storage
        self._log = event_log_of(opened.outputs, opened.clients("logs"))
        courier = f"/aws/lambda/{opened.output('CourierFunction')}"
        self._courier_log = EventLog(self._log.logs, [courier])
        self._since_ms = since_ms
        self._unread: list[str] = []
        self._logs_read = True

    def trace(self, query: str, mailbox: str = "") -> MessageTrace:
        """All that is known. `query`: a Correlation, a dm3 message hash, or the id of a message.

        `mailbox`: of the message with this id, if the logs no longer say. Raises NotNowError(STORE_UNAVAILABLE).
        """
        claim = claim_of(query)
        events = self._events(query, claim)
        if claim:
            lives = [self._life(claim, events, query, mailbox)]
        else:
            # A line may name claims of other messages, too, which the worker filed with these.
            claims = dict.fromkeys(
                event.claim for event in events if event.claim and event.correlation == query.lower()
            )
            lives = [self._life(each, events, None, "") for each in claims]
            lives += not_queued(events, lives)
        known = [life for life in lives if life.events or life.row]
        return MessageTrace(query, known, list(self._sent(query.lower(), events)), self._unread)

    def _events(self, query: str, claim: str) -> list[MessageEvent]:
        from botocore.exceptions import ClientError

        from postroom.net.aws_errors import error_code

        try:
            if claim:
                lines = self._log.lines_of_claim(claim, int(query[:13]) - _BEFORE_MS)
            else:
                lines = self._log.lines_about(query, self._since_ms)
        except ClientError as error:
            self._logs_read = False
            self._unread.append(f"the logs: {error_code(error)}")
            return []
        return list(wanted_events(lines, EventFilter()))

    def _life(self, claim: str, events: Sequence[MessageEvent], message_id: str | None, mailbox: str) -> MessageLife:
        own = [event for event in events if event.claim == claim]
        about = own[-1] if own else None
        row = self._row(claim, own, message_id, mailbox or (about.mailbox if about else ""))
        related = [
            event
            for event in events
            if event.claim == claim or (about and not event.claim and not event.to and _same_message(event, about))
        ]
        if row is not None and self._logs_read and not any(event.event == _QUEUED for event in own):
            # Log lines go after LogRetentionDays, and rows and messages may stay for longer.
            self._unread.append(f"log lines of {id_of(row.key)}: those from when it came are gone, or were not written")
        return MessageLife(
            claim,
            related,
            id_of(row.key) if row else "",
            row,
            self._receipt(row),
            self._storage.feedback_log.find(row.key) if row and row.discarded else None,
            self._notifications(own),
        )

    def _row(self, claim: str, own: Sequence[MessageEvent], message_id: str | None, mailbox: str) -> "Row | None":
        if message_id and mailbox:
            key = row_of(message_id, mailbox)
            return self._storage.register.find(key) if key else None
        received = next((event.received_at_ms for event in own if event.received_at_ms is not None), None)
        if received is None or not mailbox:
            return None
        # The number of shards may have grown since the row was named.
        most = self._storage.directory.shards(mailbox)
        keys = {row_key(mailbox, shards, received, claim) for shards in range(1, most + 1)}
        return next((row for key in sorted(keys) if (row := self._storage.register.find(key))), None)

    def _receipt(self, row: "Row | None") -> "dict[str, object] | None":
        if row is None or not row.live:
            return None
        found = self._storage.reader.fetch(row)
        if isinstance(found, Filed):
            return dict(found.line.receipt)
        self._unread.append(f"the line of {id_of(row.key)}")
        return None

    def _notifications(self, own: Sequence[MessageEvent]) -> list[MessageEvent]:
        accepted = next((event for event in own if event.event == "accepted"), None)
        if accepted is None or not accepted.mailbox:
            return []
        lines = self._courier_log.lines(accepted.at_ms, accepted.mailbox, accepted.at_ms + _NOTIFIED_WITHIN_MS)
        return [event for event in wanted_events(lines, EventFilter(mailbox=accepted.mailbox)) if not event.correlation]

    def _sent(self, correlation: str, events: Sequence[MessageEvent]) -> Iterator[SentLife]:
        outbox = self._storage.outbox
        for mailbox in outbox.mailboxes_of(correlation):
            message = outbox.find(mailbox, correlation)
            if message is not None:
                yield SentLife(message, [event for event in events if event.to and event.mailbox == mailbox])


def _same_message(event: MessageEvent, about: MessageEvent) -> bool:
    """Whether an event without a claim, such as of Feedback, is about the message of a claim."""
    return bool(event.correlation) and (event.correlation, event.sender) == (about.correlation, about.sender)
