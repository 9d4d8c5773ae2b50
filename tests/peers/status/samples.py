"""Messages of every type as they may be sent, and their fields as the Go program has them."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from postroom.protocols.status import messages as types
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.checks import MAX_TEXT
from postroom.protocols.status.clock import CLOCK_LIMIT
from postroom.protocols.status.enums import ChatKind, ContentType, PayloadType
from postroom.protocols.status.white_space import is_blank

_PNG: Final = "iVBORw0KGgo="
_ENUMS: Final = st.sampled_from([1, 2, 3, 99, 2**31 - 1, -1, -(2**31)])
"""Numbers that no message requires to be others; most of them mean nothing."""

secrets: Final = st.integers(1, 2**255).map(lambda number: number.to_bytes(32))
keys: Final = secrets.map(lambda secret: AuthorKey.from_secret(secret).public)
clocks: Final = st.integers(1, CLOCK_LIMIT - 1)
_numbers: Final = st.integers(0, 2**64 - 1)
_texts: Final = st.text(max_size=60) | st.just("é" * MAX_TEXT)
_filled: Final = _texts.filter(lambda text: not is_blank(text))
_channels: Final = st.from_regex("[a-z0-9-]{1,40}", fullmatch=True)
groups: Final = st.builds(group_id, st.uuids().map(str), keys)
_ids: Final = st.binary(min_size=32, max_size=32).map(lambda digest: f"0x{digest.hex()}")
_names: Final = st.sampled_from(["", "alice.eth", "b.ob.example"])
_pictures: Final = st.sampled_from(["", _PNG, f"data:image/png;base64,{_PNG}"])


@st.composite
def _chats(draw: st.DrawFn) -> dict[str, Any]:
    """A chat's kind and id."""
    kind = draw(st.sampled_from([ChatKind.ONE_TO_ONE, ChatKind.PUBLIC_GROUP, ChatKind.PRIVATE_GROUP]))
    ids = {ChatKind.ONE_TO_ONE: keys, ChatKind.PUBLIC_GROUP: _channels, ChatKind.PRIVATE_GROUP: groups}
    return {"message_type": int(kind), "chat_id": draw(ids[kind])}


def _in_chat(record: type[Any], chats: SearchStrategy[dict[str, Any]], **members: SearchStrategy[Any]) -> Any:
    return st.builds(lambda chat, rest: record(**chat, **rest), chats, st.fixed_dictionaries(members))


