"""Numbers of Status's enums. Others may stand in a payload: they are kept, and not understood."""

from enum import IntEnum


class PayloadType(IntEnum):
    """The type of a payload, as the wrapper has it (ApplicationMetadataMessage.Type)."""

    CHAT_MESSAGE = 1
    CONTACT_UPDATE = 2
    MEMBERSHIP_UPDATE_MESSAGE = 3
    PAIR_INSTALLATION = 4
    SYNC_INSTALLATION_CONTACT = 12
    SYNC_INSTALLATION_PUBLIC_CHAT = 14
    EMOJI_REACTION = 22
    GROUP_CHAT_INVITATION = 23
    PIN_MESSAGE = 28
    EDIT_MESSAGE = 29
    DELETE_MESSAGE = 31
    SYNC_CLEAR_HISTORY = 41
    SYNC_DELETE_FOR_ME_MESSAGE = 58
    # It has no number: only the older wrapper carries it, with its name beside. No enum on the wire is as large.
    CHAT_MESSAGE_IDENTITY = 1 << 32


class ContentType(IntEnum):
    """What a chat message contains (ChatMessage.ContentType)."""

    UNKNOWN_CONTENT_TYPE = 0
    TEXT_PLAIN = 1
    STICKER = 2
    STATUS = 3
    EMOJI = 4
    TRANSACTION_COMMAND = 5
    SYSTEM_MESSAGE_CONTENT_PRIVATE_GROUP = 6
    IMAGE = 7
    AUDIO = 8


class ChatKind(IntEnum):
    """The kind of chat that a message is in (MessageType)."""

    UNKNOWN_MESSAGE_TYPE = 0
    ONE_TO_ONE = 1
    PUBLIC_GROUP = 2
    PRIVATE_GROUP = 3
    SYSTEM_MESSAGE_PRIVATE_GROUP = 4


class ImageType(IntEnum):
    """The container of a picture (ImageMessage.ImageType)."""

    UNKNOWN_IMAGE_TYPE = 0
    PNG = 1
    JPEG = 2
    WEBP = 3
    GIF = 4


class AudioType(IntEnum):
    """The container of a sound (AudioMessage.AudioType)."""

    UNKNOWN_AUDIO_TYPE = 0
    AAC = 1
    AMR = 2


class ReactionKind(IntEnum):
    """A reaction (EmojiReaction.Type)."""

    UNKNOWN_EMOJI_REACTION_TYPE = 0
    LOVE = 1
    THUMBS_UP = 2
    THUMBS_DOWN = 3
    LAUGH = 4
    SAD = 5
    ANGRY = 6


class ProfileImageSource(IntEnum):
    """Where a profile picture is (ProfileImage.SourceType)."""

    UNKNOWN_SOURCE_TYPE = 0
    RAW_PAYLOAD = 1
    ENS_AVATAR = 2


class ProfileImageType(IntEnum):
    """What a profile picture is (ProfileImage.ImageType)."""

    UNKNOWN_IMAGE_TYPE = 0
    RASTER_IMAGE_FILE = 1
    VECTOR_IMAGE_FILE = 2
    AVATAR = 3


class MembershipEventType(IntEnum):
    """A change of a group (MembershipUpdateEvent.EventType, 7/GROUP-CHAT)."""

    UNKNOWN = 0
    CHAT_CREATED = 1
    NAME_CHANGED = 2
    MEMBERS_ADDED = 3
    MEMBER_JOINED = 4
    MEMBER_REMOVED = 5
    ADMINS_ADDED = 6
    ADMIN_REMOVED = 7


class InvitationState(IntEnum):
    """The state of a request to join a group (GroupChatInvitation.State)."""

    UNKNOWN = 0
    REQUEST = 1
    REJECTED = 2
    APPROVED = 3


def type_named(name: object) -> PayloadType:
    """A type of payload by its name, or by its number. Raises ValueError."""
    if isinstance(name, str) and name.upper() in PayloadType.__members__:
        return PayloadType[name.upper()]
    if type(name) is int and name in PayloadType.__members__.values():
        return PayloadType(name)
    raise ValueError(f"the type must be one of {', '.join(PayloadType.__members__)}")
