"""The type of a picture or a sound is that of its first bytes."""

import pytest
from tests.protocols.status.media.samples import SAMPLES
from tests.protocols.status.media.sounds import adts, id3v2

from postroom.protocols.status.media import MediaType, media_type_of


@pytest.mark.parametrize("kind", MediaType)
def test_the_type_is_known_by_the_first_bytes(kind: MediaType) -> None:
    for data in SAMPLES[kind]:
        assert media_type_of(data) is kind


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff", MediaType.JPEG),
        (b"\xff\xd8", None),
        (b"\x89PNG\r\n\x1a\n", MediaType.PNG),
        (b"\x89PNG\n\x1a\n", None),
        (b"RIFF\0\0\0\0WEBP", MediaType.WEBP),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"RIFF", None),
        (b"GIF87a", MediaType.GIF),
        (b"GIF89a", MediaType.GIF),
        (b"GIF", None),
        (b"#!AMR\n", MediaType.AMR),
        (b"#!AMR-WB\n", None),
        (b"\xff\xf1", MediaType.AAC),
        (b"\xff\xf9", MediaType.AAC),
        (b"\xff\xfb", None),
        (b"\xff", None),
        (id3v2() + adts(), MediaType.AAC),
        (id3v2() + b"\xff\xfb\x90", None),
        (id3v2(size=9999) + adts(), None),
        (b"ID3", None),
        (b"", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
    ],
)
def test_nothing_else_is_a_type(data: bytes, kind: MediaType | None) -> None:
    assert media_type_of(data) is kind


def test_pictures_and_sounds_are_told_apart() -> None:
    assert [kind for kind in MediaType if kind.is_audio] == [MediaType.AAC, MediaType.AMR]
