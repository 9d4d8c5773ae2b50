"""The walker of AMR, the narrow-band form (RFC 4867, section 5).

Kept: whole frames of speech, of comfort noise and without data. Dropped: a frame that is cut off at the end. Padding,
in headers and behind the speech, is written as 0. Refused: AMR-WB, several channels, frames of reserved types. There is
no metadata, and no mark at which a frame begins: what follows and looks like frames is taken for sound.
"""

from typing import Final

from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, invalid

MAGIC: Final = b"#!AMR\n"
FRAME_MS: Final = 20

_PADDING: Final = 0x83
"""Of a header: all bits but those of the type (4) and of the quality (1)."""
_NO_DATA: Final = 15
_BITS: Final = {0: 95, 1: 103, 2: 118, 3: 134, 4: 148, 5: 159, 6: 204, 7: 244, 8: 39, _NO_DATA: 0}
"""Of the speech in a frame, by its type; the others are reserved."""
_TYPES: Final = tuple(header >> 3 & 15 for header in range(256))
_SIZES: Final = tuple(1 + (_BITS[kind] + 7) // 8 if kind in _BITS else 0 for kind in _TYPES)
"""In bytes, by the header; 0: reserved."""
_UNUSED: Final = tuple((1 << -_BITS.get(kind, 0) % 8) - 1 for kind in _TYPES)
"""The bits of a frame's last byte that are no speech, by the header."""


def walk(data: bytes, _: MediaLimits) -> Cleaned:
    """Clean an AMR. Raises TheirError: MediaInvalid."""
    if not data.startswith(MAGIC):
        raise invalid("it does not begin as AMR")
    frames, at, end = 0, len(MAGIC), len(data)
    padded: list[tuple[int, int]] = []
    while at < end:
        header = data[at]
        size = _SIZES[header]
        if not size:
            raise invalid(f"the frame at {at} is of the reserved type {_TYPES[header]}")
        after = at + size
        if after > end:
            break
        if header & _PADDING or data[after - 1] & _UNUSED[header]:
            padded += ((at, _PADDING), (after - 1, _UNUSED[header]))
        frames += 1
        at = after
    if not frames:
        raise invalid("there is no whole frame")
    sound = bytearray(data[:at])
    for place, bits in padded:
        sound[place] &= ~bits
    dropped = {"partial frame": end - at} if at < end else {}
    return Cleaned(bytes(sound), dropped, frames=frames, duration_ms=FRAME_MS * frames)
