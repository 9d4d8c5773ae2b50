"""The rules of every type of message (6/PAYLOADS: Types of messages; decision "Payloads")."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.known import (
    ALICE,
    BOB,
    GIF,
    GROUP,
    ID,
    NOW,
    OFF_THE_CURVE,
    PICTURE,
    SAMPLES,
    founding,
    image,
    reaction,
    refused,
    text,
)
from tests.protocols.status.test_chats import NO_CHANNELS, NO_GROUPS

from postroom.protocols.status import messages as m
from postroom.protocols.status.checks import MAX_PROFILE_PICTURE_BYTES, MAX_TEXT, check_ens_name, picture_of
from postroom.protocols.status.enums import ChatKind, ContentType
from postroom.protocols.status.messages import MAX_EVENTS, clock_of
from postroom.protocols.status.reasons import (
    CHAT_INVALID,
    CLOCK_INVALID,
    MEDIA_INVALID,
    MEDIA_TOO_LARGE,
    PAYLOAD_INVALID,
    TEXT_INVALID,
)
from postroom.protocols.status.white_space import WHITE_SPACE

OTHER_ID = "0x" + "ab" * 32
BAD_IDS = ["", "0x", ID[2:], ID[:-1], ID + "0", ID.upper(), "0x" + "1D" * 32, ID + "\n", "https://a.example"]


def pin(**members: Any) -> m.PinMessage:
    whole = {"clock": NOW, "message_id": ID, "chat_id": BOB.public, "message_type": ChatKind.ONE_TO_ONE}
    return m.PinMessage(**{**whole, **members})


def edit(words: str = "Hallo", **members: Any) -> m.EditMessage:
    whole = {"clock": NOW, "message_id": ID, "chat_id": BOB.public, "message_type": ChatKind.ONE_TO_ONE}
    return m.EditMessage(**{**whole, "text": words, **members})


def deletion(**members: Any) -> m.DeleteMessage:
    whole = {"clock": NOW, "message_id": ID, "chat_id": BOB.public, "message_type": ChatKind.ONE_TO_ONE}
    return m.DeleteMessage(**{**whole, **members})


def contact(**members: Any) -> m.SyncInstallationContact:
    return m.SyncInstallationContact(**{"clock": NOW, "id": BOB.public, **members})


def pair(**members: Any) -> m.PairInstallation:
    return m.PairInstallation(
        **{"clock": NOW, "installation_id": "a1", "device_type": "ios", "name": "phone", **members}
    )


def invitation(**members: Any) -> m.GroupChatInvitation:
    return m.GroupChatInvitation(**{"clock": NOW, "chat_id": GROUP, "state": 1, **members})


IN_A_CHAT: list[Callable[..., Any]] = [text, reaction, pin, edit, deletion]
WITH_A_CLOCK: list[Callable[..., Any]] = [
    *IN_A_CHAT, contact, pair, invitation,
    lambda clock: m.ContactUpdate(clock), lambda clock: m.SyncInstallationPublicChat(clock, "status"),
    lambda clock: m.ChatMessageIdentity(clock), lambda clock: m.MembershipUpdateEvent(clock, 1),
    lambda clock: m.SyncClearHistory("status", clock), lambda clock: m.SyncDeleteForMeMessage(clock, ID),
]  # fmt: skip


# --- clocks and chats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", WITH_A_CLOCK)
def test_every_clock_is_above_0_and_below_2_to_the_63(make: Callable[..., Any]) -> None:
    for clock in (0, 1 << 63, (1 << 64) - 1):
        refused(lambda clock=clock: make(clock=clock), CLOCK_INVALID)
    for clock in (1, NOW, 1 << 53, (1 << 63) - 1):
        make(clock=clock)


def test_the_clock_of_every_type() -> None:
    without = {name for name, sample in SAMPLES.items() if clock_of(sample) is None}
    assert without == {"update of a group"}
    assert {clock_of(sample) for sample in SAMPLES.values()} == {NOW, None}
    assert clock_of(m.SyncClearHistory("status", 7)) == 7
    assert clock_of(m.MembershipUpdateMessage(GROUP, message=text(clock=8, chat_id=GROUP, message_type=3))) == 8


@pytest.mark.parametrize("make", IN_A_CHAT)
def test_what_is_in_a_chat_says_in_which(make: Callable[..., Any]) -> None:
    for kind in (ChatKind.UNKNOWN_MESSAGE_TYPE, ChatKind.SYSTEM_MESSAGE_PRIVATE_GROUP):
        assert kind.name in refused(lambda kind=kind: make(message_type=kind), PAYLOAD_INVALID)
    assert "empty" in refused(lambda: make(chat_id=""), CHAT_INVALID)
    # Otherwise a reaction in a channel of that name, under the label PIN_MESSAGE, would be a pin (decision "Payloads").
    for kind in (ChatKind.ONE_TO_ONE, ChatKind.PUBLIC_GROUP, ChatKind.PRIVATE_GROUP, 99):
        assert "ID of a message" in refused(lambda kind=kind: make(message_type=kind, chat_id=OTHER_ID), CHAT_INVALID)
    # What no rule needs is kept: which chats there are is checked with the author (verify).
    for kind in (ChatKind.ONE_TO_ONE, ChatKind.PUBLIC_GROUP, ChatKind.PRIVATE_GROUP, 99, -1):
        make(message_type=kind, chat_id="anything")


@pytest.mark.parametrize("bad", BAD_IDS)
def test_an_id_is_0x_and_64_hex_digits_in_lower_case(bad: str) -> None:
    for make in (reaction, pin, edit, deletion):
        assert "message_id" in refused(lambda make=make: make(message_id=bad), PAYLOAD_INVALID)
    assert "message_id" in refused(lambda: m.SyncDeleteForMeMessage(NOW, bad), PAYLOAD_INVALID)
    if bad:
        assert "response_to" in refused(lambda: text(response_to=bad), PAYLOAD_INVALID)


# --- texts --------------------------------------------------------------------------------------------------------

BLANKS = ["", " ", "\t\n\v\f\r", WHITE_SPACE, *WHITE_SPACE, " \u3000\u2028"]
NOT_BLANK = [
    *("\u200b", "\ufeff", "\0", "\x1c", "\x1d", "\x1e", "\x1f", "\u180e", "\u2060", "\u200d", "\u202e", "\u2066"),
    *("\x1b[2J", "a", " a ", "\u0301"),
]


@pytest.mark.parametrize("kind", [ContentType.TEXT_PLAIN, ContentType.STATUS, ContentType.EMOJI])
def test_a_text_is_not_blank(kind: ContentType) -> None:
    for blank in BLANKS:
        assert "blank" in refused(lambda blank=blank: text(blank, content_type=kind), TEXT_INVALID)
    for words in NOT_BLANK:
        assert text(words, content_type=kind).text == words


def test_nor_is_that_of_an_edit() -> None:
    for blank in BLANKS:
        assert "blank" in refused(lambda blank=blank: edit(blank), TEXT_INVALID)
    for words in NOT_BLANK:
        assert edit(words).text == words


@pytest.mark.parametrize("letter", ["a", "É", "字", "😀"])
def test_a_text_has_at_most_4096_code_points(letter: str) -> None:
    assert MAX_TEXT == 4096
    for make in (text, edit):
        make(letter * 4096)
        assert "4097" in refused(lambda make=make: make(letter * 4097), TEXT_INVALID)
    # What would be trimmed counts.
    refused(lambda: text(letter * 4096 + " "), TEXT_INVALID)
    refused(lambda: text(" " * 4097), TEXT_INVALID)


@pytest.mark.parametrize("kind", [ContentType.STICKER, ContentType.IMAGE, ContentType.AUDIO, 9, 99, -1])
def test_other_content_may_come_without_a_text_and_with_none_too_long(kind: int) -> None:
    whole = {
        ContentType.STICKER: {"sticker": m.StickerMessage("hash")},
        ContentType.IMAGE: {"image": m.ImageMessage(b"x", 1)},
        ContentType.AUDIO: {"audio": m.AudioMessage(b"x", 1)},
    }.get(kind, {})  # type: ignore[call-overload]
    for words in ("", " ", "x" * 4096):
        text(words, content_type=kind, **whole)
    refused(lambda: text("x" * 4097, content_type=kind, **whole), TEXT_INVALID)


def test_names_and_introductions_are_texts_too() -> None:
    m.ChatMessageIdentity(NOW, display_name="x" * 4096)
    refused(lambda: m.ChatMessageIdentity(NOW, display_name="x" * 4097), TEXT_INVALID)
    invitation(introduction_message="x" * 4096)
    refused(lambda: invitation(introduction_message="x" * 4097), TEXT_INVALID)


# --- chat messages ------------------------------------------------------------------------------------------------


def test_a_timestamp_is_not_0() -> None:
    assert "timestamp" in refused(lambda: text(timestamp=0), PAYLOAD_INVALID)
    for timestamp in (1, NOW + 120_001, (1 << 64) - 1):
        text(timestamp=timestamp)


@pytest.mark.parametrize("kind", [0, 5, 6])
def test_what_is_local_or_unknown_is_not_received(kind: int) -> None:
    assert ContentType(kind).name in refused(lambda: text(content_type=kind), PAYLOAD_INVALID)


@pytest.mark.parametrize("kind", [ContentType.STICKER, ContentType.IMAGE, ContentType.AUDIO])
def test_the_content_is_that_of_the_content_type(kind: ContentType) -> None:
    parts: dict[str, Any] = {
        "sticker": m.StickerMessage("hash"),
        "image": m.ImageMessage(b"x", 1),
        "audio": m.AudioMessage(b"x", 1),
    }
    for name, part in parts.items():
        if name == kind.name.lower():
            text(content_type=kind, **{name: part})
        else:
            assert kind.name in refused(
                lambda name=name, part=part: text(content_type=kind, **{name: part}), PAYLOAD_INVALID
            )
        # Of a text it is not looked at.
        text(**{name: part})
    refused(lambda: text(content_type=kind), PAYLOAD_INVALID)
    refused(lambda: text(sticker=parts["sticker"], image=parts["image"]), PAYLOAD_INVALID)


def test_a_sticker_has_a_hash_and_any_pack() -> None:
    assert "hash" in refused(lambda: m.StickerMessage(""), PAYLOAD_INVALID)
    for pack in (0, -1, (1 << 31) - 1):
        m.StickerMessage("e3010170", pack)


def test_a_picture_and_a_sound_have_bytes_and_a_type() -> None:
    for make in (m.ImageMessage, m.AudioMessage):
        refused(lambda make=make: make(b"", 1), PAYLOAD_INVALID)
        refused(lambda make=make: make(b"x", 0), PAYLOAD_INVALID)
        # What is in them is for `media`, and costs the picture, not the message (decision "Media").
        make(b"x", 99)
    assert m.AudioMessage(b"x", 1).duration_ms == 0
    assert image(b"https://a.example/b.png").image


# --- reactions, invitations, groups -------------------------------------------------------------------------------


def test_a_reaction_has_a_kind() -> None:
    assert "type" in refused(lambda: reaction(type=0), PAYLOAD_INVALID)
    for kind in (1, 6, 7, 99, -1):
        reaction(type=kind)


def test_an_invitation_has_a_state() -> None:
    assert "state" in refused(lambda: invitation(state=0), PAYLOAD_INVALID)
    invitation(state=4)


@pytest.mark.parametrize("group", NO_GROUPS.values(), ids=NO_GROUPS)
def test_updates_and_invitations_are_of_a_group(group: str) -> None:
    refused(lambda: m.MembershipUpdateMessage(group), CHAT_INVALID)
    refused(lambda: invitation(chat_id=group), CHAT_INVALID)


def test_an_update_has_at_most_1000_events() -> None:
    assert MAX_EVENTS == 1000
    m.MembershipUpdateMessage(GROUP, (founding(),) * 1000)
    assert "1000" in refused(lambda: m.MembershipUpdateMessage(GROUP, (founding(),) * 1001), PAYLOAD_INVALID)


def test_what_an_update_carries_is_of_its_group() -> None:
    in_group = {"chat_id": GROUP, "message_type": ChatKind.PRIVATE_GROUP}
    other = GROUP.replace("6f96", "6f97")
    m.MembershipUpdateMessage(GROUP, message=text(**in_group))
    m.MembershipUpdateMessage(GROUP, emoji_reaction=reaction(**in_group))
    for bad in ({**in_group, "chat_id": other}, {**in_group, "message_type": ChatKind.PUBLIC_GROUP}, {}):
        refused(lambda bad=bad: m.MembershipUpdateMessage(GROUP, message=text(**bad)), CHAT_INVALID)
        refused(lambda bad=bad: m.MembershipUpdateMessage(GROUP, emoji_reaction=reaction(**bad)), CHAT_INVALID)
    both = {"message": text(**in_group), "emoji_reaction": reaction(**in_group)}
    refused(lambda: m.MembershipUpdateMessage(GROUP, **both), PAYLOAD_INVALID)  # type: ignore[arg-type]


# --- devices ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["installation_id", "device_type", "name"])
def test_a_device_has_three_names_that_are_not_blank(name: str) -> None:
    for blank in BLANKS:
        assert name in refused(lambda blank=blank: pair(**{name: blank}), PAYLOAD_INVALID)
    for word in NOT_BLANK:
        pair(**{name: word})


def test_no_device_type_is_the_id_of_a_message() -> None:
    # Otherwise, under the label DELETE_MESSAGE, it would be a deletion (decision "Payloads").
    assert "device_type" in refused(lambda: pair(device_type=ID), PAYLOAD_INVALID)
    pair(installation_id=ID, name=ID)


@pytest.mark.parametrize(
    "bad", ["", "0x", BOB.public[2:], BOB.public.upper(), OFF_THE_CURVE, "zQ3sh", "alice.eth", BOB.public + "\n"]
)
def test_a_synced_contact_is_a_key(bad: str) -> None:
    assert "no chat key" in refused(lambda: contact(id=bad), PAYLOAD_INVALID)


def test_tags_and_nicknames_are_free() -> None:
    contact(system_tags=(":contact/added", "", "\0"), local_nickname="x" * 5000, last_updated=(1 << 64) - 1)


@pytest.mark.parametrize("name", NO_CHANNELS)
def test_a_synced_channel_is_one(name: str) -> None:
    refused(lambda: m.SyncInstallationPublicChat(NOW, name), CHAT_INVALID)


def test_a_cleared_history_is_of_a_chat() -> None:
    refused(lambda: m.SyncClearHistory("", NOW), CHAT_INVALID)
    m.SyncClearHistory("anything", NOW)


# --- names and profile pictures -----------------------------------------------------------------------------------

WITH_A_NAME: list[Callable[[str], Any]] = [
    lambda name: m.ContactUpdate(NOW, name), lambda name: m.ChatMessageIdentity(NOW, name),
    lambda name: contact(ens_name=name),
]  # fmt: skip
WITH_A_PICTURE: list[Callable[[str], Any]] = [
    lambda picture: m.ContactUpdate(NOW, profile_image=picture),
    lambda picture: contact(profile_image=picture),
    lambda picture: m.ProfileImage(picture, 1, 1),
]


@pytest.mark.parametrize("make", WITH_A_NAME)
def test_an_ens_name_is_empty_or_a_name_with_a_dot(make: Callable[[str], Any]) -> None:
    for name in ("", "alice.eth", "ALICE.eth", "a.b.c", "münchen.de", "1\ufe0f\u20e3.eth"):
        assert make(name).ens_name == name
    for name in ("alice", ".", "a..b", ".eth", "a b.eth", "a.eth\n", "\u202e.eth", "\u0430lice.eth", "x" * 256 + ".a",
                 ID, GROUP, BOB.public, "https://a.example"):  # fmt: skip
        assert "ens_name" in refused(lambda name=name: make(name), PAYLOAD_INVALID)


def test_that_of_a_chat_message_is_read_whatever_it_is() -> None:
    # It is deprecated, and shown only if it is a name (decision "Authors").
    for name in ("alice.eth", "alice", "\0", "x" * 5000):
        assert text(ens_name=name).ens_name == name


MAGICS = {
    "PNG": b"\x89PNG\r\n\x1a\n",
    "JPEG": b"\xff\xd8\xff",
    "GIF": GIF,
    "GIF87a": b"GIF87a",
    "WebP": b"RIFF\0\0\0\0WEBP",
}


@pytest.mark.parametrize("make", WITH_A_PICTURE)
@pytest.mark.parametrize("magic", MAGICS.values(), ids=MAGICS)
def test_a_profile_picture_is_base64_bare_or_in_a_data_uri(make: Callable[[str], Any], magic: bytes) -> None:
    encoded = base64.b64encode(magic + b"..").decode()
    for given_ in (encoded, f"data:image/png;base64,{encoded}", f"data:;base64,{encoded}"):
        make(given_)


@pytest.mark.parametrize("make", WITH_A_PICTURE)
@pytest.mark.parametrize(
    "bad",
    ["https://a.example/b.png", "http://a.example/?,x", "ipfs://bafybeigdyrzt", "ipns://a.eth", "QmY7Yh4U!",
     "data:image/png,x", f"data:image/png,{PICTURE}", f"https://a.example/;base64,{PICTURE}", f"x{PICTURE}", "é",
     f"{PICTURE}\n", f" {PICTURE}", PICTURE[:-1] + "*", "\ud800", "<svg/>"],
)  # fmt: skip
def test_it_is_no_address_of_one(make: Callable[[str], Any], bad: str) -> None:
    assert "base64" in refused(lambda: make(bad), PAYLOAD_INVALID)


HIDDEN = {
    "an address": b"https://a.example/b.png",
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "HTML": b"<!doctype html><script>",
    "PDF": b"%PDF-1.7",
    "the second half of a magic": b"PNG\r\n\x1a\n",
    "RIFF of sound": b"RIFF\0\0\0\0WAVE",
}


@pytest.mark.parametrize("make", WITH_A_PICTURE)
@pytest.mark.parametrize("inner", HIDDEN.values(), ids=HIDDEN)
def test_nor_anything_that_cannot_be_drawn(make: Callable[[str], Any], inner: bytes) -> None:
    for picture in (base64.b64encode(inner).decode(), f"data:image/png;base64,{base64.b64encode(inner).decode()}"):
        assert "PNG" in refused(lambda picture=picture: make(picture), MEDIA_INVALID)
    for address in ("/ipfs/Qm", "/ipns/alice1", "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG++"):
        assert "PNG" in refused(lambda address=address: make(address), MEDIA_INVALID)


@pytest.mark.parametrize("make", WITH_A_PICTURE)
def test_it_has_at_most_100_000_bytes(make: Callable[[str], Any]) -> None:
    assert MAX_PROFILE_PICTURE_BYTES == 100_000
    make(base64.b64encode(GIF.ljust(100_000, b"\0")).decode())
    for size in (100_001, 200_000, 1_000_000):
        too_large = base64.b64encode(GIF.ljust(size, b"\0")).decode()
        assert "100000" in refused(lambda too_large=too_large: make(too_large), MEDIA_TOO_LARGE)


@given(st.text(max_size=60))
def test_any_text_is_a_picture_or_is_refused(words: str) -> None:
    try:
        picture = picture_of(words)
    except m.TheirError:
        return
    assert base64.b64encode(picture).decode().rstrip("=") == words.rpartition(",")[2].rstrip("=") or picture == b""


def test_vectors_and_avatars_are_kept_and_need_base64() -> None:
    svg = base64.b64encode(HIDDEN["SVG"]).decode()
    for kind in (0, 2, 3, 99):
        assert m.ProfileImage(svg, 1, kind).payload == svg
        refused(lambda kind=kind: m.ProfileImage("https://a.example/b.svg", 1, kind), PAYLOAD_INVALID)
    refused(lambda: m.ProfileImage("", 1, 2), PAYLOAD_INVALID)


def test_an_ens_avatar_needs_an_ens_name_and_its_payload_is_ignored() -> None:
    avatar = m.ProfileImage("https://a.example/b.png", 2, 1)
    assert m.ChatMessageIdentity(NOW, "alice.eth", profile_image=avatar).profile_image == avatar
    assert "ENS" in refused(lambda: m.ChatMessageIdentity(NOW, profile_image=avatar), PAYLOAD_INVALID)


def test_names_are_not_looked_up_to_be_checked() -> None:
    check_ens_name("nobody-has-this-name.eth")
    assert m.ContactUpdate(NOW).ens_name == m.ContactUpdate(NOW).profile_image == ""
    assert ALICE.public
