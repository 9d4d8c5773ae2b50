from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatusProtocolMessage(_message.Message):
    __slots__ = ("signature", "payload")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    payload: bytes
    def __init__(self, signature: _Optional[bytes] = ..., payload: _Optional[bytes] = ...) -> None: ...

class ApplicationMetadataMessage(_message.Message):
    __slots__ = ("signature", "payload", "type")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    payload: bytes
    type: int
    def __init__(self, signature: _Optional[bytes] = ..., payload: _Optional[bytes] = ..., type: _Optional[int] = ...) -> None: ...

class Later(_message.Message):
    __slots__ = ("unused",)
    UNUSED_FIELD_NUMBER: _ClassVar[int]
    unused: bytes
    def __init__(self, unused: _Optional[bytes] = ...) -> None: ...

class StickerMessage(_message.Message):
    __slots__ = ("hash", "pack")
    HASH_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    hash: str
    pack: int
    def __init__(self, hash: _Optional[str] = ..., pack: _Optional[int] = ...) -> None: ...

class ImageMessage(_message.Message):
    __slots__ = ("payload", "type", "later_3", "later_4", "later_5", "later_6")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LATER_3_FIELD_NUMBER: _ClassVar[int]
    LATER_4_FIELD_NUMBER: _ClassVar[int]
    LATER_5_FIELD_NUMBER: _ClassVar[int]
    LATER_6_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    type: int
    later_3: bytes
    later_4: int
    later_5: int
    later_6: int
    def __init__(self, payload: _Optional[bytes] = ..., type: _Optional[int] = ..., later_3: _Optional[bytes] = ..., later_4: _Optional[int] = ..., later_5: _Optional[int] = ..., later_6: _Optional[int] = ...) -> None: ...

class AudioMessage(_message.Message):
    __slots__ = ("payload", "type", "duration_ms")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    type: int
    duration_ms: int
    def __init__(self, payload: _Optional[bytes] = ..., type: _Optional[int] = ..., duration_ms: _Optional[int] = ...) -> None: ...

class ChatMessage(_message.Message):
    __slots__ = ("clock", "timestamp", "text", "response_to", "ens_name", "chat_id", "message_type", "content_type", "sticker", "image", "audio", "later_12", "later_13", "later_14", "later_15", "later_16", "later_17", "later_18", "later_19", "later_99", "later_100")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_TO_FIELD_NUMBER: _ClassVar[int]
    ENS_NAME_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    STICKER_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    LATER_12_FIELD_NUMBER: _ClassVar[int]
    LATER_13_FIELD_NUMBER: _ClassVar[int]
    LATER_14_FIELD_NUMBER: _ClassVar[int]
    LATER_15_FIELD_NUMBER: _ClassVar[int]
    LATER_16_FIELD_NUMBER: _ClassVar[int]
    LATER_17_FIELD_NUMBER: _ClassVar[int]
    LATER_18_FIELD_NUMBER: _ClassVar[int]
    LATER_19_FIELD_NUMBER: _ClassVar[int]
    LATER_99_FIELD_NUMBER: _ClassVar[int]
    LATER_100_FIELD_NUMBER: _ClassVar[int]
    clock: int
    timestamp: int
    text: str
    response_to: str
    ens_name: str
    chat_id: str
    message_type: int
    content_type: int
    sticker: StickerMessage
    image: ImageMessage
    audio: AudioMessage
    later_12: bytes
    later_13: bytes
    later_14: bytes
    later_15: Later
    later_16: _containers.RepeatedCompositeFieldContainer[Later]
    later_17: Later
    later_18: Later
    later_19: int
    later_99: Later
    later_100: Later
    def __init__(self, clock: _Optional[int] = ..., timestamp: _Optional[int] = ..., text: _Optional[str] = ..., response_to: _Optional[str] = ..., ens_name: _Optional[str] = ..., chat_id: _Optional[str] = ..., message_type: _Optional[int] = ..., content_type: _Optional[int] = ..., sticker: _Optional[_Union[StickerMessage, _Mapping]] = ..., image: _Optional[_Union[ImageMessage, _Mapping]] = ..., audio: _Optional[_Union[AudioMessage, _Mapping]] = ..., later_12: _Optional[bytes] = ..., later_13: _Optional[bytes] = ..., later_14: _Optional[bytes] = ..., later_15: _Optional[_Union[Later, _Mapping]] = ..., later_16: _Optional[_Iterable[_Union[Later, _Mapping]]] = ..., later_17: _Optional[_Union[Later, _Mapping]] = ..., later_18: _Optional[_Union[Later, _Mapping]] = ..., later_19: _Optional[int] = ..., later_99: _Optional[_Union[Later, _Mapping]] = ..., later_100: _Optional[_Union[Later, _Mapping]] = ...) -> None: ...

