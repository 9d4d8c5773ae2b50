"""The types of pictures and sounds, and the first bytes by which each is known."""

from enum import StrEnum

from postroom.protocols.status.media import adts, amr, gif, jpeg, png, webp


class MediaType(StrEnum):
    """The types of 6/PAYLOADS, by their names in ImageType and AudioType."""

    JPEG = "JPEG"
    PNG = "PNG"
    WEBP = "WEBP"
    GIF = "GIF"
    AAC = "AAC"
    AMR = "AMR"

    @property
    def is_audio(self) -> bool:
        """Whether it is a sound; otherwise it is a picture."""
        return self in (MediaType.AAC, MediaType.AMR)


def media_type_of(data: bytes) -> MediaType | None:
    """The type by the first bytes; None: none of these. AAC may have ID3v2 tags in front."""
    if data.startswith(jpeg.MAGIC):
        return MediaType.JPEG
    if data.startswith(png.MAGIC):
        return MediaType.PNG
    if webp.begins(data):
        return MediaType.WEBP
    if data.startswith(gif.MAGICS):
        return MediaType.GIF
    if data.startswith(amr.MAGIC):
        return MediaType.AMR
    return MediaType.AAC if adts.begins(data) else None