def _contents(text: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    """A content's type, its text and its part."""
    sticker = st.builds(types.StickerMessage, _filled, st.integers(-(2**31), 2**31 - 1))
    image = st.builds(types.ImageMessage, st.binary(min_size=1), _ENUMS)
    audio = st.builds(types.AudioMessage, st.binary(min_size=1), _ENUMS, _numbers)

    def content(kind: int, text: SearchStrategy[str], **parts: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({"content_type": st.just(kind), "text": text, **parts})

    return st.one_of(
        content(int(ContentType.TEXT_PLAIN), _filled),
        content(int(ContentType.EMOJI), _filled, image=st.none() | image),
        content(99, text),
        content(int(ContentType.STICKER), text, sticker=sticker),
        content(int(ContentType.IMAGE), text, image=image),
        content(int(ContentType.AUDIO), text, audio=audio),
    )


def _chat_messages(chats: SearchStrategy[dict[str, Any]]) -> SearchStrategy[types.ChatMessage]:
    merged = st.builds(lambda chat, content: chat | content, chats, _contents(_texts))
    more = {"timestamp": st.integers(1, 2**64 - 1), "response_to": st.just("") | _ids, "ens_name": _texts}
    return _in_chat(types.ChatMessage, merged, clock=clocks, **more)


def _reactions(chats: SearchStrategy[dict[str, Any]]) -> SearchStrategy[types.EmojiReaction]:
    return _in_chat(types.EmojiReaction, chats, clock=clocks, message_id=_ids, type=_ENUMS, retracted=st.booleans())


@st.composite
def _updates(draw: st.DrawFn) -> types.MembershipUpdateMessage:
    group = draw(groups)
    chat = st.just({"message_type": int(ChatKind.PRIVATE_GROUP), "chat_id": group})
    carried = st.fixed_dictionaries({"message": _chat_messages(chat)}) | st.fixed_dictionaries(
        {"emoji_reaction": _reactions(chat)}
    )
    events = draw(st.lists(st.binary(), max_size=3).map(tuple))
    return types.MembershipUpdateMessage(group, events, **draw(st.just({}) | carried))


events: Final = st.builds(types.MembershipUpdateEvent, clocks, _ENUMS, st.lists(keys, max_size=3).map(tuple), _texts)

MESSAGES: Final[Mapping[PayloadType, SearchStrategy[Any]]] = {
    PayloadType.CHAT_MESSAGE: _chat_messages(_chats()),
    PayloadType.CONTACT_UPDATE: st.builds(types.ContactUpdate, clocks, _names, _pictures),
    PayloadType.MEMBERSHIP_UPDATE_MESSAGE: _updates(),
    PayloadType.PAIR_INSTALLATION: st.builds(types.PairInstallation, clocks, _filled, _filled, _filled),
    PayloadType.SYNC_INSTALLATION_CONTACT: st.builds(
        types.SyncInstallationContact, clocks, keys, _pictures, _names, _numbers,
        st.lists(_texts, max_size=3).map(tuple), _texts,
    ),
    PayloadType.SYNC_INSTALLATION_PUBLIC_CHAT: st.builds(types.SyncInstallationPublicChat, clocks, _channels),
    PayloadType.EMOJI_REACTION: _reactions(_chats()),
    PayloadType.GROUP_CHAT_INVITATION: st.builds(types.GroupChatInvitation, clocks, groups, _texts, _ENUMS),
    PayloadType.PIN_MESSAGE: _in_chat(
        types.PinMessage, _chats(), clock=clocks, message_id=_ids, pinned=st.booleans()
    ),
    PayloadType.EDIT_MESSAGE: _in_chat(
        types.EditMessage, _chats(), clock=clocks, text=_filled, message_id=_ids,
        content_type=st.just(0) | _ENUMS, grant=st.binary(),
    ),
    PayloadType.DELETE_MESSAGE: _in_chat(
        types.DeleteMessage, _chats(), clock=clocks, message_id=_ids, grant=st.binary(), deleted_by=_texts
    ),
    PayloadType.SYNC_CLEAR_HISTORY: st.builds(types.SyncClearHistory, keys | _channels | groups, clocks),
    PayloadType.SYNC_DELETE_FOR_ME_MESSAGE: st.builds(types.SyncDeleteForMeMessage, clocks, _ids),
    PayloadType.CHAT_MESSAGE_IDENTITY: st.builds(
        types.ChatMessageIdentity, clocks, st.just("alice.eth"), _texts,
        st.none() | st.builds(types.ProfileImage, st.just(_PNG), _ENUMS, _ENUMS),
    ),
}  # fmt: skip

_LONG: Final = {"clock", "timestamp", "duration_ms", "last_updated", "cleared_at"}
"""Numbers of 64 bits, which are texts in the Go program's JSON."""


def fields_of(message: Any) -> dict[str, Any]:
    """The fields of a message that has them, as the Go program has them; without those that we do not know."""
    given = {field.name: getattr(message, field.name) for field in fields(message) if field.name != "unknown"}
    return {name: _field(name, value) for name, value in given.items() if is_dataclass(value) or value}


def _field(name: str, value: Any) -> Any:
    if is_dataclass(value):
        return fields_of(value)
    if isinstance(value, tuple):
        return [_field(name, each) for each in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if name in _LONG else value


def without_later(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields without those of later versions."""
    return {
        name: without_later(value) if isinstance(value, dict) else value
        for name, value in fields.items() if not name.startswith("later_")
    }  # fmt: skip
