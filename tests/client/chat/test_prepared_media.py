"""Sounds and stickers that are sent in a chat."""

import pytest
from tests.client.chat.network import BOB, Device
from tests.protocols.status.media.pictures import HTML, jpeg
from tests.protocols.status.media.sounds import adts, amr, amr_frame, id3v2

from postroom.client.chat import NoSuchChatError
from postroom.client.chat.prepared_media import prepare_sound
from postroom.core.errors import TheirError
from postroom.protocols.status.media import MediaType, clean
from postroom.protocols.status.messages import AudioMessage, StickerMessage
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE


@pytest.mark.parametrize(
    ("data", "type_", "number"),
    [(id3v2() + adts(100), MediaType.AAC, 1), (amr(amr_frame(), amr_frame()), MediaType.AMR, 2)],
    ids=["AAC", "AMR"],
)
def test_a_sound_arrives_without_metadata_and_with_its_duration(
    alice: Device, bob: Device, data: bytes, type_: MediaType, number: int
) -> None:
    question = alice.send(BOB, "how does it sound?").id
    sound = prepare_sound(data)
    cleaned = clean(data, type_)
    assert (sound.cleaned, sound.type) == (cleaned, type_)
    assert cleaned.duration_ms
    alice.chats.send_sound(BOB, sound.cleaned, sound.type, reply_to=question)
    bob.pull()
    shown = bob.last("alice.eth")
    assert shown.response_to == question
    assert shown.message is not None
    assert shown.message.audio == AudioMessage(cleaned.data, number, cleaned.duration_ms)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", MEDIA_INVALID),
        (HTML, MEDIA_INVALID),
        (jpeg(), MEDIA_INVALID),
        (b"#!AMR-WB\n" + bytes(40), MEDIA_INVALID),
        (b"#!AMR\n", MEDIA_INVALID),
        (adts(5) + bytes(1_048_576), MEDIA_TOO_LARGE),
    ],
    ids=["nothing", "HTML", "a picture", "AMR-WB", "no frames", "too long"],
)
def test_anything_but_aac_and_amr_is_refused(data: bytes, reason: object) -> None:
    with pytest.raises(TheirError) as caught:
        prepare_sound(data)
    assert caught.value.reason is reason


def test_a_sticker_arrives_with_its_hash_and_its_pack(alice: Device, bob: Device) -> None:
    question = alice.send(BOB, "well?").id
    alice.chats.send_sticker(BOB, StickerMessage("e301", 7), reply_to=question)
    bob.pull()
    shown = bob.last("alice.eth")
    assert shown.message is not None
    assert (shown.message.sticker, shown.response_to) == (StickerMessage("e301", 7), question)


def test_what_answers_no_message_and_a_picture_as_a_sound_are_not_sent(alice: Device) -> None:
    sound = prepare_sound(amr())
    with pytest.raises(NoSuchChatError):
        alice.chats.send_sound(BOB, sound.cleaned, sound.type, reply_to="0x00000000")
    with pytest.raises(NoSuchChatError):
        alice.chats.send_sticker(BOB, StickerMessage("e301"), reply_to="0x00000000")
    with pytest.raises(ValueError, match="no type of sounds"):
        alice.chats.send_sound(BOB, sound.cleaned, MediaType.PNG)
    assert alice.texts(BOB) == []


def test_of_a_message_the_picture_or_sound_is_found_as_it_was_received(alice: Device, bob: Device) -> None:
    sound = prepare_sound(amr())
    id_ = alice.chats.send_sound(BOB, sound.cleaned, sound.type).id
    text = alice.send(BOB, "hello").id
    bob.pull()
    media = bob.chats.media("alice.eth", id_[:10])
    assert (media.data, media.type) == (sound.cleaned.data, MediaType.AMR)
    with pytest.raises(NoSuchChatError, match="no picture and no sound"):
        bob.chats.media("alice.eth", text)
    alice.chats.delete(BOB, id_)
    bob.pull()
    with pytest.raises(NoSuchChatError, match="not shown any more"):
        bob.chats.media("alice.eth", id_)