class ContactUpdate(_message.Message):
    __slots__ = ("clock", "ens_name", "profile_image", "later_4", "later_5", "later_6", "later_7", "later_8")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    ENS_NAME_FIELD_NUMBER: _ClassVar[int]
    PROFILE_IMAGE_FIELD_NUMBER: _ClassVar[int]
    LATER_4_FIELD_NUMBER: _ClassVar[int]
    LATER_5_FIELD_NUMBER: _ClassVar[int]
    LATER_6_FIELD_NUMBER: _ClassVar[int]
    LATER_7_FIELD_NUMBER: _ClassVar[int]
    LATER_8_FIELD_NUMBER: _ClassVar[int]
    clock: int
    ens_name: str
    profile_image: str
    later_4: bytes
    later_5: int
    later_6: Later
    later_7: bytes
    later_8: int
    def __init__(self, clock: _Optional[int] = ..., ens_name: _Optional[str] = ..., profile_image: _Optional[str] = ..., later_4: _Optional[bytes] = ..., later_5: _Optional[int] = ..., later_6: _Optional[_Union[Later, _Mapping]] = ..., later_7: _Optional[bytes] = ..., later_8: _Optional[int] = ...) -> None: ...

class EmojiReaction(_message.Message):
    __slots__ = ("clock", "chat_id", "message_id", "message_type", "type", "retracted", "later_7")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_FIELD_NUMBER: _ClassVar[int]
    LATER_7_FIELD_NUMBER: _ClassVar[int]
    clock: int
    chat_id: str
    message_id: str
    message_type: int
    type: int
    retracted: bool
    later_7: bytes
    def __init__(self, clock: _Optional[int] = ..., chat_id: _Optional[str] = ..., message_id: _Optional[str] = ..., message_type: _Optional[int] = ..., type: _Optional[int] = ..., retracted: bool = ..., later_7: _Optional[bytes] = ...) -> None: ...

class SyncInstallationContact(_message.Message):
    __slots__ = ("clock", "id", "profile_image", "ens_name", "last_updated", "system_tags", "local_nickname")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_IMAGE_FIELD_NUMBER: _ClassVar[int]
    ENS_NAME_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_TAGS_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NICKNAME_FIELD_NUMBER: _ClassVar[int]
    clock: int
    id: str
    profile_image: str
    ens_name: str
    last_updated: int
    system_tags: _containers.RepeatedScalarFieldContainer[str]
    local_nickname: str
    def __init__(self, clock: _Optional[int] = ..., id: _Optional[str] = ..., profile_image: _Optional[str] = ..., ens_name: _Optional[str] = ..., last_updated: _Optional[int] = ..., system_tags: _Optional[_Iterable[str]] = ..., local_nickname: _Optional[str] = ...) -> None: ...

class SyncInstallationPublicChat(_message.Message):
    __slots__ = ("clock", "id")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    clock: int
    id: str
    def __init__(self, clock: _Optional[int] = ..., id: _Optional[str] = ...) -> None: ...

class PairInstallation(_message.Message):
    __slots__ = ("clock", "installation_id", "device_type", "name", "later_5", "later_6")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    INSTALLATION_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICE_TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LATER_5_FIELD_NUMBER: _ClassVar[int]
    LATER_6_FIELD_NUMBER: _ClassVar[int]
    clock: int
    installation_id: str
    device_type: str
    name: str
    later_5: int
    later_6: bytes
    def __init__(self, clock: _Optional[int] = ..., installation_id: _Optional[str] = ..., device_type: _Optional[str] = ..., name: _Optional[str] = ..., later_5: _Optional[int] = ..., later_6: _Optional[bytes] = ...) -> None: ...

class ProfileImage(_message.Message):
    __slots__ = ("payload", "source_type", "image_type")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    IMAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    payload: str
    source_type: int
    image_type: int
    def __init__(self, payload: _Optional[str] = ..., source_type: _Optional[int] = ..., image_type: _Optional[int] = ...) -> None: ...

class ChatMessageIdentity(_message.Message):
    __slots__ = ("clock", "ens_name", "display_name", "profile_image")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    ENS_NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    PROFILE_IMAGE_FIELD_NUMBER: _ClassVar[int]
    clock: int
    ens_name: str
    display_name: str
    profile_image: ProfileImage
    def __init__(self, clock: _Optional[int] = ..., ens_name: _Optional[str] = ..., display_name: _Optional[str] = ..., profile_image: _Optional[_Union[ProfileImage, _Mapping]] = ...) -> None: ...

