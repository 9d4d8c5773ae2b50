"""Operations on the outbox: messages are checked as a receiver would, stored, and queued for the courier.

A client that got 200 need do nothing more. A client that got no answer must ask again with the same token: only that
sends a message that was stored and not queued.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import UNSET, Raw, structs

from postroom.api.reasons import NOT_A_SENDER, NOT_SENT
from postroom.api.schemas import Feedback, NewMessage, Queued, SentMessage, SentMessages
from postroom.api.states import State
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.reasons import TOO_LARGE
from postroom.core.timestamps import write_timestamp
from postroom.http.cursors import read_cursor, write_cursor
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.ports import Clock, NewId, SendQueue
from postroom.pipeline.ports import DeploymentRules
from postroom.protocols.nlweb.envelope import hash_of, signed_text_of
from postroom.protocols.nlweb.names import read_correlation, read_receiver, read_uuid
from postroom.protocols.nlweb.schema import BY_NAME
from postroom.protocols.nlweb.sign import Draft, check_draft, content_of, header_of
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.layout import ROW_PREFIX
from postroom.storage.mail.outbox import Outbox, OutboxMessage, OutgoingIdentity, digest_of_token


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutboxService:
    """Accepts messages, and shows their state. `max_bytes`: the largest message, as our own inbox accepts it.

    `keep_seconds`: how long tokens are remembered, and messages shown. `new_uuid` makes Correlations.
    """

    directory: DeploymentRules
    outbox: Outbox
    courier: SendQueue
    max_bytes: int
    keep_seconds: int
    clock: Clock
    new_id: NewId
    new_uuid: Callable[[], str]

    def send(self, mailbox: str, wanted: NewMessage) -> Queued:
        """Accept a message.

        Raises NotNowError, or TheirError: NOT_A_SENDER, TOKEN_REUSED, CORRELATION_REUSED, or what a receiver's inbox
        would answer (TOO_LARGE, NOT_JSON, NOT_I_JSON, WRONG_SHAPE).
        """
        domain = self.directory.domain(mailbox)
        if domain is None or not (domain.inbox and domain.signs):
            raise TheirError(NOT_A_SENDER)
        now = int(self.clock())
        outgoing = self._outgoing(mailbox, wanted)
        message = self._written(outgoing.draft, wanted, now=now, forget_at=now + self.keep_seconds)
        if message.state is State.QUEUED and not message.carrier:
            draft = replace(
                outgoing.draft, correlation=wanted.correlation or message.correlation, timestamp_ms=message.at_ms
            )
            self.courier.send(replace(outgoing, draft=draft).encode(), group=outgoing.group)
            self.outbox.note_carrier(message, outgoing.carrier)
        return Queued(message.correlation, message.state)

    def page(self, mailbox: str, after: str, limit: int) -> SentMessages:
        """Messages, newest first. Raises TheirError(CURSOR_INVALID), NotNowError(STORE_UNAVAILABLE)."""
        whose = f"out#{mailbox}"
        found, more = self.outbox.newest(mailbox, read_cursor(whose, after).removeprefix(ROW_PREFIX), limit)
        cursor = write_cursor(whose, found[-1].place) if found else after
        return SentMessages([_sent_message(message) for message in found], cursor, more)

    def one(self, mailbox: str, correlation: str) -> SentMessage:
        """One message, by its Correlation. Raises TheirError(NOT_SENT), NotNowError(STORE_UNAVAILABLE)."""
        known = read_uuid(correlation)
        message = self.outbox.find(mailbox, known) if known else None
        if message is None:
            raise TheirError(NOT_SENT)
        return _sent_message(message)

    def _outgoing(self, mailbox: str, wanted: NewMessage) -> Outgoing:
        """The message to send, which passes all checks of a receiver's inbox and of the courier's queue."""
        body = bytes(wanted.body)
        draft = Draft(
            sender=mailbox,
            receiver=read_receiver(wanted.to, "to"),
            subject=wanted.subject,
            correlation=wanted.correlation or self.new_uuid(),
            timestamp_ms=int(self.clock() * 1000),
            body=parse(body, max_bytes=self.max_bytes) if body else None,
            has_body=bool(body),
            dialect=BY_NAME[wanted.dialect],
        )
        check_draft(draft, self.max_bytes)
        outgoing = Outgoing(draft, self.new_id())
        length = len(outgoing.encode())
        if length > MAX_BODY_BYTES:
            raise TheirError(
                TOO_LARGE,
                f"with what is not ASCII escaped it has {length} bytes; at most {MAX_BODY_BYTES} can be queued",
            )
        return outgoing

    def _written(self, draft: Draft, wanted: NewMessage, *, now: int, forget_at: int) -> OutboxMessage:
        """The message of this token in the outbox: this one, or the one that was stored before."""
        token = digest_of_token(wanted.token)
        identity = self.outbox.identify(
            draft.sender, token, _digest(draft, wanted),
            OutgoingIdentity(read_correlation(draft.correlation), draft.timestamp_ms),
            now=now, forget_at=forget_at,
        )  # fmt: skip
        message = OutboxMessage(
            draft.sender, identity.correlation, identity.at_ms, draft.receiver, draft.subject, token
        )
        return self.outbox.put(message, now=now, forget_at=forget_at)


def _digest(draft: Draft, wanted: NewMessage) -> str:
    """A digest of what the client asked for, without what was added here."""
    without_ours = replace(draft, correlation=wanted.correlation, timestamp_ms=0)
    return hash_of(signed_text_of(content_of(without_ours), header_of(without_ours)))


def _sent_message(message: OutboxMessage) -> SentMessage:
    end, reported = message.end, message.reported
    response = SentMessage(
        message.correlation, message.state, message.receiver, message.subject, write_timestamp(message.at_ms)
    )
    if end:
        response = structs.replace(
            response, ended_at=write_timestamp(end.at_ms), reason=end.reason, detail=end.detail,
            reply=Raw(end.reply.encode()) if end.reply else UNSET,
        )  # fmt: skip
    if reported:
        feedback = Feedback(reported.code, reported.reason, write_timestamp(reported.at_ms))
        response = structs.replace(response, feedback=feedback)
    return response
