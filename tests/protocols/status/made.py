"""Messages of every type as hypothesis makes them: valid ones, with texts that may mislead a reader of another type."""

from typing import Any, Final

from hypothesis import strategies as st
from tests.protocols.status.known import ALICE, AMR, BOB, GIF, GROUP, ID, OFF_THE_CURVE, PICTURE, Field, founding

from postroom.core.errors import TheirError
from postroom.protocols.status import messages as m
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.white_space import is_blank

OTHER_GROUP: Final = group_id("00000000-0000-0000-0000-000000000001", BOB.public)
# What one type takes for the ID of a message may be a name, a chat or a text in another.
MISLEADING: Final = (
    *(ID, "0x" + "ab" * 32, ALICE.public, BOB.public, GROUP, OTHER_GROUP, OFF_THE_CURVE, PICTURE),
    *("status", "alice.eth", "desktop", "https://a.example/b.png", "ipfs://bafy", "\0", "\u202e", ""),
)

CLOCKS: Final = st.integers(1, (1 << 63) - 1)
UINT64: Final = st.integers(0, (1 << 64) - 1)
INT32: Final = st.integers(-(1 << 31), (1 << 31) - 1)
LINES: Final = st.sampled_from(MISLEADING) | st.text(st.characters(codec="utf-8"), max_size=30)
FILLED: Final = LINES.filter(lambda line: not is_blank(line))
IDS: Final = st.sampled_from([ID, "0x" + "ab" * 32])
KINDS: Final = st.sampled_from([1, 2, 3]) | INT32.filter(lambda kind: kind not in (0, 4))
ENS_NAMES: Final = st.sampled_from(["", "alice.eth", "bob.stateofus.eth", "ÄLICE.eth"])
PICTURES: Final = st.sampled_from(["", PICTURE, f"data:image/gif;base64,{PICTURE}"])
BLOBS: Final = st.binary(max_size=20) | st.sampled_from([line.encode() for line in MISLEADING])
CHATS: Final = FILLED.filter(bool)


# Numbers that no type has: what a later version adds may have any, but those known now are read as what they are.
LATER: Final = st.just(b"") | st.lists(
    st.builds(Field, st.integers(101, 120), BLOBS | UINT64), unique_by=lambda field: field.number
).map(lambda found: b"".join(map(bytes, sorted(found, key=lambda field: field.number))))


