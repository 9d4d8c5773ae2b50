"""The one way to clean a picture or a sound, of any type."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.status.media import adts, amr, gif, jpeg, png, webp
from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, invalid
from postroom.protocols.status.media.media_type import MediaType, media_type_of
from postroom.protocols.status.reasons import MEDIA_TOO_LARGE

_WALKERS: Final[Mapping[MediaType, Callable[[bytes, MediaLimits], Cleaned]]] = MappingProxyType(
    {
        MediaType.JPEG: jpeg.walk,
        MediaType.PNG: png.walk,
        MediaType.WEBP: webp.walk,
        MediaType.GIF: gif.walk,
        MediaType.AAC: adts.walk,
        MediaType.AMR: amr.walk,
    }
)
_DEFAULT: Final = MediaLimits()


def clean(data: bytes, type: MediaType, limits: MediaLimits = _DEFAULT) -> Cleaned:  # noqa: A002 - the payload's word
    """Drop all that is not needed to show a picture or to play a sound (decision "Media").

    The result is no longer than `data` (WebP: than one byte more), and is returned unchanged if it is cleaned again.
    `type`: as the payload says. Raises TheirError: MediaInvalid if it is of another type or damaged, MediaTooLarge.
    """
    most = limits.audio_bytes if type.is_audio else limits.image_bytes
    if len(data) > most:
        raise TheirError(MEDIA_TOO_LARGE, f"it has more than {most:,} bytes")
    found = media_type_of(data)
    if found not in (None, type):
        raise invalid(f"it is said to be {type}, and begins as {found}")
    return _WALKERS[type](data, limits)
