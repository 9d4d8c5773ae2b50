"""Known answers of Status's payloads (tests/vectors), keys, and a valid message of each type."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.status import messages as m
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import (
    AudioType,
    ChatKind,
    ContentType,
    ImageType,
    InvitationState,
    MembershipEventType,
    PayloadType,
    ProfileImageSource,
    ProfileImageType,
    ReactionKind,
)
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.wrapper import write_wrapper

_VECTORS: Final = Path(__file__).parents[2] / "vectors"
STATUS: Final[dict[str, Any]] = json.loads((_VECTORS / "status.json").read_bytes())
VECTORS: Final[dict[str, dict[str, Any]]] = {each["name"]: each for each in STATUS["vectors"]}
GO_ROWS: Final[dict[str, dict[str, Any]]] = {
    each["name"]: each for each in json.loads((_VECTORS / "status-go.json").read_bytes())["rows"]
}
each_vector = pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)

ALICE: Final = AuthorKey.from_secret(bytes.fromhex(VECTORS["text one-to-one"]["author_private_key"]))
BOB: Final = AuthorKey.from_secret(bytes.fromhex(VECTORS["emoji reaction"]["author_private_key"]))
MALLORY: Final = AuthorKey.from_secret(b"mallory".rjust(32))

OFF_THE_CURVE: Final = "0x04" + "00" * 63 + "01"
NOW: Final = 1_600_000_000_000
ID: Final = "0x" + "1d" * 32
GROUP: Final = group_id("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", ALICE.public)

# A picture of one pixel and a tenth of a second of silence: small, and taken by the walkers.
GIF: Final = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
AMR: Final = b"#!AMR\n" + (b"\x04" + bytes(12)) * 5
PICTURE: Final = base64.b64encode(GIF).decode()


def text(words: str = "Hello", **members: Any) -> m.ChatMessage:
    """A text to Bob, with some members changed."""
    whole: dict[str, Any] = {
        "clock": NOW,
        "timestamp": NOW,
        "text": words,
        "chat_id": BOB.public,
        "message_type": ChatKind.ONE_TO_ONE,
        "content_type": ContentType.TEXT_PLAIN,
    }
    return m.ChatMessage(**{**whole, **members})


def image(payload: bytes = GIF, type_: int = ImageType.GIF, **members: Any) -> m.ChatMessage:
    """A picture to Bob, without a text."""
    return text("", content_type=ContentType.IMAGE, image=m.ImageMessage(payload, type_), **members)


def reaction(**members: Any) -> m.EmojiReaction:
    """A reaction to a message in the chat with Bob."""
    whole = {"chat_id": BOB.public, "message_type": ChatKind.ONE_TO_ONE, "type": ReactionKind.LOVE, "message_id": ID}
    return m.EmojiReaction(**{"clock": NOW, **whole, **members})


def founding(group: str = GROUP, key: AuthorKey = ALICE, clock: int = NOW) -> bytes:
    """The event with which a group begins."""
    event = m.MembershipUpdateEvent(clock, MembershipEventType.CHAT_CREATED, name="Choir")
    return sign_event(group, event, key)


IN_GROUP: Final = {"chat_id": GROUP, "message_type": ChatKind.PRIVATE_GROUP}
ONE_TO_ONE: Final = {"chat_id": BOB.public, "message_type": ChatKind.ONE_TO_ONE}

SAMPLES: Final[dict[str, m.StatusMessage]] = {
    "text": text(),
    "reply": text("Yes", response_to=ID, ens_name="alice.stateofus.eth"),
    "text in a channel": text(chat_id="status", message_type=ChatKind.PUBLIC_GROUP),
    "text in a group": text(**IN_GROUP),
    "sticker": text("", content_type=ContentType.STICKER, sticker=m.StickerMessage("e30101701220", 7)),
    "status": text("away", content_type=ContentType.STATUS),
    "emoji": text("🙂", content_type=ContentType.EMOJI),
    "image": image(),
    "audio": text("", content_type=ContentType.AUDIO, audio=m.AudioMessage(AMR, AudioType.AMR, 100)),
    "contact update": m.ContactUpdate(NOW, "alice.eth", PICTURE),
    "update of a group": m.MembershipUpdateMessage(GROUP, (founding(),)),
    "update with a text": m.MembershipUpdateMessage(GROUP, (founding(),), text(**IN_GROUP)),
    "update with a reaction": m.MembershipUpdateMessage(GROUP, emoji_reaction=reaction(**IN_GROUP)),
    "pair": m.PairInstallation(NOW, "a1b2", "desktop", "study"),
    "sync contact": m.SyncInstallationContact(
        NOW, BOB.public, PICTURE, "bob.eth", NOW - 1, (":contact/added",), "Bobby"
    ),
    "sync channel": m.SyncInstallationPublicChat(NOW, "status"),
    "reaction": reaction(),
    "retraction": reaction(retracted=True),
    "invitation": m.GroupChatInvitation(NOW, GROUP, "May I?", InvitationState.REQUEST),
    "pin": m.PinMessage(NOW, ID, **ONE_TO_ONE, pinned=True),
    "edit": m.EditMessage(NOW, "Hallo", message_id=ID, **ONE_TO_ONE, content_type=ContentType.TEXT_PLAIN),
    "deletion": m.DeleteMessage(NOW, message_id=ID, **ONE_TO_ONE),
    "clear": m.SyncClearHistory(BOB.public, NOW),
    "delete for me": m.SyncDeleteForMeMessage(NOW, ID),
    "identity": m.ChatMessageIdentity(
        NOW,
        "alice.eth",
        "Alice",
        m.ProfileImage(PICTURE, ProfileImageSource.RAW_PAYLOAD, ProfileImageType.RASTER_IMAGE_FILE),
    ),
}
"""Valid messages, at least one of each type, each to Bob or from Bob's other device."""
each_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def is_typed(type_: int) -> bool:
    """Whether the wrapper that clients send can carry a type."""
    return type_ != PayloadType.CHAT_MESSAGE_IDENTITY


