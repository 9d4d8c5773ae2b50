"""The picture or the sound of a message: what fails costs it, and not the message (decision "Media")."""

from typing import Any

import pytest
from tests.protocols.status.known import AMR, GIF, image, refused, text

from postroom.protocols.status import messages as m
from postroom.protocols.status.enums import AudioType, ContentType, ImageType
from postroom.protocols.status.media import MediaLimits, MediaType
from postroom.protocols.status.message_media import MessageMedia, media_of
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE


def audio(payload: bytes = AMR, type_: int = AudioType.AMR) -> m.ChatMessage:
    return text("", content_type=ContentType.AUDIO, audio=m.AudioMessage(payload, type_))


def found(message: m.ChatMessage) -> MessageMedia:
    media = media_of(message)
    assert media is not None
    return media


def test_the_media_is_what_the_content_type_names() -> None:
    assert media_of(image()) == MessageMedia(ContentType.IMAGE, MediaType.GIF, GIF)
    assert media_of(audio()) == MessageMedia(ContentType.AUDIO, MediaType.AMR, AMR)
    assert media_of(text()) is None
    assert media_of(text(image=m.ImageMessage(GIF, ImageType.GIF))) is None
    assert media_of(text(content_type=99, image=m.ImageMessage(GIF, ImageType.GIF))) is None


@pytest.mark.parametrize("number", [each for each in ImageType if each])
def test_every_known_type_of_picture_has_a_walker(number: ImageType) -> None:
    assert found(image(type_=number)).type is MediaType(number.name)


@pytest.mark.parametrize("number", [each for each in AudioType if each])
def test_every_known_type_of_sound_has_a_walker(number: AudioType) -> None:
    assert found(audio(type_=number)).type is MediaType(number.name)


def test_what_is_good_is_cleaned() -> None:
    assert found(image(GIF + b"behind the end")).clean().data == GIF
    assert found(image()).as_json() == {"kind": "image", "type": "GIF", "bytes": len(GIF), "reason": None}
    assert found(audio()).as_json() == {"kind": "audio", "type": "AMR", "bytes": len(AMR), "reason": None}


@pytest.mark.parametrize(
    ("message", "reason"),
    [(image(type_=ImageType.PNG), MEDIA_INVALID), (image(b"<svg/>"), MEDIA_INVALID), (image(type_=9), MEDIA_INVALID),
     (image(b"https://a.example/b.gif"), MEDIA_INVALID), (audio(GIF), MEDIA_INVALID), (audio(type_=-1), MEDIA_INVALID),
     (image(GIF + bytes(MediaLimits().image_bytes)), MEDIA_TOO_LARGE),
     (audio(AMR + bytes(MediaLimits().audio_bytes)), MEDIA_TOO_LARGE)],
    ids=["another picture", "SVG", "an unknown type", "an address", "a picture as a sound", "a negative type",
         "a large picture", "a large sound"],
)  # fmt: skip
def test_what_is_not_has_a_reason(message: m.ChatMessage, reason: Any) -> None:
    refused(lambda: found(message).clean(), reason)
    assert found(message).as_json()["reason"] == str(reason)
