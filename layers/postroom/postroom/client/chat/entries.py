"""Chat entries: the chat content of single messages of an archive, and the reader of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, TypeGuard

from postroom.client.archive.nlweb_messages import NlwebContent, read_content, sent_correlation
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord, find_channel, find_channel_in_body
from postroom.client.chat.dm3_carrier import carrier_key, find_wrapper
from postroom.client.chat.nlweb_carrier import SUBJECT, read_body
from postroom.client.chat.plain_text import differs
from postroom.core.errors import TheirError
from postroom.protocols.dm3.dialect import read_reference
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import Entry, Received, StoredEnvelope, Tombstone
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.verify import NO_CHAT_KEY, RecoveredKeys, VerifiedPayload, check_carrier, verify

TEXT_DIFFERS: Final = "text-differs"
"""A mark: the dm3 message shows another text than the payload, which counts."""


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """What a dm3 message says of chats, or an NLWeb message that carries a wrapper.

    `hashes`: all by which others may refer to it. `author`: the sender's name. `sent_ms`: its own time. `came_ms`: that
    of its postmark; of the owner's own messages as `sent_ms`. `reference`: the hash of the message that it is about.
    `carrier`: the key that its sender proved. `text`: as a client of dm3 shows it. `domain`: that of an NLWeb message,
    which the owner sent if there is a carrier, and which proves no key otherwise; empty: it is a dm3 message.

    `carried`: the wrapper; None: it has none. `payload`: what is in the wrapper; None: it was discarded for `error`.
    `channel`: the record of a channel beside it; over NLWeb, only in a message of a domain to itself. `correlation`: in
    the owner's outbox; empty: it was not sent through one.
    """

    message_hash: str
    hashes: tuple[str, ...]
    author: str
    sent_ms: int
    came_ms: int
    type: MessageType
    reference: str
    carrier: ChatKey
    text: str
    carried: CarriedWrapper | None = None
    payload: VerifiedPayload | None = None
    error: TheirError | None = None
    channel: ChannelRecord | None = None
    domain: str = ""
    correlation: str = ""


ReadEntry: TypeAlias = ChatEntry | Tombstone


def is_of_domain(entry: ReadEntry) -> TypeGuard[ChatEntry]:
    """Whether it is of an NLWeb message."""
    return isinstance(entry, ChatEntry) and bool(entry.domain)


def read_entries(entries: Iterable[Entry], own: ChatKey, known: Iterable[ReadEntry] = ()) -> list[ReadEntry]:
    """What the entries of a conversation say of chats, with the tombstones.

    `own`: the owner's chat key. `known`: what was read of the conversation before, which is not read again.
    """
    found = [entry for entry in known if isinstance(entry, ChatEntry)]
    # Without those whose sender was not verified, and may be later.
    before = {entry.message_hash: entry for entry in found if entry.carrier and not entry.domain}
    keys = {entry.author: entry.carrier for entry in before.values()}
    nlweb = {entry.message_hash: entry for entry in found if entry.domain}
    read: list[ReadEntry] = []
    for entry in entries:
        if isinstance(entry, Tombstone):
            read.append(entry)
        elif isinstance(entry, StoredEnvelope):
            there = before.get(entry.message_hash)
            if there is None:
                there = read_message(entry, own, keys.get(entry.author, NO_CHAT_KEY))
                if there.carrier:
                    keys[entry.author] = there.carrier
            read.append(there)
        elif (message := nlweb.get(entry.message_hash) or read_nlweb_message(entry, own)) is not None:
            read.append(message)
    return read


def read_message(entry: StoredEnvelope, own: ChatKey, likely: ChatKey = NO_CHAT_KEY) -> ChatEntry:
    """What a dm3 message says of chats. `own`: the owner's chat key. `likely`: a key that its sender has proven."""
    message, metadata, carrier = entry.message, entry.message.metadata, carrier_key(entry, likely)
    text, carried = message.message or "", find_wrapper(message)
    return ChatEntry(
        entry.message_hash,
        entry.hashes(),
        entry.author,
        metadata.timestamp_ms,
        came_ms(entry),
        metadata.type,
        read_reference(metadata.reference_message_hash or ""),
        carrier,
        text,
        carried,
        *payload_of(carried, text, carrier=carrier, own=own),
        find_channel(message),
    )


