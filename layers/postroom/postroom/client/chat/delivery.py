"""Delivery of chat messages: each is stored, sent until it is taken, and then kept as a sent message.

To names it is by dm3, to NLWeb domains through the outbox of the owner's post office.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from postroom.client.archive import Archive
from postroom.client.archive.sent_messages import keep_sent
from postroom.client.chat.domain_delivery import ChatOutbox, deliver_to_domain
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.unsent import Unsent, UnsentMessage, remove_unsent, replace_unsent, store_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.client.mailbox import MailboxError
from postroom.client.sending import SendOutcome
from postroom.core.errors import NotNowError, PostroomError, TheirError
from postroom.protocols.dm3.envelope import Dm3Envelope
from postroom.protocols.dm3.message import Dm3Message, MessageType
from postroom.protocols.dm3.reasons import MESSAGE_TYPE_UNSUPPORTED
from postroom.protocols.dm3.sign import sign_message

_TOGETHER_SECONDS: Final = 1.0


class _Taken(NamedTuple):
    """A message that a delivery service has accepted, as it was stored before and as it was sent."""

    unsent: UnsentMessage
    message: Dm3Message
    envelope: Dm3Envelope


@dataclass(frozen=True, slots=True)
class ChatDelivery:
    """Sends what an archive holds as unsent. A device may die between any two of its steps.

    `outbox`: opens that of the owner's mailbox; None: there is none, and messages to domains stay.
    """

    archive: Archive
    sender: Dm3Sender
    outbox: Callable[[], ChatOutbox] | None = None

    def store(
        self, drafts: Iterable[Dm3Draft], at_ms: int | None = None, to_domains: Iterable[UnsentToDomain] = ()
    ) -> list[Unsent]:
        """Sign, seal and store messages, before any of them leaves. `at_ms`: their time; None: now. Raises as `Archive`
        does.

        One whose receiver cannot be looked up now is stored as it is signed, and sealed when that can be done.
        """
        messages: list[Unsent] = [self._sealed(UnsentMessage(self.sender.sign(draft, at_ms))) for draft in drafts]
        messages += to_domains
        store_unsent(self.archive, messages)
        return messages

    def deliver(self, messages: Iterable[Unsent]) -> Iterator[SentTo]:
        """Send stored messages, those aside that were refused. Raises as `Archive` and `deliver_to_domain` do.

        What is taken within a second is stored as sent together: each time, chunks of the archive are written again. A
        device that dies before that leaves it unsent, and a delivery service that gets it again keeps one copy.
        """
        taken: list[_Taken] = []
        try:
            yield from self._deliver_all(messages, taken)
        except (PostroomError, GeneratorExit):
            self._keep(taken)
            raise
        self._keep(taken)

    def _deliver_all(self, messages: Iterable[Unsent], taken: list[_Taken]) -> Iterator[SentTo]:
        since = 0.0
        for message in messages:
            if message.refused:
                continue
            if isinstance(message, UnsentToDomain):
                yield self._deliver_to_domain(message)
            else:
                since = since if taken else self.sender.clock()
                yield self._deliver(message, taken)
                if self.sender.clock() - since >= _TOGETHER_SECONDS:
                    self._keep(taken)

    def _keep(self, taken: list[_Taken]) -> None:
        if taken:
            keep_sent(self.archive, [(each.message, each.envelope) for each in taken], self.sender.keys.signing.public)
            remove_unsent(self.archive, [each.unsent for each in taken])
            taken.clear()

    def _deliver_to_domain(self, message: UnsentToDomain) -> SentTo:
        if self.outbox is None:
            return SentTo(message.to, SendOutcome.NOT_NOW, "", "no post office was named that sends to domains")
        try:
            return deliver_to_domain(self.archive, self.outbox(), message)
        except MailboxError as error:
            return SentTo(message.to, SendOutcome.NOT_NOW, error.reason, error.detail)

    def _deliver(self, message: UnsentMessage, taken: list[_Taken]) -> SentTo:
        sealed = message.sealed
        try:
            if sealed is None:
                later = replace(message, sealed=self.sender.seal(message.message), earlier=())
                return self._deliver_later(message, later, taken)
            sent = self.sender.send_sealed(sealed)
        except NotNowError as error:
            return SentTo(message.to, SendOutcome.NOT_NOW, str(error.reason), error.detail or error.reason.sentence)
        except TheirError as error:
            return self._refused(message, str(error.reason), error.detail or error.reason.sentence)
        if sent.fate is SendOutcome.TAKEN and sent.envelope is not None:
            taken.append(_Taken(message, sent.message, sent.envelope))
            return SentTo(message.to, SendOutcome.TAKEN)
        last = sent.attempts[-1]
        if sent.fate is SendOutcome.NOT_NOW:
            return SentTo(message.to, SendOutcome.NOT_NOW, last.reason, last.detail)
        if last.reason == str(MESSAGE_TYPE_UNSUPPORTED) and message.message.metadata.type is not MessageType.NEW:
            return self._deliver_later(message, self._as_new(message), taken)
        return self._refused(message, last.reason, last.detail)

    def _deliver_later(self, message: UnsentMessage, later: UnsentMessage, taken: list[_Taken]) -> SentTo:
        """Send a message in a later state; another device may be in one that is later still."""
        stored = replace_unsent(self.archive, message, later)
        if stored is None:
            return SentTo(message.to, SendOutcome.TAKEN)
        if stored.refused:
            return SentTo(message.to, SendOutcome.REFUSED, stored.refused)
        return self._deliver(stored, taken)

    def _refused(self, message: UnsentMessage, reason: str, detail: str) -> SentTo:
        replace_unsent(self.archive, message, replace(message, refused=reason or detail, earlier=()))
        return SentTo(message.to, SendOutcome.REFUSED, reason, detail)

    def _sealed(self, message: UnsentMessage) -> UnsentMessage:
        """The message sealed; as it is if its receiver cannot be looked up now, or has no profile."""
        try:
            return replace(message, sealed=self.sender.seal(message.message))
        except (NotNowError, TheirError):
            return message

    def _as_new(self, message: UnsentMessage) -> UnsentMessage:
        """The message as one of type NEW, for a receiver that takes no others."""
        old = message.message
        metadata = replace(old.metadata, type_name=MessageType.NEW, reference_message_hash=None)
        signed: Dm3Message = sign_message(old.message, metadata, self.sender.keys.signing, attachments=old.attachments)
        return self._sealed(UnsentMessage(signed, replaces=message.origin))
