"""Messages that a domain did not take after the owner's post office had accepted them.

The post office tries for 23 hours. What became of a message is in its outbox, and nowhere else: what was refused is
stored as unsent, with the reason, beside the message as it was kept.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.api.schemas import SentMessage
from postroom.api.states import State
from postroom.client.archive import Archive
from postroom.client.chat.domain_delivery import ChatOutbox
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.unsent import store_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.mailbox import MailboxError
from postroom.client.sending import SendOutcome

LOOKED_FOR_MS: Final = 30 * 24 * 3_600_000
"""So long after it was written, a message is looked for: an outbox remembers it for that long."""


@dataclass(frozen=True, slots=True)
class LateRefusals:
    """Finds in an outbox what became of messages. `ended`: the Correlations of those of which it has found the end."""

    archive: Archive
    ended: set[str] = field(default_factory=set)

    def find(self, outbox: Callable[[], ChatOutbox], sent: Mapping[str, ChatEntry], now_ms: int) -> list[SentTo]:
        """Find and store which messages were refused or given up. `outbox`: opens it. `sent`: the messages that it has
        accepted, by Correlation, but for those that are stored as refused.

        No request is made if there is none to look for. If the outbox cannot be used now, it is tried the next time.
        Raises as `Archive` does.
        """
        wanted = {
            correlation: entry
            for correlation, entry in sent.items()
            if correlation not in self.ended and entry.sent_ms >= now_ms - LOOKED_FOR_MS
        }
        try:
            ended = _find_ended(outbox(), wanted) if wanted else {}
        except MailboxError:
            return []
        refused = [
            (message, each.detail)
            for correlation, each in ended.items()
            if each.state is not State.DELIVERED and (message := _unsent(wanted[correlation], each)) is not None
        ]
        if refused:
            store_unsent(self.archive, [message for message, _ in refused])
        self.ended.update(ended)
        return [SentTo(message.to, SendOutcome.REFUSED, message.refused, detail) for message, detail in refused]


def _find_ended(outbox: ChatOutbox, correlations: Collection[str]) -> Mapping[str, SentMessage]:
    """Those of the messages that are not being sent any more. The list is read until all of them were in it."""
    found: dict[str, SentMessage] = {}
    left = set(correlations)
    for sent in outbox.sent():
        if sent.correlation in left:
            left.remove(sent.correlation)
            if sent.state is not State.QUEUED:
                found[sent.correlation] = sent
            if not left:
                break
    return found


def _unsent(entry: ChatEntry, sent: SentMessage) -> UnsentToDomain | None:
    if entry.carried is None:
        return None
    return UnsentToDomain(
        entry.domain,
        entry.carried,
        entry.sent_ms,
        sent.reason or str(sent.state),
        channel=entry.channel,
        correlation=sent.correlation,
    )
