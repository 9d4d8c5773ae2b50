"""Delivery of a chat message to an NLWeb domain, through the outbox of the owner's post office.

The message is sent with one token however often it is repeated, so the post office sends it once. When the post office
has accepted it, it is kept as a sent message: the post office then tries for a day to deliver it. What becomes of it
then is in `late_refusals`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Protocol

from postroom.api.schemas import Queued, SentMessage
from postroom.api.states import State
from postroom.client.archive import Archive
from postroom.client.archive.nlweb_messages import keep_sent_nlweb
from postroom.client.chat.channels import write_channel_body
from postroom.client.chat.nlweb_carrier import SUBJECT
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.unsent import remove_unsent, replace_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.mailbox import RefusedError, UnavailableError
from postroom.client.sending import SendOutcome
from postroom.core.ijson import JsonValue
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

_FOR_GOOD: Final = {str(reason) for reason in (TOO_LARGE, WRONG_SHAPE, NOT_JSON, NOT_I_JSON)}
"""What a post office has against the message itself. Everything else may be put right."""


class ChatOutbox(Protocol):
    """The outbox of a domain: `client.mailbox.Mailbox`."""

    def send(self, to: str, subject: str, body: JsonValue, *, token: str) -> Queued:
        """Let the post office sign and send a message, once for a token."""
        ...

    def sent(self) -> Iterator[SentMessage]:
        """The messages that were sent, with their states, newest first."""
        ...

    def sent_one(self, correlation: str) -> SentMessage:
        """A message that was sent, by its Correlation."""
        ...


def deliver_to_domain(archive: Archive, outbox: ChatOutbox, message: UnsentToDomain) -> SentTo:
    """Send a stored message. Raises as `Archive` does; MailboxError: the post office is not what it should be."""
    body = write_channel_body(message.carried, message.channel)
    try:
        queued = outbox.send(message.domain, SUBJECT, body, token=message.origin)
        if queued.state in (State.REFUSED, State.GIVEN_UP):
            found = outbox.sent_one(queued.correlation)
            known = replace(message, correlation=queued.correlation)
            return _refused(archive, known, found.reason or str(queued.state), found.detail)
    except UnavailableError as error:
        return SentTo(message.to, SendOutcome.NOT_NOW, error.reason, error.detail)
    except RefusedError as error:
        if error.reason in _FOR_GOOD:
            return _refused(archive, message, error.reason, error.detail)
        return SentTo(message.to, SendOutcome.NOT_NOW, error.reason, error.detail)
    keep_sent_nlweb(
        archive, message.domain, SUBJECT, body,
        at_ms=message.timestamp_ms, token=message.origin, correlation=queued.correlation,
    )  # fmt: skip
    remove_unsent(archive, [message])
    return SentTo(message.to, SendOutcome.TAKEN)


def _refused(archive: Archive, message: UnsentToDomain, reason: str, detail: str) -> SentTo:
    replace_unsent(archive, message, replace(message, refused=reason, earlier=()))
    return SentTo(message.to, SendOutcome.REFUSED, reason, detail)
