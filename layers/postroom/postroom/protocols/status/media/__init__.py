"""Pictures and sounds of chats: their containers, walked without decoding, so that only what is shown or heard stays.

For each container a module says what is kept, dropped and refused. What is within the coded data itself (behind the end
of a compressed stream, in tables that nothing uses) cannot be known without decoding, and stays: whoever shows a
picture encodes it anew.
"""

from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits
from postroom.protocols.status.media.cleaning import clean
from postroom.protocols.status.media.media_type import MediaType, media_type_of

__all__ = ["Cleaned", "MediaLimits", "MediaType", "clean", "media_type_of"]
