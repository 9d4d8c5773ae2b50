"""The texts of chat messages in dm3 clients that know nothing of Status."""

from typing import Final

from postroom.protocols.status.enums import ContentType, ReactionKind
from postroom.protocols.status.messages import (
    ChatMessage,
    ChatMessageIdentity,
    ContactUpdate,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    MembershipUpdateMessage,
    PinMessage,
    StatusMessage,
)

EMOJIS: Final = {
    ReactionKind.LOVE: "❤️",
    ReactionKind.THUMBS_UP: "👍",
    ReactionKind.THUMBS_DOWN: "👎",
    ReactionKind.LAUGH: "😂",
    ReactionKind.SAD: "😢",
    ReactionKind.ANGRY: "😡",
}
"""Reactions as they are shown."""


def plain_text(message: StatusMessage) -> str:
    """The text that a client of dm3 shows which knows nothing of Status."""
    match message:
        case MembershipUpdateMessage():
            return plain_text(message.carried) if message.carried else "(group updated)"
        case ChatMessage(content_type=ContentType.STICKER):
            return message.text or "(sticker)"
        case ChatMessage(content_type=ContentType.IMAGE):
            return message.text or "(picture)"
        case ChatMessage(content_type=ContentType.AUDIO):
            return message.text or "(sound)"
        case ChatMessage() | EditMessage():
            return message.text
        case EmojiReaction():
            emoji = EMOJIS.get(message.type, f"reaction {message.type}")  # type: ignore[call-overload]
            return f"(took back: {emoji})" if message.retracted else str(emoji)
        case DeleteMessage():
            return "(deleted a message)"
        case PinMessage():
            return "(pinned a message)" if message.pinned else "(unpinned a message)"
        case ContactUpdate() | ChatMessageIdentity():
            return "(profile updated)"
    return "(data of own devices)"


def differs(text: str, payload: StatusMessage) -> bool:
    """Whether a dm3 message with this text shows another one than the payload that it carries."""
    return text not in ("", plain_text(payload))
