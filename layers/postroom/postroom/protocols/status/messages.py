"""Messages of Status: one frozen type for each, checked when it is made (6/PAYLOADS: Types of messages).

Members have the names of the fields. A member that the author did not set has its type's empty value. `unknown`: fields
that we do not know, as they were encoded; they are written again. Numbers of enums are plain integers: unknown ones are
kept. Constructors raise TheirError with PAYLOAD_INVALID, CLOCK_INVALID, TEXT_INVALID, CHAT_INVALID, MEDIA_INVALID or
MEDIA_TOO_LARGE.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from postroom.core.errors import TheirError
from postroom.protocols.status.chats import creator_of, is_channel
from postroom.protocols.status.checks import (
    check_ens_name,
    check_filled,
    check_kind,
    check_length,
    check_message_id,
    check_picture,
    check_text,
    picture_of,
)
from postroom.protocols.status.clock import check_clock
from postroom.protocols.status.enums import (
    AudioType,
    ChatKind,
    ContentType,
    ImageType,
    InvitationState,
    ProfileImageSource,
    ProfileImageType,
    ReactionKind,
)
from postroom.protocols.status.ids import is_message_id
from postroom.protocols.status.keys import read_chat_key
from postroom.protocols.status.reasons import CHAT_INVALID, PAYLOAD_INVALID

MAX_EVENTS: Final = 1000
"""Events in one update of a group."""

# An enum looks its members up by a function of Python's, before Python 3.12.
_TEXT_PLAIN: Final = ContentType.TEXT_PLAIN
_NOT_SENT: Final = (
    ContentType.UNKNOWN_CONTENT_TYPE,
    ContentType.TRANSACTION_COMMAND,
    ContentType.SYSTEM_MESSAGE_CONTENT_PRIVATE_GROUP,
)
_WITH_TEXT: Final = (_TEXT_PLAIN, ContentType.STATUS, ContentType.EMOJI)


@dataclass(frozen=True, slots=True)
class StickerMessage:
    """A sticker. `hash`: of the sticker, by which clients find it; nothing is fetched."""

    hash: str
    pack: int = 0
    unknown: bytes = b""

    def __post_init__(self) -> None:
        if not self.hash:
            raise TheirError(PAYLOAD_INVALID, "the sticker has no hash")


@dataclass(frozen=True, slots=True)
class ImageMessage:
    """A picture as received, which `media` has not walked through yet."""

    payload: bytes
    type: int
    unknown: bytes = b""

    def __post_init__(self) -> None:
        if not self.payload or self.type == ImageType.UNKNOWN_IMAGE_TYPE:
            raise TheirError(PAYLOAD_INVALID, "the image has no payload or no type")


@dataclass(frozen=True, slots=True)
class AudioMessage:
    """A sound as received, which `media` has not walked through yet. `duration_ms`: what its author says."""

    payload: bytes
    type: int
    duration_ms: int = 0
    unknown: bytes = b""

    def __post_init__(self) -> None:
        if not self.payload or self.type == AudioType.UNKNOWN_AUDIO_TYPE:
            raise TheirError(PAYLOAD_INVALID, "the audio has no payload or no type")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message in a chat. `timestamp`: its author's time, in milliseconds since 1970."""

    clock: int
    timestamp: int
    text: str
    chat_id: str
    message_type: int
    content_type: int
    response_to: str = ""
    ens_name: str = ""
    sticker: StickerMessage | None = None
    image: ImageMessage | None = None
    audio: AudioMessage | None = None
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        if not self.timestamp:
            raise TheirError(PAYLOAD_INVALID, "timestamp is 0")
        check_kind(self.message_type, self.chat_id)
        if self.response_to:
            check_message_id("response_to", self.response_to)
        if (self.sticker is not None) + (self.image is not None) + (self.audio is not None) > 1:
            raise TheirError(PAYLOAD_INVALID, "a message has one of sticker, image and audio at most")
        if self.content_type == _TEXT_PLAIN:
            check_text(self.text)
        else:
            self._check_content()

    def _check_content(self) -> None:
        kind = self.content_type
        if kind in _NOT_SENT:
            raise TheirError(PAYLOAD_INVALID, f"content_type is {ContentType(kind).name}")
        missing = (
            (kind == ContentType.STICKER and self.sticker is None)
            or (kind == ContentType.IMAGE and self.image is None)
            or (kind == ContentType.AUDIO and self.audio is None)
        )
        if missing:
            raise TheirError(PAYLOAD_INVALID, f"content_type is {ContentType(kind).name}, and there is none")
        (check_text if kind in _WITH_TEXT else check_length)(self.text)


