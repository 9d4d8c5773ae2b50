"""The walker of GIF (87a and 89a).

Kept: the screen and its colours, each picture with its colours and its data, the last graphic control in front of it,
and the first loop of NETSCAPE2.0 or ANIMEXTS1.0 that has its exact form. Dropped: comments, plain text, every other
extension, and what follows the trailer. Refused: a picture beyond the screen, a graphic control of another form, a
missing trailer. What sub-blocks hold behind the end of their LZW code is not known without decoding, and stays.
"""

from collections import Counter
from struct import Struct
from typing import Final

from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, check_pixels, invalid

MAGICS: Final = (b"GIF87a", b"GIF89a")

_SCREEN: Final = Struct("<6sHHBBB")
_PICTURE: Final = Struct("<HHHHB")
_EXTENSION, _SEPARATOR, _TRAILER = 0x21, 0x2C, 0x3B
_GRAPHIC_CONTROL, _COMMENT, _PLAIN_TEXT, _APPLICATION = 0xF9, 0xFE, 0x01, 0xFF
_CONTROL_BYTES: Final = 4
_CONTROL_RESERVED, _PICTURE_RESERVED = 0xE0, 0x18
_LOOPS: Final = (b"\x0bNETSCAPE2.0\x03\x01", b"\x0bANIMEXTS1.0\x03\x01")
_LOOP_BYTES: Final = 17
"""Length and name of the application, then one sub-block with 1 and a number of 16 bits, then none."""
_XMP: Final = b"\x0bXMP DataXMP"
_ICC: Final = b"\x0bICCRGBG1012"
_CODE_SIZES: Final = range(1, 9)


def walk(data: bytes, limits: MediaLimits) -> Cleaned:
    """Clean a GIF. Raises TheirError: MediaInvalid, MediaTooLarge."""
    return _Gif(data, limits).walk()


class _Gif:
    """A GIF that is being walked; `_at`: where the next block begins."""

    def __init__(self, data: bytes, limits: MediaLimits) -> None:
        self._data = data
        self._limits = limits
        self._at = _SCREEN.size
        self._kept: list[bytes] = []
        self._dropped: Counter[str] = Counter()
        self._control = b""
        self._has_loop = False
        self._width = self._height = self._frames = 0

    def walk(self) -> Cleaned:
        data = self._data
        if not data.startswith(MAGICS) or len(data) < _SCREEN.size:
            raise invalid("it does not begin as a GIF")
        _, self._width, self._height, flags, _, _ = _SCREEN.unpack_from(data)
        check_pixels(self._width, self._height, 1, self._limits)
        self._at += _colour_bytes(flags)
        self._kept.append(data[: self._at])
        while (block := self._byte()) != _TRAILER:
            if block == _EXTENSION:
                self._extension()
            elif block == _SEPARATOR:
                self._picture()
            else:
                raise invalid(f"there is no block at {self._at - 1}")
        if not self._frames:
            raise invalid("there is no picture")
        self._drop("graphic control", len(self._control))
        self._drop("trailing bytes", len(data) - self._at)
        whole = b"".join((*self._kept, b"\x3b"))
        return Cleaned(whole, dict(self._dropped), self._width, self._height, self._frames)

    def _drop(self, what: str, count: int) -> None:
        if count:
            self._dropped[what] += count

    def _byte(self) -> int:
        """The next byte."""
        if self._at >= len(self._data):
            raise invalid("it has no end")
        self._at += 1
        return self._data[self._at - 1]

    def _skip_sub_blocks(self) -> None:
        data, at = self._data, self._at
        try:
            while length := data[at]:
                at += 1 + length
        except IndexError:
            raise invalid("it ends within a block") from None
        self._at = at + 1

    def _extension(self) -> None:
        start = self._at - 1
        label = self._byte()
        begin = self._at
        self._skip_sub_blocks()
        if label == _GRAPHIC_CONTROL:
            self._graphic_control(begin)
        elif label == _APPLICATION and self._is_loop(begin) and not self._has_loop:
            self._has_loop = True
            self._kept.append(self._data[start : self._at])
        else:
            self._drop(self._label(label, begin), self._at - start)

    def _graphic_control(self, begin: int) -> None:
        """It holds for the next picture; of several the last, as viewers have it."""
        data = self._data
        if data[begin] != _CONTROL_BYTES or self._at != begin + 1 + _CONTROL_BYTES + 1:
            raise invalid("a graphic control is not of 4 bytes")
        self._drop("graphic control", len(self._control))
        flags = data[begin + 1] & ~_CONTROL_RESERVED
        self._control = b"\x21\xf9\x04%c%b" % (flags, data[begin + 2 : self._at])

    def _is_loop(self, begin: int) -> bool:
        return self._at == begin + _LOOP_BYTES and self._data.startswith(_LOOPS, begin)

    def _label(self, label: int, begin: int) -> str:
        if label == _COMMENT:
            return "comment"
        if label == _PLAIN_TEXT:
            return "plain text"
        if self._data.startswith(_XMP, begin):
            return "XMP"
        return "ICC" if self._data.startswith(_ICC, begin) else "other extensions"

    def _picture(self) -> None:
        data, start = self._data, self._at
        if start + _PICTURE.size > len(data):
            raise invalid("it ends within a block")
        x, y, width, height, flags = _PICTURE.unpack_from(data, start)
        if not width or not height or x + width > self._width or y + height > self._height:
            raise invalid("a picture is empty, or goes beyond the screen")
        self._frames += 1
        check_pixels(self._width, self._height, self._frames, self._limits)
        colours = start + _PICTURE.size
        self._at = colours + _colour_bytes(flags)
        if self._byte() not in _CODE_SIZES:
            raise invalid("a picture has a code size that no GIF has")
        self._skip_sub_blocks()
        self._kept.append(self._control)
        self._control = b""
        self._kept.append(b"\x2c%b%c" % (data[start : colours - 1], flags & ~_PICTURE_RESERVED))
        self._kept.append(data[colours : self._at])


def _colour_bytes(flags: int) -> int:
    """The length of the table of colours that follows, by the flags in front of it."""
    return 3 << ((flags & 0x07) + 1) if flags & 0x80 else 0
