"""A small JPEG that says where it was taken, made by hand, and the place that a JPEG says.

The place is in the EXIF of a picture: a segment with a directory of TIFF (Exif 2.3 §4.6), one entry of which points to
another directory, with the latitude and the longitude as fractions.
"""

import struct
from typing import Final

_EXIF: Final = b"Exif\0\0"
_GPS: Final = 0x8825
_REFERENCE, _DEGREES = 2, 5
"""Types of entries: letters, and fractions."""


def picture_taken_at(latitude: float, longitude: float) -> bytes:
    """A grey picture of 32 x 32 pixels with this place in it, in degrees."""
    tables = b"".join(
        (
            _segment(0xDB, b"\0" + b"\1" * 64),
            _segment(0xC0, struct.pack(">BHHB", 8, 32, 32, 1) + b"\1\x11\0"),
            # One code each, of one bit: no difference to the block before; end of the block.
            _segment(0xC4, b"\0" + b"\1" + b"\0" * 16),
            _segment(0xC4, b"\x10" + b"\1" + b"\0" * 16),
        )
    )
    blocks = bytes(4)
    scan = _segment(0xDA, b"\1\1\0\0\x3f\0") + blocks
    return b"\xff\xd8" + _segment(0xE1, _EXIF + _place(latitude, longitude)) + tables + scan + b"\xff\xd9"


def place_of(jpeg: bytes) -> str:
    """The place that a picture of `picture_taken_at` says, such as 38.7077 N, 9.1366 W; empty: it says none."""
    begins = jpeg.find(_EXIF)
    if begins < 0:
        return ""
    tiff = jpeg[begins + len(_EXIF) :]
    [gps] = struct.unpack(">L", _entries(tiff, 8)[_GPS])
    entries = _entries(tiff, gps)
    parts = []
    for reference, degrees in ((1, 2), (3, 4)):
        over, under = struct.unpack_from(">LL", tiff, struct.unpack(">L", entries[degrees])[0])
        parts.append(f"{over / under:.4f} {entries[reference][:1].decode()}")
    return ", ".join(parts)


def _place(latitude: float, longitude: float) -> bytes:
    """A TIFF with one directory, and the one that it points to."""
    directory, gps, fractions = 8, 26, 80
    head = struct.pack(">2sHL", b"MM", 42, directory)
    first = struct.pack(">HHHLLL", 1, _GPS, 4, 1, gps, 0)
    entries = (
        struct.pack(">HHL4s", 1, _REFERENCE, 2, b"N" if latitude >= 0 else b"S"),
        struct.pack(">HHLL", 2, _DEGREES, 3, fractions),
        struct.pack(">HHL4s", 3, _REFERENCE, 2, b"E" if longitude >= 0 else b"W"),
        struct.pack(">HHLL", 4, _DEGREES, 3, fractions + 24),
    )
    second = struct.pack(">H", len(entries)) + b"".join(entries) + bytes(4)
    degrees = b"".join(
        struct.pack(">LLLLLL", round(abs(each) * 10_000), 10_000, 0, 1, 0, 1) for each in (latitude, longitude)
    )
    return head + first + second + degrees


def _entries(tiff: bytes, at: int) -> dict[int, bytes]:
    """The entries of a directory: the last four bytes of each, by its tag."""
    [count] = struct.unpack_from(">H", tiff, at)
    found = (struct.unpack_from(">HHL4s", tiff, at + 2 + 12 * number) for number in range(count))
    return {tag: value for tag, _, _, value in found}


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body