def find_chat_content(entry: Received) -> NlwebContent | None:
    """What an NLWeb message of a chat says, whether a wrapper is in it or not; None: it is no message of a chat."""
    try:
        content = read_content(entry)
    except TheirError:
        return None
    domain = content.receiver if content.is_sent else content.sender
    return content if content.subject == SUBJECT and domain == entry.author else None


def read_nlweb_message(entry: Received, own: ChatKey) -> ChatEntry | None:
    """What an NLWeb message says of chats; None: it carries no wrapper. `own`: the owner's chat key."""
    content = find_chat_content(entry)
    if content is None:
        return None
    carrier, carried, error = own if content.is_sent else NO_CHAT_KEY, None, None
    try:
        carried = read_body(content.body)
    except TheirError as wrong:
        error = wrong
    payload, discarded = payload_from_domain(carried, carrier=carrier, own=own)
    return ChatEntry(
        entry.message_hash,
        (),
        content.sender,
        entry.timestamp_ms,
        entry.timestamp_ms,
        MessageType.NEW,
        "",
        carrier,
        "",
        carried,
        payload,
        discarded or error,
        find_channel_in_body(content.body) if content.sender == content.receiver else None,
        domain=entry.author,
        correlation=sent_correlation(entry),
    )


def payload_from_domain(
    carried: CarriedWrapper | None, *, carrier: ChatKey, own: ChatKey, recovered: RecoveredKeys | None = None
) -> tuple[VerifiedPayload | None, TheirError | None]:
    """The same as `payload_of`, of an NLWeb message, whose wrapper must be signed. `carrier`: the owner's key, if the
    owner has sent it."""

    def check(carried: CarriedWrapper) -> VerifiedPayload:
        verified = verify(carried.wrapper, own=own, named=carried.type, recovered=recovered)
        if carrier:
            check_carrier(verified.author, carrier, verified.message)
        return verified

    return _outcome(carried, check)


def came_ms(entry: StoredEnvelope) -> int:
    """When a dm3 message came: by its postmark; the owner's own by their time."""
    return entry.postmark.incoming_timestamp_ms if entry.postmark else entry.timestamp_ms


def payload_of(
    carried: CarriedWrapper | None,
    text: str,
    *,
    carrier: ChatKey,
    own: ChatKey,
    recovered: RecoveredKeys | None = None,
) -> tuple[VerifiedPayload | None, TheirError | None]:
    """What is in the wrapper of a dm3 message with this text, or why it is discarded; neither: it has no wrapper.

    `recovered`: of the wrapper, if it was verified before.
    """
    return _outcome(carried, partial(verify_carried, text=text, carrier=carrier, own=own, recovered=recovered))


def _outcome(
    carried: CarriedWrapper | None, check: Callable[[CarriedWrapper], VerifiedPayload]
) -> tuple[VerifiedPayload | None, TheirError | None]:
    if carried is None:
        return None, None
    try:
        return check(carried), None
    except TheirError as error:
        return None, error


def verify_carried(
    carried: CarriedWrapper, text: str, *, carrier: ChatKey, own: ChatKey, recovered: RecoveredKeys | None = None
) -> VerifiedPayload:
    """Check the wrapper in a dm3 message with this text. Raises TheirError, as `verify` does."""
    verified = verify(carried.wrapper, own=own, named=carried.type, carrier=carrier, recovered=recovered)
    # Whoever passes a message on must not give it a mark.
    if verified.message is not None and carrier == verified.author and differs(text, verified.message):
        verified = verified._replace(marks=(*verified.marks, TEXT_DIFFERS))
    return verified
