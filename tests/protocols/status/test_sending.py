"""What a user sends has all fields that receivers need, and none that they should not be sent (6/PAYLOADS)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import ALICE, BOB, CAROL, NOW_MS, add, received

from postroom.core.errors import TheirError
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.clock import MOST_AHEAD_MS, next_clock
from postroom.protocols.status.codec import read_payload, type_of_message, write_payload
from postroom.protocols.status.enums import AudioType, ChatKind, ContentType, ImageType, ReactionKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.messages import (
    AudioMessage,
    ChatMessage,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    ImageMessage,
    PinMessage,
    StatusMessage,
    StickerMessage,
)
from postroom.protocols.status.proto import payloads_pb2 as pb
from postroom.protocols.status.sending import (
    audio_message,
    deletion,
    edit,
    image_message,
    pin,
    reaction,
    sticker_message,
    text_message,
)
from postroom.protocols.status.verify import ChatRef

GROUP = group_id("0193a1b2-0000-4000-8000-000000000001", ALICE.public)
CHATS = [
    ChatRef(ChatKind.ONE_TO_ONE, BOB.public),
    ChatRef(ChatKind.PUBLIC_GROUP, "town"),
    ChatRef(ChatKind.PRIVATE_GROUP, GROUP),
]
EVERY_CHAT = pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.kind.name)
CLOCK = NOW_MS + 1
TARGET = MessageId("0x" + "ab" * 32)
STICKER = StickerMessage("e30101701220" + "cd" * 32, 4)
PICTURE = Cleaned(b"a picture", {}, width=2, height=3, frames=1)
SOUND = Cleaned(b"a sound", {}, frames=50, duration_ms=1000)

ALL: list[Callable[[ChatRef], StatusMessage]] = [
    lambda chat: text_message(chat, CLOCK, NOW_MS, "hello"),
    lambda chat: text_message(chat, CLOCK, NOW_MS, "hello", TARGET),
    lambda chat: sticker_message(chat, CLOCK, NOW_MS, STICKER, TARGET),
    lambda chat: image_message(chat, CLOCK, NOW_MS, PICTURE, MediaType.PNG, "look", TARGET),
    lambda chat: image_message(chat, CLOCK, NOW_MS, PICTURE, MediaType.JPEG),
    lambda chat: audio_message(chat, CLOCK, NOW_MS, SOUND, MediaType.AAC, TARGET),
    lambda chat: reaction(chat, CLOCK, TARGET, ReactionKind.LOVE),
    lambda chat: reaction(chat, CLOCK, TARGET, ReactionKind.LOVE, retracted=True),
    lambda chat: edit(chat, CLOCK, TARGET, "hello again"),
    lambda chat: deletion(chat, CLOCK, TARGET),
    lambda chat: pin(chat, CLOCK, TARGET, pinned=True),
    lambda chat: pin(chat, CLOCK, TARGET, pinned=False),
]


# --- messages -------------------------------------------------------------------------------------------------------


@EVERY_CHAT
def test_a_text(chat: ChatRef) -> None:
    assert text_message(chat, CLOCK, NOW_MS, "hello", TARGET) == ChatMessage(
        clock=CLOCK,
        timestamp=NOW_MS,
        text="hello",
        chat_id=chat.id,
        message_type=chat.kind,
        content_type=ContentType.TEXT_PLAIN,
        response_to=TARGET,
    )
    assert text_message(chat, CLOCK, NOW_MS, "hello").response_to == ""


@EVERY_CHAT
def test_a_sticker_has_its_hash_and_its_pack(chat: ChatRef) -> None:
    message = sticker_message(chat, CLOCK, NOW_MS, STICKER)
    assert (message.content_type, message.sticker) == (ContentType.STICKER, STICKER)
    assert (message.image, message.audio) == (None, None)
    # Status's clients refuse one without a text.
    assert message.text == "Sticker"


@pytest.mark.parametrize("type_", [MediaType.PNG, MediaType.JPEG, MediaType.WEBP, MediaType.GIF])
def test_a_picture_has_its_bytes_and_its_type(type_: MediaType) -> None:
    message = image_message(CHATS[0], CLOCK, NOW_MS, PICTURE, type_)
    assert (message.content_type, message.image) == (
        ContentType.IMAGE,
        ImageMessage(b"a picture", ImageType[type_.value]),
    )
    assert (message.sticker, message.audio, message.text) == (None, None, "")
    assert image_message(CHATS[0], CLOCK, NOW_MS, PICTURE, type_, "look").text == "look"


@pytest.mark.parametrize("type_", [MediaType.AAC, MediaType.AMR])
def test_a_sound_has_its_bytes_its_type_and_its_duration(type_: MediaType) -> None:
    message = audio_message(CHATS[0], CLOCK, NOW_MS, SOUND, type_)
    assert (message.content_type, message.audio) == (
        ContentType.AUDIO,
        AudioMessage(b"a sound", AudioType[type_.value], 1000),
    )
    assert (message.sticker, message.image, message.text) == (None, None, "Sound")


def test_pictures_and_sounds_are_not_mixed_up() -> None:
    with pytest.raises(ValueError, match="AAC is no type of pictures"):
        image_message(CHATS[0], CLOCK, NOW_MS, PICTURE, MediaType.AAC)
    with pytest.raises(ValueError, match="PNG is no type of sounds"):
        audio_message(CHATS[0], CLOCK, NOW_MS, SOUND, MediaType.PNG)


@pytest.mark.parametrize("duration_ms", [None, 0])
def test_a_sound_without_a_duration_is_refused(duration_ms: int | None) -> None:
    with pytest.raises(ValueError, match="the sound is empty"):
        audio_message(CHATS[0], CLOCK, NOW_MS, Cleaned(b"a sound", {}, duration_ms=duration_ms), MediaType.AMR)


# --- about messages -------------------------------------------------------------------------------------------------


@EVERY_CHAT
@pytest.mark.parametrize("kind", [*list(ReactionKind)[1:], 99])
def test_a_reaction_has_all_five_fields(chat: ChatRef, kind: int) -> None:
    message = reaction(chat, CLOCK, TARGET, kind)
    assert message == EmojiReaction(CLOCK, chat.id, TARGET, chat.kind, kind, retracted=False)
    written = pb.EmojiReaction.FromString(write_payload(message))
    assert {field.name for field, _ in written.ListFields()} == {
        "clock",
        "chat_id",
        "message_id",
        "message_type",
        "type",
    }


def test_a_reaction_is_taken_back() -> None:
    assert reaction(CHATS[0], CLOCK, TARGET, ReactionKind.SAD, retracted=True).retracted


@EVERY_CHAT
def test_an_edit_leaves_the_type_of_the_content(chat: ChatRef) -> None:
    message = edit(chat, CLOCK, TARGET, "hello again")
    assert message == EditMessage(CLOCK, "hello again", chat.id, TARGET, chat.kind)
    assert message.content_type == ContentType.UNKNOWN_CONTENT_TYPE


@EVERY_CHAT
def test_a_deletion_and_a_pin(chat: ChatRef) -> None:
    assert deletion(chat, CLOCK, TARGET) == DeleteMessage(CLOCK, chat.id, TARGET, chat.kind)
    assert pin(chat, CLOCK, TARGET, pinned=True) == PinMessage(CLOCK, TARGET, chat.id, chat.kind, pinned=True)
    assert not pin(chat, CLOCK, TARGET, pinned=False).pinned


# --- all ------------------------------------------------------------------------------------------------------------


@EVERY_CHAT
@pytest.mark.parametrize("make", ALL)
def test_all_of_it_is_read_as_it_was_written(make: Callable[[ChatRef], StatusMessage], chat: ChatRef) -> None:
    message = make(chat)
    assert read_payload(type_of_message(message), write_payload(message)) == message


@EVERY_CHAT
@pytest.mark.parametrize("make", ALL)
def test_neither_ens_name_nor_deleted_by_is_sent(make: Callable[[ChatRef], StatusMessage], chat: ChatRef) -> None:
    message = make(chat)
    assert getattr(message, "ens_name", "") == getattr(message, "deleted_by", "") == ""


@pytest.mark.parametrize("make", ALL)
def test_the_other_of_a_chat_of_two_finds_it_in_the_chat_with_the_sender(
    make: Callable[[ChatRef], StatusMessage],
) -> None:
    message = make(ChatRef(ChatKind.ONE_TO_ONE, BOB.public))
    assert received(message, ALICE, BOB).chat == ChatRef(ChatKind.ONE_TO_ONE, ALICE.public)
    assert received(message, ALICE, ALICE).chat == ChatRef(ChatKind.ONE_TO_ONE, BOB.public)
    with pytest.raises(TheirError, match="WrittenToAnother"):
        received(message, ALICE, CAROL)


@EVERY_CHAT
@pytest.mark.parametrize("make", [each for each in ALL if not isinstance(each(CHATS[0]), ChatMessage | EmojiReaction)])
def test_edits_deletions_and_pins_go_to_a_group_by_themselves(
    make: Callable[[ChatRef], StatusMessage], chat: ChatRef
) -> None:
    expected = ChatRef(ChatKind.ONE_TO_ONE, ALICE.public) if chat.kind is ChatKind.ONE_TO_ONE else chat
    assert received(make(chat), ALICE, BOB).chat == expected


@given(st.lists(st.integers(1, NOW_MS + MOST_AHEAD_MS), max_size=8), st.booleans())
def test_the_next_clock_is_always_last(clocks: list[int], is_mine: bool) -> None:
    """Also after messages that are ahead of us; after a millisecond ours is not too far ahead for the others."""
    chat = ChatRef(ChatKind.ONE_TO_ONE, BOB.public)
    log = ChatLog(ALICE.public)
    for clock in clocks:
        author, to = (ALICE, BOB) if is_mine else (BOB, ALICE)
        add(log, text_message(ChatRef(chat.kind, to.public), clock, NOW_MS, "before"), author, ALICE)
    now_ms = NOW_MS + 1
    clock = next_clock(now_ms, ChatView(log).clock(chat))
    add(log, text_message(chat, clock, now_ms, "after"), ALICE, ALICE, now_ms)
    shown = ChatView(log).messages(chat)
    assert shown[-1].text == "after"
    assert len(shown) == len(set(clocks)) + 1
