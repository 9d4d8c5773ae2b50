"""Messages that a domain did not take after the owner's post office had accepted them.

The post office tries for 23 hours. What became of a message is in its outbox, and nowhere else: what was refused is
stored as unsent, with the reason, beside the message as it was kept.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

import orjson

from postroom.api.schemas import SentMessage
from postroom.api.states import State
from postroom.client.archive import Archive
from postroom.client.archive.nlweb_messages import is_sent, read_content
from postroom.client.chat.channels import find_channel_in_body
from postroom.client.chat.domain_delivery import ChatOutbox
from postroom.client.chat.nlweb_carrier import SUBJECT, read_body
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.unsent import store_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.sending import SendOutcome
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Received
from postroom.protocols.nlweb.timestamp import read_timestamp

LOOKED_AFTER_MS: Final = 48 * 3_600_000
"""So long after it was sent, a message is looked after: the post office tries for 23 hours, and the owner may be away
for a night."""


def store_late_refusals(archive: Archive, outbox: ChatOutbox, known: Collection[str], since_ms: int) -> list[SentTo]:
    """Store what was refused of the messages that were sent since then. `known`: the Correlations of refused ones that
    are stored.

    Raises as `Archive` does; MailboxError, as the outbox does.
    """
    found: list[UnsentToDomain] = []
    details = []
    for domain, refused in _refused_since(outbox, known, since_ms).items():
        for entry in archive.open(domain):
            if isinstance(entry, Received) and (sent := refused.get(_correlation_of(entry))) is not None:
                message = _unsent(domain, entry, sent)
                if message is not None:
                    found.append(message)
                    details.append(sent.detail)
    if found:
        store_unsent(archive, found)
    return [
        SentTo(each.to, SendOutcome.REFUSED, each.refused, detail) for each, detail in zip(found, details, strict=True)
    ]


def _refused_since(
    outbox: ChatOutbox, known: Collection[str], since_ms: int
) -> Mapping[str, Mapping[str, SentMessage]]:
    """The messages with chats that were refused or given up, by domain and Correlation."""
    found: defaultdict[str, dict[str, SentMessage]] = defaultdict(dict)
    for sent in outbox.sent():
        if _sent_ms(sent) < since_ms:
            break
        is_over = sent.state in (State.REFUSED, State.GIVEN_UP)
        if is_over and sent.subject == SUBJECT and sent.correlation not in known:
            found[sent.to][sent.correlation] = sent
    return found


def _sent_ms(sent: SentMessage) -> int:
    try:
        return read_timestamp(sent.queued_at)
    except TheirError:
        return 0


def _correlation_of(entry: Received) -> str:
    """The Correlation of a message that the owner sent; empty: it is another."""
    return str(orjson.loads(entry.receipt).get("correlation", "")) if is_sent(entry) else ""


def _unsent(domain: str, entry: Received, sent: SentMessage) -> UnsentToDomain | None:
    try:
        content = read_content(entry)
        carried = read_body(content.body)
    except TheirError:
        return None
    return UnsentToDomain(
        domain,
        carried,
        entry.timestamp_ms,
        sent.reason or str(sent.state),
        channel=find_channel_in_body(content.body),
        correlation=sent.correlation,
    )
