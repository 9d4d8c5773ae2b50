"""Pictures of chats: one of the user's made ready to send, and one that came decoded to be shown.

    picture = prepare_picture(Path("holiday.jpg").read_bytes())
    chats.send_picture("bob.eth", picture.cleaned, picture.type)
    pixels = decode_picture(picture.cleaned.data, picture.type, 60, 40)
    for row in half_blocks(pixels):
        for top, bottom in row: ...

Only JPEG, PNG, WebP and GIF: SVG is never drawn. Pillow, of the extra `chat`, runs in a process of its own.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from postroom.client.chat.picture_process import PictureProcess
from postroom.client.chat.prepared_media import PreparedMedia
from postroom.core.errors import TheirError
from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType, clean, media_type_of
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE

MAX_FILE_BYTES: Final = 50_000_000
MAX_FILE_PIXELS: Final = 120_000_000
"""Of a picture to send, before it is made smaller. The largest of phones have 108 million."""
MAX_SENT_SIDE: Final = 2000
MAX_SENT_BYTES: Final = 350_000
"""As Status's own clients send them."""
MAX_PROFILE_SIDE: Final = 240
MAX_PROFILE_BYTES: Final = 38_400
"""Of a profile picture, as Status's own clients send it."""

PREPARING: Final = PictureProcess(seconds=60, memory_bytes=2 << 30)
DECODING: Final = PictureProcess(seconds=20, memory_bytes=1 << 29)

_LOOKS: Final = {"EXIF", "ICC"}
"""What may say that a picture looks different: turned, or in other colours. Of a GIF no viewer reads it."""

Colour: TypeAlias = tuple[int, int, int]
"""Red, green, blue, 0 to 255 each."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """A decoded picture. `rgb`: row by row, three bytes for each pixel."""

    width: int
    height: int
    rgb: bytes


def prepare_picture(data: bytes, process: PictureProcess = PREPARING) -> PreparedMedia:
    """Make a picture ready to send: upright, in sRGB, without metadata, within 2000 x 2000 pixels and 350,000 bytes.

    An animation that fits when it is cleaned stays one; of another its first picture is sent. What is transparent
    stays so. Raises TheirError: MediaInvalid for anything but a JPEG, PNG, WebP or GIF that can be decoded,
    MediaTooLarge; SettingsError: the extra `chat` is not installed, which an animation does not need.
    """
    type_ = _type_of_file(data)
    animation = _animation(data, type_)
    if animation is not None:
        return PreparedMedia(animation, type_)
    return _encoded(data, type_, MAX_SENT_SIDE, MAX_SENT_BYTES, process)


def prepare_profile_picture(data: bytes, process: PictureProcess = PREPARING) -> PreparedMedia:
    """Make a picture ready to be one's profile picture: as `prepare_picture`, within 240 x 240 pixels and 38,400 bytes.

    Of an animation its first picture. Raises as `prepare_picture` does.
    """
    return _encoded(data, _type_of_file(data), MAX_PROFILE_SIDE, MAX_PROFILE_BYTES, process)


def decode_picture(
    data: bytes,
    type: MediaType,  # noqa: A002 - the payload's word
    width: int,
    height: int,
    process: PictureProcess = DECODING,
) -> Pixels:
    """Decode a picture, cleaned first, as large as fits into `width` x `height` pixels, and no larger than it is.

    Of an animation the first picture; behind what is transparent is white. Raises TheirError: MediaInvalid,
    MediaTooLarge; SettingsError: the extra `chat` is not installed.
    """
    picture = clean(data, type)
    if picture.width is None or picture.height is None:
        raise TheirError(MEDIA_INVALID, f"{type} is no picture")
    scale = min(1.0, width / picture.width, height / picture.height)
    size = max(1, int(picture.width * scale)), max(1, int(picture.height * scale))
    most = 3 * size[0] * size[1]
    rgb = process.run(picture.data, most, "decode", type, MediaLimits().pixels, *size)
    if len(rgb) != most:
        raise TheirError(MEDIA_INVALID, "it has other pixels than it declares")
    return Pixels(*size, rgb)


def half_blocks(pixels: Pixels) -> list[list[tuple[Colour, Colour | None]]]:
    """A picture as rows of cells of a terminal: each the colours of "▀" and of what is behind it.

    None: the picture has no pixel there, as its number of rows is odd.
    """
    width, height, rgb = pixels.width, pixels.height, pixels.rgb

    def colour(x: int, y: int) -> Colour:
        at = 3 * (y * width + x)
        return rgb[at], rgb[at + 1], rgb[at + 2]

    return [
        [(colour(x, y), colour(x, y + 1) if y + 1 < height else None) for x in range(width)]
        for y in range(0, height, 2)
    ]


def _type_of_file(data: bytes) -> MediaType:
    type_ = _picture_type(data)
    if len(data) > MAX_FILE_BYTES:
        raise TheirError(MEDIA_TOO_LARGE, f"it has more than {MAX_FILE_BYTES:,} bytes")
    return type_


def _encoded(data: bytes, type_: MediaType, side: int, most_bytes: int, process: PictureProcess) -> PreparedMedia:
    encoded = process.run(data, most_bytes, "prepare", type_, MAX_FILE_PIXELS, side, most_bytes)
    sent_type = _picture_type(encoded)
    return PreparedMedia(clean(encoded, sent_type), sent_type)


def _picture_type(data: bytes) -> MediaType:
    type_ = media_type_of(data)
    if type_ is None or type_.is_audio:
        raise TheirError(MEDIA_INVALID, "it does not begin as a JPEG, PNG, WebP or GIF")
    return type_


def _animation(data: bytes, type_: MediaType) -> Cleaned | None:
    """A file as an animation that can be sent as it is; None: it is none, or needs to be decoded."""
    try:
        cleaned = clean(data, type_, MediaLimits(image_bytes=MAX_FILE_BYTES))
    except TheirError:
        return None
    fits = len(cleaned.data) <= MAX_SENT_BYTES and max(cleaned.width or 0, cleaned.height or 0) <= MAX_SENT_SIDE
    looks_the_same = type_ is MediaType.GIF or not _LOOKS & cleaned.dropped.keys()
    return cleaned if (cleaned.frames or 1) > 1 and fits and looks_the_same else None
