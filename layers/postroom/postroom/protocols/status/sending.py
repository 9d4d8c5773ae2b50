"""Messages to send in a chat: texts, media, reactions, edits, deletions and pins, with all fields that receivers need.

The chat's own ID is the ID that is sent: of a chat of two, the other's key. `clock`: `next_clock` of the chat.
ChatMessage.ens_name and DeleteMessage.deleted_by are never set. In a group, a message or a reaction goes in an update
(`group_updates`), the others by themselves. All raise TheirError, as the types of the messages do.
"""

from typing import Final

from postroom.protocols.status.enums import AudioType, ContentType, ImageType
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.messages import (
    AudioMessage,
    ChatMessage,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    ImageMessage,
    PinMessage,
    StickerMessage,
)
from postroom.protocols.status.verify import ChatRef

STICKER_TEXT: Final = "Sticker"
SOUND_TEXT: Final = "Sound"
"""Texts beside stickers and sounds: Status's clients refuse those without one, and show the sticker or the sound."""


def text_message(chat: ChatRef, clock: int, now_ms: int, text: str, response_to: str = "") -> ChatMessage:
    """A text. `response_to`: the ID of the message that it answers."""
    return ChatMessage(clock, now_ms, text, chat.id, chat.kind, ContentType.TEXT_PLAIN, response_to)


def sticker_message(
    chat: ChatRef, clock: int, now_ms: int, sticker: StickerMessage, response_to: str = ""
) -> ChatMessage:
    """A sticker, of which the hash and the pack are known."""
    return ChatMessage(
        clock, now_ms, STICKER_TEXT, chat.id, chat.kind, ContentType.STICKER, response_to, sticker=sticker
    )


def image_message(
    chat: ChatRef, clock: int, now_ms: int, picture: Cleaned, type_: MediaType, text: str = "", response_to: str = ""
) -> ChatMessage:
    """A picture, possibly with a text. Raises ValueError: the type is that of a sound."""
    if type_.is_audio:
        raise ValueError(f"{type_} is no type of pictures")
    image = ImageMessage(picture.data, ImageType[type_.name])
    return ChatMessage(clock, now_ms, text, chat.id, chat.kind, ContentType.IMAGE, response_to, image=image)


def audio_message(
    chat: ChatRef, clock: int, now_ms: int, sound: Cleaned, type_: MediaType, response_to: str = ""
) -> ChatMessage:
    """A sound, with its duration. Raises ValueError: the type is that of a picture, or it has no duration."""
    if not type_.is_audio or not sound.duration_ms:
        raise ValueError(f"{type_} is no type of sounds, or the sound is empty")
    audio = AudioMessage(sound.data, AudioType[type_.name], sound.duration_ms)
    return ChatMessage(clock, now_ms, SOUND_TEXT, chat.id, chat.kind, ContentType.AUDIO, response_to, audio=audio)


def reaction(chat: ChatRef, clock: int, target: MessageId, kind: int, *, retracted: bool = False) -> EmojiReaction:
    """A reaction to a message, or its retraction."""
    return EmojiReaction(clock, chat.id, target, chat.kind, kind, retracted)


def edit(chat: ChatRef, clock: int, target: MessageId, text: str) -> EditMessage:
    """Another text for one's own message. The type of its content is left as it was."""
    return EditMessage(clock, text, chat.id, target, chat.kind)


def deletion(chat: ChatRef, clock: int, target: MessageId) -> DeleteMessage:
    """The deletion of one's own message, or of any in a group of which one is an admin."""
    return DeleteMessage(clock, chat.id, target, chat.kind)


def pin(chat: ChatRef, clock: int, target: MessageId, *, pinned: bool) -> PinMessage:
    """A message is pinned, or no longer."""
    return PinMessage(clock, target, chat.id, chat.kind, pinned)
