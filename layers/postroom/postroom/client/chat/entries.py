"""What single messages of an archive say of chats, whatever else the archive holds."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from postroom.client.chat.channels import ChannelRecord, find_channel
from postroom.client.chat.dm3_carrier import CarriedWrapper, carrier_key, differs, find_wrapper
from postroom.core.errors import TheirError
from postroom.protocols.dm3.dialect import read_reference
from postroom.protocols.dm3.message import Dm3Message, MessageType
from postroom.protocols.dm3.stored import Entry, StoredEnvelope, Tombstone
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.verify import VerifiedPayload, verify

TEXT_DIFFERS: Final = "text-differs"
"""A mark: the dm3 message shows another text than the payload, which counts."""


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """What a dm3 message says of chats.

    `hashes`: all by which others may refer to it. `author`: the sender's name. `sent_ms`: its own time. `came_ms`: that
    of its postmark; of the owner's own messages as `sent_ms`. `reference`: the hash of the message that it is about.
    `carrier`: the key that its sender proved.

    `carried`: the wrapper; None: it has none, and `text` is all of it. `payload`: what is in the wrapper; None: it was
    discarded for `error`. `channel`: the record of a channel beside it.
    """

    message_hash: str
    hashes: tuple[str, ...]
    author: str
    sent_ms: int
    came_ms: int
    type: MessageType
    reference: str
    carrier: ChatKey
    text: str = ""
    carried: CarriedWrapper | None = None
    payload: VerifiedPayload | None = None
    error: TheirError | None = None
    channel: ChannelRecord | None = None


ReadEntry: TypeAlias = ChatEntry | Tombstone


def read_entries(entries: Iterable[Entry], own: ChatKey) -> list[ReadEntry]:
    """What the entries of a conversation say of chats, with the tombstones. `own`: the owner's chat key."""
    return [
        entry if isinstance(entry, Tombstone) else read_message(entry, own)
        for entry in entries
        if isinstance(entry, StoredEnvelope | Tombstone)
    ]


def read_message(entry: StoredEnvelope, own: ChatKey) -> ChatEntry:
    """What a dm3 message says of chats. `own`: the owner's chat key."""
    message, metadata = entry.message, entry.message.metadata
    read = ChatEntry(
        entry.message_hash,
        entry.hashes(),
        entry.author,
        metadata.timestamp_ms,
        entry.postmark.incoming_timestamp_ms if entry.postmark else entry.timestamp_ms,
        metadata.type,
        read_reference(metadata.reference_message_hash or ""),
        carrier_key(entry),
    )
    carried = find_wrapper(message)
    if carried is None:
        return replace(read, text=message.message or "")
    try:
        payload = verify_carried(message, carried, read.carrier, own)
    except TheirError as error:
        return replace(read, carried=carried, error=error)
    return replace(read, carried=carried, payload=payload, channel=find_channel(message))


def verify_carried(message: Dm3Message, carried: CarriedWrapper, carrier: ChatKey, own: ChatKey) -> VerifiedPayload:
    """Check the wrapper in a dm3 message. Raises TheirError, as `verify` does."""
    verified = verify(carried.wrapper, own=own, named=carried.type, carrier=carrier)
    # Whoever passes a message on must not give it a mark.
    if verified.message is not None and carrier == verified.author and differs(message, verified.message):
        verified = replace(verified, marks=(*verified.marks, TEXT_DIFFERS))
    return verified
