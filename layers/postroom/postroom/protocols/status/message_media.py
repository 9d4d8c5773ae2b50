"""The picture or the sound of a chat message."""

from dataclasses import dataclass
from enum import IntEnum

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.status.enums import AudioType, ContentType, ImageType
from postroom.protocols.status.media import Cleaned, MediaType, clean
from postroom.protocols.status.messages import ChatMessage
from postroom.protocols.status.reasons import MEDIA_INVALID


@dataclass(frozen=True, slots=True)
class MessageMedia:
    """A picture or a sound as received. `type` None: its number is unknown here."""

    kind: ContentType
    type: MediaType | None
    data: bytes

    def clean(self) -> Cleaned:
        """What may be shown or played. Raises TheirError(MEDIA_INVALID or MEDIA_TOO_LARGE).

        The message counts all the same: its picture or sound is left out.
        """
        if self.type is None:
            raise TheirError(MEDIA_INVALID, "its type is unknown here")
        return clean(self.data, self.type)

    def as_json(self) -> dict[str, JsonValue]:
        """`{kind, type, bytes, reason}`: `kind` is `image` or `audio`, `bytes` the number as received, and `reason`
        says why it cannot be shown or played."""
        try:
            self.clean()
            reason = None
        except TheirError as error:
            reason = str(error.reason)
        return {
            "kind": self.kind.name.lower(),
            "type": None if self.type is None else str(self.type),
            "bytes": len(self.data),
            "reason": reason,
        }


def media_of(message: ChatMessage) -> MessageMedia | None:
    """The picture or the sound that a message's content type names; None: it names none."""
    if message.content_type == ContentType.IMAGE and message.image:
        return MessageMedia(ContentType.IMAGE, _type(ImageType, message.image.type), message.image.payload)
    if message.content_type == ContentType.AUDIO and message.audio:
        return MessageMedia(ContentType.AUDIO, _type(AudioType, message.audio.type), message.audio.payload)
    return None


def _type(enum: type[IntEnum], number: int) -> MediaType | None:
    try:
        return MediaType(enum(number).name)
    except ValueError:
        return None
