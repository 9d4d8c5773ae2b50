"""Fuzzing of the walkers of pictures and sounds in chats."""

from tests.fuzz.entry import LONG, Entry, fuzzed
from tests.protocols.status.media.held import held
from tests.protocols.status.media.samples import SAMPLES

from postroom.protocols.status.media import MediaType


@fuzzed("protocols.status.media.jpeg", seeds=SAMPLES[MediaType.JPEG], max_bytes=LONG)
def jpeg_pictures(data: bytes) -> None:
    """What is left of a JPEG is no longer, has no segment that is to go, and walks through unchanged; or a refusal."""
    held(data, MediaType.JPEG)


@fuzzed("protocols.status.media.png", seeds=SAMPLES[MediaType.PNG], max_bytes=LONG)
def png_pictures(data: bytes) -> None:
    """The same of the chunks of a PNG, still or animated, which has no checksum that is wrong."""
    held(data, MediaType.PNG)


@fuzzed("protocols.status.media.webp", seeds=SAMPLES[MediaType.WEBP], max_bytes=LONG)
def webp_pictures(data: bytes) -> None:
    """The same of the chunks of a WebP, also within its frames; it may be one byte longer, its padding."""
    held(data, MediaType.WEBP)


@fuzzed("protocols.status.media.gif", seeds=SAMPLES[MediaType.GIF], max_bytes=LONG)
def gif_pictures(data: bytes) -> None:
    """The same of the blocks of a GIF; an extension that is left has the exact form of one of three."""
    held(data, MediaType.GIF)


@fuzzed("protocols.status.media.adts", seeds=SAMPLES[MediaType.AAC], max_bytes=LONG)
def aac_sounds(data: bytes) -> None:
    """The same of AAC, which consists of whole frames, without tags around them and bits of a copyright in them."""
    held(data, MediaType.AAC)


@fuzzed("protocols.status.media.amr", seeds=SAMPLES[MediaType.AMR], max_bytes=16_384)
def amr_sounds(data: bytes) -> None:
    """The same of AMR, which consists of whole frames of types that are not reserved, padded with 0."""
    held(data, MediaType.AMR)


ENTRIES: tuple[Entry, ...] = (jpeg_pictures, png_pictures, webp_pictures, gif_pictures, aac_sounds, amr_sounds)