@dataclass(frozen=True, slots=True)
class ContactUpdate:
    """The author has made one a contact, or has changed name or picture."""

    clock: int
    ens_name: str = ""
    profile_image: str = ""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_ens_name(self.ens_name)
        check_picture(self.profile_image)


@dataclass(frozen=True, slots=True)
class EmojiReaction:
    """A reaction to a message, or its retraction. Status requires all fields but `retracted`."""

    clock: int
    chat_id: str
    message_id: str
    message_type: int
    type: int
    retracted: bool = False
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_kind(self.message_type, self.chat_id)
        check_message_id("message_id", self.message_id)
        if self.type == ReactionKind.UNKNOWN_EMOJI_REACTION_TYPE:
            raise TheirError(PAYLOAD_INVALID, "type of the reaction is 0")


@dataclass(frozen=True, slots=True)
class SyncInstallationContact:
    """A contact, from another device of the same user. `last_updated`: a clock."""

    clock: int
    id: str
    profile_image: str = ""
    ens_name: str = ""
    last_updated: int = 0
    system_tags: tuple[str, ...] = ()
    local_nickname: str = ""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        if read_chat_key(self.id) is None:
            raise TheirError(PAYLOAD_INVALID, "id of the contact is no chat key")
        check_picture(self.profile_image)
        check_ens_name(self.ens_name)


@dataclass(frozen=True, slots=True)
class SyncInstallationPublicChat:
    """A channel that one has joined, from another device of the same user."""

    clock: int
    id: str
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        if not is_channel(self.id):
            raise TheirError(CHAT_INVALID, "id is no name of a channel")


@dataclass(frozen=True, slots=True)
class PairInstallation:
    """A device of the same user. `installation_id`: random, of the device."""

    clock: int
    installation_id: str
    device_type: str
    name: str
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_filled("installation_id", self.installation_id)
        check_filled("device_type", self.device_type)
        # A deletion has the ID of a message there.
        if is_message_id(self.device_type):
            raise TheirError(PAYLOAD_INVALID, "device_type is the ID of a message")
        check_filled("name", self.name)


@dataclass(frozen=True, slots=True)
class ProfileImage:
    """A profile picture. Vector images, avatars and what ENS has are kept, and never drawn or looked up."""

    payload: str
    source_type: int
    image_type: int
    unknown: bytes = b""

    def __post_init__(self) -> None:
        if self.source_type != ProfileImageSource.RAW_PAYLOAD:
            return
        if not self.payload:
            raise TheirError(PAYLOAD_INVALID, "the profile image has no payload")
        if self.image_type == ProfileImageType.RASTER_IMAGE_FILE:
            check_picture(self.payload)
        else:
            picture_of(self.payload)


@dataclass(frozen=True, slots=True)
class ChatMessageIdentity:
    """The name and the picture that a user shows in a chat."""

    clock: int
    ens_name: str = ""
    display_name: str = ""
    profile_image: ProfileImage | None = None
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_ens_name(self.ens_name)
        check_length(self.display_name)
        image = self.profile_image
        if image is not None and image.source_type == ProfileImageSource.ENS_AVATAR and not self.ens_name:
            raise TheirError(PAYLOAD_INVALID, "the profile image is that of an ENS name, and there is none")


@dataclass(frozen=True, slots=True)
class MembershipUpdateEvent:
    """A change of a group, which its author has signed (7/GROUP-CHAT). `members`: the keys that it concerns.

    Whether it counts is decided by `membership`, with the events before it.
    """

    clock: int
    type: int
    members: tuple[str, ...] = ()
    name: str = ""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)


