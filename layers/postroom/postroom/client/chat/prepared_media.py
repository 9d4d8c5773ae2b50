"""A picture or a sound that can be sent, and sounds made ready; pictures are in `pictures`."""

from dataclasses import dataclass

from postroom.core.errors import TheirError
from postroom.protocols.status.media import Cleaned, MediaType, clean, media_type_of
from postroom.protocols.status.reasons import MEDIA_INVALID


@dataclass(frozen=True, slots=True)
class PreparedMedia:
    """A picture or a sound of this type, cleaned."""

    cleaned: Cleaned
    type: MediaType


def prepare_sound(data: bytes) -> PreparedMedia:
    """Make a sound ready to send: without metadata, its duration counted. Nothing is decoded.

    Raises TheirError: MediaInvalid for anything but AAC (ADTS) and AMR, MediaTooLarge.
    """
    type_ = media_type_of(data)
    if type_ is None or not type_.is_audio:
        raise TheirError(MEDIA_INVALID, "it does not begin as AAC (ADTS) or AMR")
    return PreparedMedia(clean(data, type_), type_)
