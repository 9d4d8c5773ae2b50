"""Messages of chats made of dm3 messages that carry no wrapper, and of those that an archive has removed."""

from collections.abc import Mapping
from typing import Final

from postroom.client.chat.entries import ChatEntry
from postroom.protocols.dm3.message import NEEDS_NO_TEXT, MessageType
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status.checks import MAX_TEXT
from postroom.protocols.status.enums import ChatKind, ContentType
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.messages import ChatMessage, DeleteMessage, EditMessage
from postroom.protocols.status.verify import ChatRef, VerifiedPayload
from postroom.protocols.status.white_space import is_blank

PLAIN: Final = "plain"
"""A mark: it was written as a dm3 message, not in a chat."""
_TYPE: Final = 0
"""No wrapper has this type: whoever passes on a plain text makes no message of Status of it."""
_CHAT_ID: Final = "plain"
_REMOVED: Final = "(deleted)"
"""The text of a message that the archive has removed."""


def plain_id(entry: ChatEntry) -> MessageId:
    """The ID of a dm3 message without a wrapper."""
    return MessageId(f"0x{entry.message_hash}")


def plain_payload(entry: ChatEntry, other: ChatKey, ids: Mapping[str, MessageId]) -> VerifiedPayload | None:
    """A dm3 message without a wrapper as a message of the chat of two with `other`; None: it has nothing to show there.

    `ids`: of the messages of the conversation, by the hashes by which they may be referred to.
    """
    message = _message(entry, ids.get(entry.reference, ""))
    if message is None:
        return None
    chat, payload = ChatRef(ChatKind.ONE_TO_ONE, other), entry.message_hash.encode()
    return VerifiedPayload(plain_id(entry), entry.carrier, _TYPE, payload, message, chat, (PLAIN,))


def removed_payload(deletion: Fact, left: Tombstone) -> VerifiedPayload | None:
    """The message that an archive has removed, without its text; None: its place is not known.

    `deletion`: the request to delete it. `left`: what the archive has left of it.
    """
    if not isinstance(deletion.message, DeleteMessage) or deletion.chat is None or left.timestamp_ms <= 0:
        return None
    id_, chat, at_ms = deletion.message.message_id, deletion.chat, left.timestamp_ms
    message = ChatMessage(at_ms, at_ms, _REMOVED, chat.id, chat.kind, ContentType.TEXT_PLAIN)
    return VerifiedPayload(MessageId(id_), deletion.author, _TYPE, id_.encode(), message, chat)


def _message(entry: ChatEntry, about: str) -> ChatMessage | EditMessage | None:
    if entry.type in NEEDS_NO_TEXT or entry.sent_ms <= 0:
        return None
    text = "(no text)" if is_blank(entry.text) else entry.text
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
    if entry.type is MessageType.EDIT and about:
        return EditMessage(entry.sent_ms, text, _CHAT_ID, about, ChatKind.ONE_TO_ONE)
    return ChatMessage(
        entry.sent_ms,
        entry.sent_ms,
        text,
        _CHAT_ID,
        ChatKind.ONE_TO_ONE,
        ContentType.TEXT_PLAIN,
        response_to=about,
    )
