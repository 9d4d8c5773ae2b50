"""Pictures that are sent in a chat."""

import pytest
from tests.client.chat.network import BOB, Device

from postroom.client.chat import NoSuchChatError
from postroom.demo.pictures import picture_taken_at
from postroom.protocols.status.media import MediaType, clean
from postroom.protocols.status.message_media import media_of

PICTURE = clean(picture_taken_at(1, 2), MediaType.JPEG)


def test_a_cleaned_picture_arrives_as_it_was_cleaned_with_its_text_and_what_it_answers(
    alice: Device, bob: Device
) -> None:
    question = alice.send(BOB, "a picture?").id
    sent = alice.chats.send_picture(BOB, PICTURE, MediaType.JPEG, "here", reply_to=question)
    bob.pull()
    message = bob.last("alice.eth")
    assert (message.id, message.text, message.response_to) == (sent.id, "here", question)
    assert message.message is not None
    media = media_of(message.message)
    assert media is not None
    assert (media.data, media.type) == (PICTURE.data, MediaType.JPEG)


def test_a_picture_needs_no_text(alice: Device, bob: Device) -> None:
    alice.chats.send_picture(BOB, PICTURE, MediaType.JPEG)
    bob.pull()
    assert bob.texts("alice.eth") == [""]


def test_a_picture_in_answer_to_no_message_and_a_sound_are_not_sent(alice: Device) -> None:
    with pytest.raises(NoSuchChatError):
        alice.chats.send_picture(BOB, PICTURE, MediaType.JPEG, reply_to="0x00000000")
    with pytest.raises(ValueError, match="no type of pictures"):
        alice.chats.send_picture(BOB, PICTURE, MediaType.AMR)
    assert alice.texts(BOB) == []
