"""What is left of a picture or a sound, and the limits that all walkers share."""

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.core.errors import TheirError
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """How much is taken. `pixels`: of a picture; `all_pixels`: those times `frames`, as a viewer composes each frame
    whole; sizes in bytes."""

    image_bytes: int = 400_000
    audio_bytes: int = 1_048_576
    pixels: int = 16_000_000
    all_pixels: int = 64_000_000
    frames: int = 500


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is left. `dropped`: what it was → bytes. A picture has a size in pixels, a sound a duration.

    `frames`: pictures of an animation, 1 for another picture; frames of a sound.
    """

    data: bytes
    dropped: Mapping[str, int]
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    duration_ms: int | None = None


def invalid(detail: str) -> TheirError:
    """The refusal of what is damaged, or not of its type."""
    return TheirError(MEDIA_INVALID, detail)


def check_pixels(width: int, height: int, frames: int, limits: MediaLimits) -> None:
    """Check a declared size. Raises TheirError: MediaInvalid for no pixels, MediaTooLarge beyond a limit."""
    if not width or not height:
        raise invalid(f"it has {width} x {height} pixels")
    if width * height > limits.pixels:
        raise TheirError(MEDIA_TOO_LARGE, f"it has {width} x {height} pixels; {limits.pixels:,} are allowed")
    if frames > limits.frames:
        raise TheirError(MEDIA_TOO_LARGE, f"it has more than {limits.frames} frames")
    if width * height * frames > limits.all_pixels:
        raise TheirError(
            MEDIA_TOO_LARGE,
            f"it has {frames} frames of {width} x {height} pixels; {limits.all_pixels:,} are allowed in all",
        )
