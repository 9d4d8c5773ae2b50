"""The walker of PNG (third edition of the specification), still or animated (APNG).

Kept: IHDR, PLTE of an indexed picture, IDAT, IEND; tRNS, gAMA, cHRM, sRGB, sBIT, bKGD, pHYs, each once, where it
belongs and of its exact length; of an animation acTL, fcTL, fdAT. Dropped: every other ancillary chunk, unread, and
what follows IEND. Refused: an unknown critical chunk, a chunk that is kept with a wrong CRC, IDAT in several places,
an animation whose frames are not those that it declares. Nothing is inflated.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final

from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, check_pixels, invalid

MAGIC: Final = b"\x89PNG\r\n\x1a\n"

_HEAD: Final = Struct(">I4s")
_IHDR: Final = Struct(">IIBBBBB")
_FCTL: Final = Struct(">IIIIIHHBB")
_NUMBER: Final = Struct(">I")
_FRAME: Final = 12
"""Bytes of a chunk around its content: length, type, CRC."""
_MOST: Final = 0x7FFFFFFF
_TYPE: Final = re.compile(rb"[A-Za-z]{4}")
_GREY, _COLOUR, _INDEXED, _GREY_ALPHA, _COLOUR_ALPHA = 0, 2, 3, 4, 6
_DEPTHS: Final = {
    _GREY: (1, 2, 4, 8, 16), _COLOUR: (8, 16), _INDEXED: (1, 2, 4, 8), _GREY_ALPHA: (8, 16), _COLOUR_ALPHA: (8, 16),
}  # fmt: skip
_ADAM7: Final = 1
_MOST_DISPOSALS, _MOST_BLENDS = 2, 1
_BEFORE_PALETTE: Final = frozenset((b"gAMA", b"cHRM", b"sRGB", b"sBIT"))
_LENGTHS: Final = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"pHYs": 9}
_LENGTHS_BY_COLOUR: Final = {
    b"sBIT": {_GREY: 1, _COLOUR: 3, _INDEXED: 3, _GREY_ALPHA: 2, _COLOUR_ALPHA: 4},
    b"bKGD": {_GREY: 2, _COLOUR: 6, _INDEXED: 1, _GREY_ALPHA: 2, _COLOUR_ALPHA: 6},
    b"tRNS": {_GREY: 2, _COLOUR: 6},
}
_LABELS: Final = {
    b"eXIf": "EXIF", b"iCCP": "ICC", b"tEXt": "text", b"zTXt": "text", b"iTXt": "text", b"tIME": "time",
    b"PLTE": "suggested palette", b"acTL": "animation", b"fcTL": "animation", b"fdAT": "animation",
}  # fmt: skip
_XMP: Final = b"XML:com.adobe.xmp\0"


def walk(data: bytes, limits: MediaLimits) -> Cleaned:
    """Clean a PNG. Raises TheirError: MediaInvalid, MediaTooLarge."""
    return _Png(data, limits).walk()


class _Png:
    """A PNG that is being walked."""

    def __init__(self, data: bytes, limits: MediaLimits) -> None:
        self._data = data
        self._view = memoryview(data)
        self._limits = limits
        self._dropped: Counter[str] = Counter()
        self._seen: set[bytes] = set()
        self._last = b""
        self._width = self._height = self._depth = self._colour = 0
        self._colours = 0
        self._animation = _Animation()
        self._chunks: Mapping[bytes, Callable[[int, int], bool]] = {
            b"IHDR": self._header,
            b"PLTE": self._palette,
            b"IDAT": self._image,
            b"IEND": self._end,
            b"acTL": self._animated,
            b"fcTL": self._frame,
            b"fdAT": self._frame_data,
        }

    def walk(self) -> Cleaned:
        data = self._data
        if not data.startswith(MAGIC):
            raise invalid("it does not begin as a PNG")
        at = len(MAGIC)
        kept: list[bytes | memoryview] = [MAGIC]
        while self._last != b"IEND":
            if at + _FRAME > len(data):
                raise invalid("it has no end")
            length, kind = _HEAD.unpack_from(data, at)
            end = at + _FRAME + length
            if not _TYPE.fullmatch(kind) or end > len(data):
                raise invalid(f"the chunk at {at} is longer than the file, or has no type")
            if not self._seen and kind != b"IHDR":
                raise invalid("it does not begin with IHDR")
            if self._keeps(kind, at + _HEAD.size, length):
                if zlib.crc32(self._view[at + 4 : end - 4]) != _NUMBER.unpack_from(data, end - 4)[0]:
                    raise invalid(f"the chunk {kind.decode()} at {at} has a wrong CRC")
                kept.append(self._view[at:end])
            else:
                self._dropped[self._label(kind, at + _HEAD.size)] += end - at
            self._seen.add(kind)
            self._last = kind
            at = end
        if at < len(data):
            self._dropped["trailing bytes"] += len(data) - at
        frames = self._animation.frames or 1
        return Cleaned(b"".join(kept), dict(self._dropped), self._width, self._height, frames)

    def _label(self, kind: bytes, at: int) -> str:
        if kind == b"iTXt" and self._data.startswith(_XMP, at):
            return "XMP"
        return _LABELS.get(kind, "other chunks")

    def _keeps(self, kind: bytes, at: int, length: int) -> bool:
        """Whether a chunk is kept. Raises TheirError if the picture is refused for it."""
        if known := self._chunks.get(kind):
            return known(at, length)
        if not kind[0] & 0x20:
            raise invalid(f"there is an unknown critical chunk: {kind.decode()}")
        if kind in self._seen or b"IDAT" in self._seen:
            return False
        if kind in _BEFORE_PALETTE and b"PLTE" in self._seen:
            return False
        if kind == b"tRNS" and self._colour == _INDEXED:
            return 1 <= length <= self._colours
        if kind == b"bKGD" and self._colour == _INDEXED and not self._colours:
            return False
        by_colour = _LENGTHS_BY_COLOUR.get(kind, {})
        return length == by_colour.get(self._colour, _LENGTHS.get(kind, -1))

    def _header(self, at: int, length: int) -> bool:
        if self._seen or length != _IHDR.size:
            raise invalid("there is a second IHDR, or one of a wrong length")
        width, height, depth, colour, compression, filtering, interlace = _IHDR.unpack_from(self._data, at)
        check_pixels(width, height, 1, self._limits)
        if depth not in _DEPTHS.get(colour, ()) or compression or filtering or interlace > _ADAM7:
            raise invalid("its header has values that no PNG has")
        self._width, self._height, self._colour, self._depth = width, height, colour, depth
        return True

    def _palette(self, _: int, length: int) -> bool:
        if b"PLTE" in self._seen or b"IDAT" in self._seen:
            raise invalid("there is a second palette, or one behind the picture")
        if self._colour != _INDEXED:
            return False
        colours, rest = divmod(length, 3)
        if rest or not 1 <= colours <= 1 << self._depth:
            raise invalid(f"the palette has {length} bytes")
        self._colours = colours
        return True

    def _image(self, _: int, __: int) -> bool:
        if b"IDAT" not in self._seen:
            if self._colour == _INDEXED and not self._colours:
                raise invalid("there is no palette")
            self._animation.begin_image()
            self._check_frames()
        elif self._last != b"IDAT":
            raise invalid("IDAT stands in several places")
        return True

    def _end(self, _: int, length: int) -> bool:
        if length or b"IDAT" not in self._seen:
            raise invalid("it ends without a picture, or IEND is not empty")
        self._animation.end()
        return True

    def _animated(self, at: int, length: int) -> bool:
        if b"acTL" in self._seen or b"IDAT" in self._seen:
            return False
        if length != 2 * _NUMBER.size:
            raise invalid("acTL has a wrong length")
        if b"fcTL" in self._seen:
            raise invalid("a frame stands in front of acTL")
        self._animation.declare(_NUMBER.unpack_from(self._data, at)[0])
        self._check_frames()
        return True

    def _check_frames(self) -> None:
        check_pixels(self._width, self._height, self._animation.pictures, self._limits)

    def _frame(self, at: int, length: int) -> bool:
        if not self._animation.frames:
            return False
        if length != _FCTL.size:
            raise invalid("fcTL has a wrong length")
        number, width, height, x, y, _, _, disposal, blend = _FCTL.unpack_from(self._data, at)
        if not width or not height or x + width > self._width or y + height > self._height:
            raise invalid("a frame is empty, or goes beyond the picture")
        if disposal > _MOST_DISPOSALS or blend > _MOST_BLENDS:
            raise invalid("a frame has values that no APNG has")
        if b"IDAT" not in self._seen and (width, height) != (self._width, self._height):
            raise invalid("the first frame is not of the picture's size")
        self._animation.number(number)
        self._animation.begin_frame()
        return True

    def _frame_data(self, at: int, length: int) -> bool:
        if not self._animation.frames:
            return False
        if length < _NUMBER.size or b"IDAT" not in self._seen:
            raise invalid("fdAT is too short, or stands in front of the picture")
        self._animation.number(_NUMBER.unpack_from(self._data, at)[0])
        self._animation.add_data()
        return True


class _Animation:
    """The frames of an animated PNG, as they come. `frames`: how many it declares; 0: it is none.

    `pictures`: how many a decoder may have to hold: the frames, and the picture of IDAT if it is none of them.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.pictures = 1
        self._begun = 0
        self._next = 0
        self._waits = False
        """Whether a frame has begun and has no data yet."""
        self._is_open = False
        """Whether data of a frame may follow."""

    def declare(self, frames: int) -> None:
        if not frames:
            raise invalid("the animation has no frames")
        self.frames = self.pictures = frames

    def number(self, number: int) -> None:
        """Frames and their data are numbered through."""
        if number != self._next:
            raise invalid(f"number {number} of the animation stands in the place of {self._next}")
        self._next += 1

    def begin_frame(self) -> None:
        if self._waits:
            raise invalid("a frame has no data")
        self._begun += 1
        self._waits = self._is_open = True

    def begin_image(self) -> None:
        """IDAT is the first frame if that has begun, and no frame otherwise."""
        if self.frames and not self._waits:
            self.pictures += 1
        self._waits = self._is_open = False

    def add_data(self) -> None:
        if not self._is_open:
            raise invalid("there is data of no frame")
        self._waits = False

    def end(self) -> None:
        if self._waits or self._begun != self.frames:
            raise invalid(f"it has {self._begun} frames, the last perhaps without data, and declares {self.frames}")