@dataclass(frozen=True, slots=True)
class MembershipUpdateMessage:
    """Changes of a group, and possibly a message or a reaction in it. `events`: signatures and events, as received."""

    chat_id: str
    events: tuple[bytes, ...] = ()
    message: ChatMessage | None = None
    emoji_reaction: EmojiReaction | None = None
    unknown: bytes = b""

    def __post_init__(self) -> None:
        creator_of(self.chat_id)
        if len(self.events) > MAX_EVENTS:
            raise TheirError(PAYLOAD_INVALID, f"an update has at most {MAX_EVENTS} events")
        if self.message is not None and self.emoji_reaction is not None:
            raise TheirError(PAYLOAD_INVALID, "an update has a message or a reaction, not both")
        inner = self.carried
        if inner is not None and (inner.message_type, inner.chat_id) != (ChatKind.PRIVATE_GROUP, self.chat_id):
            raise TheirError(CHAT_INVALID, "what the update carries is not of its group")

    @property
    def carried(self) -> ChatMessage | EmojiReaction | None:
        """The message or the reaction in it; None: it has events only."""
        return self.message or self.emoji_reaction


@dataclass(frozen=True, slots=True)
class GroupChatInvitation:
    """A request to join a group, or the answer."""

    clock: int
    chat_id: str
    introduction_message: str = ""
    state: int = 0
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        creator_of(self.chat_id)
        check_length(self.introduction_message)
        if self.state == InvitationState.UNKNOWN:
            raise TheirError(PAYLOAD_INVALID, "state is 0")


@dataclass(frozen=True, slots=True)
class PinMessage:
    """A message is pinned in its chat, or no longer."""

    clock: int
    message_id: str
    chat_id: str
    message_type: int
    pinned: bool = False
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_kind(self.message_type, self.chat_id)
        check_message_id("message_id", self.message_id)


@dataclass(frozen=True, slots=True)
class EditMessage:
    """Another text for a message."""

    clock: int
    text: str
    chat_id: str
    message_id: str
    message_type: int
    content_type: int = 0
    grant: bytes = b""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_kind(self.message_type, self.chat_id)
        check_message_id("message_id", self.message_id)
        check_text(self.text)


@dataclass(frozen=True, slots=True)
class DeleteMessage:
    """A message is deleted. `deleted_by`: not signed by whom it names, and never used."""

    clock: int
    chat_id: str
    message_id: str
    message_type: int
    grant: bytes = b""
    deleted_by: str = ""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_kind(self.message_type, self.chat_id)
        check_message_id("message_id", self.message_id)


@dataclass(frozen=True, slots=True)
class SyncClearHistory:
    """The history of a chat is cleared, on another device of the same user. `cleared_at`: a clock."""

    chat_id: str
    cleared_at: int
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.cleared_at)
        if not self.chat_id:
            raise TheirError(CHAT_INVALID, "chat_id is empty")


@dataclass(frozen=True, slots=True)
class SyncDeleteForMeMessage:
    """A message is deleted on another device of the same user, for that user alone."""

    clock: int
    message_id: str
    unknown: bytes = b""

    def __post_init__(self) -> None:
        check_clock(self.clock)
        check_message_id("message_id", self.message_id)


StatusMessage: TypeAlias = (
    ChatMessage
    | ContactUpdate
    | MembershipUpdateMessage
    | PairInstallation
    | SyncInstallationContact
    | SyncInstallationPublicChat
    | EmojiReaction
    | GroupChatInvitation
    | PinMessage
    | EditMessage
    | DeleteMessage
    | SyncClearHistory
    | SyncDeleteForMeMessage
    | ChatMessageIdentity
)

OF_DEVICES: Final = (
    SyncClearHistory,
    SyncDeleteForMeMessage,
    SyncInstallationPublicChat,
    SyncInstallationContact,
    PairInstallation,
)
"""What the devices of one user say to each other."""


def clock_of(message: StatusMessage) -> int | None:
    """The clock of a message; None: an update of a group without a message in it."""
    if isinstance(message, SyncClearHistory):
        return message.cleared_at
    if isinstance(message, MembershipUpdateMessage):
        inner = message.carried
        return None if inner is None else inner.clock
    return message.clock
