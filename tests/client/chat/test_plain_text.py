"""What a dm3 client shows of chat messages that knows nothing of Status."""

import pytest

from postroom.client.chat.plain_text import differs, plain_text
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind, ReactionKind
from postroom.protocols.status.messages import (
    ChatMessageIdentity,
    MembershipUpdateMessage,
    StatusMessage,
    StickerMessage,
    SyncInstallationPublicChat,
)
from postroom.protocols.status.verify import ChatRef

CHAT = ChatRef(ChatKind.PUBLIC_GROUP, "tea")
GROUP = f"3f1d6b5e-6d3a-4c7b-9f0a-2b1c3d4e5f60-{AuthorKey.from_secret(bytes([1] * 32)).public}"
ID = "0x" + "ab" * 32
TEXT = sending.text_message(CHAT, 1, 1, "hello")
REPLY = sending.text_message(CHAT, 1, 1, "yes", ID)
OF_GROUP = sending.text_message(ChatRef(ChatKind.PRIVATE_GROUP, GROUP), 1, 1, "yes", ID)

SHOWN: dict[str, tuple[StatusMessage, str]] = {
    "a text": (TEXT, "hello"),
    "an edit": (sending.edit(CHAT, 1, ID, "better"), "better"),
    "a sticker": (sending.sticker_message(CHAT, 1, 1, StickerMessage("e3", 1)), "Sticker"),
    "a reaction": (sending.reaction(CHAT, 1, ID, ReactionKind.THUMBS_UP), "👍"),
    "an unknown reaction": (sending.reaction(CHAT, 1, ID, 99), "reaction 99"),
    "a retraction": (sending.reaction(CHAT, 1, ID, ReactionKind.SAD, retracted=True), "(took back: 😢)"),
    "a deletion": (sending.deletion(CHAT, 1, ID), "(deleted a message)"),
    "a pin": (sending.pin(CHAT, 1, ID, pinned=True), "(pinned a message)"),
    "no pin": (sending.pin(CHAT, 1, ID, pinned=False), "(unpinned a message)"),
    "an identity": (ChatMessageIdentity(1, "alice.eth"), "(profile updated)"),
    "a group's message": (MembershipUpdateMessage(GROUP, (), OF_GROUP), "yes"),
    "a group's change": (MembershipUpdateMessage(GROUP, ()), "(group updated)"),
    "data of devices": (SyncInstallationPublicChat(1, "tea"), "(data of own devices)"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_plain_client_shows_a_text_for_everything(what: str) -> None:
    message, text = SHOWN[what]
    assert plain_text(message) == text


def test_a_text_that_is_not_the_payloads_differs() -> None:
    assert not differs("hello", TEXT)
    assert not differs("", TEXT)
    assert differs("hello", REPLY)