def wrapped(payload: bytes, type_: int = PayloadType.CHAT_MESSAGE, key: AuthorKey | None = ALICE) -> bytes:
    """A wrapper of a payload, signed by a key."""
    return write_wrapper(payload, key.sign(payload) if key else b"", type_, typed=is_typed(type_))


def wrapper_of(message: m.StatusMessage, key: AuthorKey | None = ALICE) -> bytes:
    """A wrapper of a message, signed by a key."""
    return wrapped(write_payload(message), type_of_message(message), key)


@dataclass(frozen=True)
class Field:
    """A field as protobuf writes it: a number with a whole number (wire type 0), or with bytes (wire type 2)."""

    number: int
    value: int | bytes

    def __bytes__(self) -> bytes:
        if isinstance(self.value, int):
            return varint(self.number << 3) + varint(self.value)
        return varint(self.number << 3 | 2) + varint(len(self.value)) + self.value


def varint(number: int) -> bytes:
    """A whole number as protobuf writes it."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def refused(rule: Callable[[], object], reason: Reason) -> str:
    """The detail of a refusal, which must have this reason."""
    with pytest.raises(TheirError) as caught:
        rule()
    assert caught.value.reason is reason, caught.value
    return caught.value.detail


def own_of(message: m.StatusMessage) -> ChatKey:
    """The receiver of a sample: Alice's other device for what devices of one user say to each other, otherwise Bob."""
    return ALICE.public if isinstance(message, _DEVICES) else BOB.public


_DEVICES: Final = (
    m.PairInstallation
    | m.SyncInstallationContact
    | m.SyncInstallationPublicChat
    | m.SyncClearHistory
    | m.SyncDeleteForMeMessage
)