class MembershipUpdateEvent(_message.Message):
    __slots__ = ("clock", "members", "name", "type", "later_5", "later_6")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LATER_5_FIELD_NUMBER: _ClassVar[int]
    LATER_6_FIELD_NUMBER: _ClassVar[int]
    clock: int
    members: _containers.RepeatedScalarFieldContainer[str]
    name: str
    type: int
    later_5: bytes
    later_6: bytes
    def __init__(self, clock: _Optional[int] = ..., members: _Optional[_Iterable[str]] = ..., name: _Optional[str] = ..., type: _Optional[int] = ..., later_5: _Optional[bytes] = ..., later_6: _Optional[bytes] = ...) -> None: ...

class MembershipUpdateMessage(_message.Message):
    __slots__ = ("chat_id", "events", "message", "emoji_reaction")
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EMOJI_REACTION_FIELD_NUMBER: _ClassVar[int]
    chat_id: str
    events: _containers.RepeatedScalarFieldContainer[bytes]
    message: ChatMessage
    emoji_reaction: EmojiReaction
    def __init__(self, chat_id: _Optional[str] = ..., events: _Optional[_Iterable[bytes]] = ..., message: _Optional[_Union[ChatMessage, _Mapping]] = ..., emoji_reaction: _Optional[_Union[EmojiReaction, _Mapping]] = ...) -> None: ...

class GroupChatInvitation(_message.Message):
    __slots__ = ("clock", "chat_id", "introduction_message", "state")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    INTRODUCTION_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    clock: int
    chat_id: str
    introduction_message: str
    state: int
    def __init__(self, clock: _Optional[int] = ..., chat_id: _Optional[str] = ..., introduction_message: _Optional[str] = ..., state: _Optional[int] = ...) -> None: ...

class PinMessage(_message.Message):
    __slots__ = ("clock", "message_id", "chat_id", "pinned", "message_type")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    clock: int
    message_id: str
    chat_id: str
    pinned: bool
    message_type: int
    def __init__(self, clock: _Optional[int] = ..., message_id: _Optional[str] = ..., chat_id: _Optional[str] = ..., pinned: bool = ..., message_type: _Optional[int] = ...) -> None: ...

class EditMessage(_message.Message):
    __slots__ = ("clock", "text", "chat_id", "message_id", "grant", "message_type", "content_type", "later_8", "later_9")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    LATER_8_FIELD_NUMBER: _ClassVar[int]
    LATER_9_FIELD_NUMBER: _ClassVar[int]
    clock: int
    text: str
    chat_id: str
    message_id: str
    grant: bytes
    message_type: int
    content_type: int
    later_8: Later
    later_9: Later
    def __init__(self, clock: _Optional[int] = ..., text: _Optional[str] = ..., chat_id: _Optional[str] = ..., message_id: _Optional[str] = ..., grant: _Optional[bytes] = ..., message_type: _Optional[int] = ..., content_type: _Optional[int] = ..., later_8: _Optional[_Union[Later, _Mapping]] = ..., later_9: _Optional[_Union[Later, _Mapping]] = ...) -> None: ...

class DeleteMessage(_message.Message):
    __slots__ = ("clock", "chat_id", "message_id", "grant", "message_type", "deleted_by")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    DELETED_BY_FIELD_NUMBER: _ClassVar[int]
    clock: int
    chat_id: str
    message_id: str
    grant: bytes
    message_type: int
    deleted_by: str
    def __init__(self, clock: _Optional[int] = ..., chat_id: _Optional[str] = ..., message_id: _Optional[str] = ..., grant: _Optional[bytes] = ..., message_type: _Optional[int] = ..., deleted_by: _Optional[str] = ...) -> None: ...

class SyncClearHistory(_message.Message):
    __slots__ = ("chat_id", "cleared_at")
    CHAT_ID_FIELD_NUMBER: _ClassVar[int]
    CLEARED_AT_FIELD_NUMBER: _ClassVar[int]
    chat_id: str
    cleared_at: int
    def __init__(self, chat_id: _Optional[str] = ..., cleared_at: _Optional[int] = ...) -> None: ...

class SyncDeleteForMeMessage(_message.Message):
    __slots__ = ("clock", "message_id")
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    clock: int
    message_id: str
    def __init__(self, clock: _Optional[int] = ..., message_id: _Optional[str] = ...) -> None: ...