def _valid(make: Any, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Messages of a type, without those that its rules refuse."""

    def made(given: dict[str, Any]) -> Any:
        try:
            return make(**given)
        except TheirError:
            return None

    return st.fixed_dictionaries(members).map(made).filter(lambda found: found is not None)


STICKERS: Final = st.builds(m.StickerMessage, FILLED.filter(bool), INT32, LATER)
IMAGES: Final = st.builds(m.ImageMessage, st.just(GIF) | st.binary(min_size=1, max_size=9), INT32.filter(bool), LATER)
AUDIOS: Final = st.builds(
    m.AudioMessage, st.just(AMR) | st.binary(min_size=1, max_size=9), INT32.filter(bool), UINT64, LATER
)
_CONTENTS: Final = st.sampled_from([1, 2, 3, 4, 7, 8, 9, 12, -1])


@st.composite
def _chat_messages(draw: st.DrawFn, **fixed: Any) -> m.ChatMessage:
    kind = draw(_CONTENTS)
    which = {2: "sticker", 7: "image", 8: "audio"}.get(kind) or draw(
        st.sampled_from(["sticker", "image", "audio", None])
    )
    part = {"sticker": STICKERS, "image": IMAGES, "audio": AUDIOS}
    return m.ChatMessage(
        clock=draw(CLOCKS),
        timestamp=draw(UINT64.filter(bool)),
        text=draw(FILLED if kind in (1, 3, 4) else LINES),
        chat_id=fixed.get("chat_id") or draw(CHATS.filter(lambda chat: chat not in (ID, "0x" + "ab" * 32))),
        message_type=fixed.get("message_type") or draw(KINDS),
        content_type=kind,
        response_to=draw(st.just("") | IDS),
        ens_name=draw(LINES),
        **({which: draw(part[which])} if which else {}),
        unknown=draw(LATER),
    )


CHAT_MESSAGES: Final = _chat_messages()


def _reactions(**fixed: Any) -> st.SearchStrategy[m.EmojiReaction]:
    return _valid(
        m.EmojiReaction,
        clock=CLOCKS,
        chat_id=st.just(fixed["chat_id"]) if fixed else CHATS,
        message_id=IDS,
        message_type=st.just(fixed["message_type"]) if fixed else KINDS,
        type=st.integers(1, 6) | INT32.filter(bool),
        retracted=st.booleans(),
        unknown=LATER,
    )


REACTIONS: Final = _reactions()


@st.composite
def _updates(draw: st.DrawFn) -> m.MembershipUpdateMessage:
    group = draw(st.sampled_from([GROUP, OTHER_GROUP]))
    within = {"chat_id": group, "message_type": ChatKind.PRIVATE_GROUP}
    which = draw(st.sampled_from(["message", "emoji_reaction", None]))
    part = {"message": _chat_messages(**within), "emoji_reaction": _reactions(**within)}
    return m.MembershipUpdateMessage(
        group,
        tuple(draw(st.lists(BLOBS | st.just(founding(group)), max_size=3))),
        **({which: draw(part[which])} if which else {}),
        unknown=draw(LATER),
    )


EVENTS: Final = st.builds(m.MembershipUpdateEvent, CLOCKS, INT32, st.lists(LINES, max_size=3).map(tuple), LINES, LATER)

MESSAGES: Final[st.SearchStrategy[m.StatusMessage]] = st.one_of(
    CHAT_MESSAGES,
    REACTIONS,
    _updates(),
    _valid(m.ContactUpdate, clock=CLOCKS, ens_name=ENS_NAMES, profile_image=PICTURES, unknown=LATER),
    _valid(
        m.PairInstallation,
        clock=CLOCKS,
        installation_id=FILLED,
        device_type=FILLED,
        name=FILLED,
        # Also the two fields of later versions that are known by their wire types; an empty one is as none.
        unknown=LATER
        | st.builds(
            lambda number, blob: bytes(Field(5, number)) + bytes(Field(6, blob)), st.integers(1, 4), BLOBS.filter(bool)
        ),
    ),
    _valid(
        m.SyncInstallationContact,
        clock=CLOCKS,
        id=st.sampled_from([ALICE.public, BOB.public]),
        profile_image=PICTURES,
        ens_name=ENS_NAMES,
        last_updated=UINT64,
        system_tags=st.lists(LINES, max_size=2).map(tuple),
        local_nickname=LINES,
        unknown=LATER,
    ),
    _valid(m.SyncInstallationPublicChat, clock=CLOCKS, id=LINES, unknown=LATER),
    _valid(
        m.GroupChatInvitation,
        clock=CLOCKS,
        chat_id=st.sampled_from([GROUP, OTHER_GROUP]),
        introduction_message=LINES,
        state=st.integers(1, 3) | INT32.filter(bool),
        unknown=LATER,
    ),
    _valid(
        m.PinMessage,
        clock=CLOCKS,
        message_id=IDS,
        chat_id=CHATS,
        message_type=KINDS,
        pinned=st.booleans(),
        unknown=LATER,
    ),
    _valid(
        m.EditMessage,
        clock=CLOCKS,
        text=FILLED,
        chat_id=CHATS,
        message_id=IDS,
        message_type=KINDS,
        content_type=INT32,
        grant=BLOBS,
        unknown=LATER,
    ),
    _valid(
        m.DeleteMessage,
        clock=CLOCKS,
        chat_id=CHATS,
        message_id=IDS,
        message_type=KINDS,
        grant=BLOBS,
        deleted_by=LINES,
        unknown=LATER,
    ),
    _valid(m.SyncClearHistory, chat_id=CHATS, cleared_at=CLOCKS, unknown=LATER),
    _valid(m.SyncDeleteForMeMessage, clock=CLOCKS, message_id=IDS, unknown=LATER),
    _valid(
        m.ChatMessageIdentity,
        clock=CLOCKS,
        ens_name=ENS_NAMES,
        display_name=LINES,
        profile_image=st.none()
        | _valid(
            m.ProfileImage,
            payload=PICTURES | LINES,
            source_type=st.integers(0, 3),
            image_type=st.integers(0, 4),
            unknown=LATER,
        ),
        unknown=LATER,
    ),
)
"""Valid messages of every type."""
