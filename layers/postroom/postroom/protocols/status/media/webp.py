"""The walker of WebP (RFC 9649), still or animated.

Kept: the first VP8 or VP8L, or behind VP8X a picture with its ALPH, or ANIM and the frames of an animation with their
pictures. Dropped: ICCP, EXIF, XMP and every other chunk, also within frames, and what follows the RIFF. Flags of VP8X
for what was dropped, reserved bits and padding are written as 0; the lengths of frames and of the RIFF fit what is
left. Refused: lengths that contradict each other, a second picture where one must be, pictures whose size is not that
of their frame or of the canvas, a frame beyond the canvas.
"""

from collections import Counter
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, check_pixels, invalid

_HEAD: Final = Struct("<4sI")
_RIFF, _WEBP = b"RIFF", b"WEBP"
_RIFF_BYTES: Final = 12
_LOSSY, _LOSSLESS, _ALPHA, _EXTENDED, _ANIMATION, _FRAME = b"VP8 ", b"VP8L", b"ALPH", b"VP8X", b"ANIM", b"ANMF"
_PICTURES: Final = (_LOSSY, _LOSSLESS)
_EXTENDED_BYTES, _ANIMATION_BYTES, _FRAME_BYTES = 10, 6, 16
_IS_ANIMATED, _HAS_ALPHA = 0x02, 0x10
_FRAME_FLAGS: Final = 0x03
_LOSSY_BYTES, _LOSSY_START, _LOSSLESS_BYTES, _LOSSLESS_START = 10, b"\x9d\x01\x2a", 5, 0x2F
_14_BITS: Final = 0x3FFF
_LABELS: Final = {b"EXIF": "EXIF", b"XMP ": "XMP", b"ICCP": "ICC"}


_Piece = bytes | memoryview


class _RiffChunk(NamedTuple):
    """A chunk: where its content begins and ends, and where the next chunk begins."""

    kind: bytes
    begin: int
    end: int
    after: int


def begins(data: bytes) -> bool:
    """Whether the first bytes are those of a WebP."""
    return data.startswith(_RIFF) and data[8:_RIFF_BYTES] == _WEBP


def walk(data: bytes, limits: MediaLimits) -> Cleaned:
    """Clean a WebP. Raises TheirError: MediaInvalid, MediaTooLarge."""
    return _Webp(data, limits).walk()


class _Webp:
    """A WebP that is being walked."""

    def __init__(self, data: bytes, limits: MediaLimits) -> None:
        self._data = data
        self._view = memoryview(data)
        self._limits = limits
        self._kept: list[_Piece] = []
        self._dropped: Counter[str] = Counter()
        self._width = self._height = self._frames = 0

    def walk(self) -> Cleaned:
        data = self._data
        if not begins(data):
            raise invalid("it does not begin as a WebP")
        end = _HEAD.size + _HEAD.unpack_from(data)[1]
        if end > len(data):
            raise invalid("its RIFF is longer than the file")
        chunks = self._chunks(_RIFF_BYTES, end)
        first = next(chunks, None)
        if first is None or first.kind not in (*_PICTURES, _EXTENDED):
            raise invalid("it begins with no picture")
        if first.kind == _EXTENDED:
            self._extended(first, chunks)
        else:
            self._width, self._height = self._size(first)
            self._frames = 1
            check_pixels(self._width, self._height, 1, self._limits)
            self._kept += self._written(first)
            self._rest(chunks)
        if end < len(data):
            self._dropped["trailing bytes"] += len(data) - end
        content = b"".join(self._kept)
        whole = b"".join((_HEAD.pack(_RIFF, len(_WEBP) + len(content)), _WEBP, content))
        return Cleaned(whole, dict(self._dropped), self._width, self._height, self._frames)

    def _chunks(self, at: int, end: int) -> Iterator[_RiffChunk]:
        """The chunks between two places. The padding of the last one may be missing."""
        while at < end:
            if at + _HEAD.size > end:
                raise invalid(f"there is no chunk at {at}")
            kind, length = _HEAD.unpack_from(self._data, at)
            begin = at + _HEAD.size
            at = begin + length + (length & 1)
            if begin + length > end:
                raise invalid(f"the chunk at {begin - _HEAD.size} is longer than what it is in")
            yield _RiffChunk(kind, begin, begin + length, min(at, end))

    def _drop(self, chunk: _RiffChunk) -> None:
        self._dropped[_LABELS.get(chunk.kind, "other chunks")] += chunk.after - chunk.begin + _HEAD.size

    def _rest(self, chunks: Iterator[_RiffChunk]) -> None:
        """Drop what follows a picture, which may not be another one."""
        for chunk in chunks:
            if chunk.kind in (*_PICTURES, _ALPHA, _EXTENDED):
                raise invalid("there is a second picture, or a part of one")
            self._drop(chunk)

    def _extended(self, first: _RiffChunk, chunks: Iterator[_RiffChunk]) -> None:
        data = self._data
        if first.end - first.begin != _EXTENDED_BYTES:
            raise invalid("VP8X has a wrong length")
        flags = data[first.begin] & (_IS_ANIMATED | _HAS_ALPHA)
        sizes = data[first.begin + 4 : first.end]
        self._width, self._height = _number(sizes[:3]) + 1, _number(sizes[3:]) + 1
        check_pixels(self._width, self._height, 1, self._limits)
        self._kept.append(b"%b%c\0\0\0%b" % (_HEAD.pack(_EXTENDED, _EXTENDED_BYTES), flags, sizes))
        if flags & _IS_ANIMATED:
            self._animation(chunks)
        else:
            self._frames = 1
            self._kept += self._whole_picture(chunks, self._width, self._height)

    def _animation(self, chunks: Iterator[_RiffChunk]) -> None:
        has_begun = False
        for chunk in chunks:
            if chunk.kind == _ANIMATION and not has_begun and chunk.end - chunk.begin == _ANIMATION_BYTES:
                has_begun = True
                self._kept += self._written(chunk)
            elif chunk.kind == _FRAME and has_begun:
                self._frame(chunk)
            elif chunk.kind in (_ANIMATION, _FRAME, *_PICTURES, _ALPHA, _EXTENDED):
                raise invalid(f"the animation has a wrong chunk {chunk.kind.decode()}")
            else:
                self._drop(chunk)
        if not self._frames:
            raise invalid("the animation has no frames")

    def _frame(self, chunk: _RiffChunk) -> None:
        data, begin = self._data, chunk.begin
        content = begin + _FRAME_BYTES
        if content > chunk.end:
            raise invalid("a frame is too short")
        x, y, width, height = (_number(data[at : at + 3]) for at in range(begin, begin + 12, 3))
        width, height = width + 1, height + 1
        if 2 * x + width > self._width or 2 * y + height > self._height:
            raise invalid("a frame goes beyond the canvas")
        self._frames += 1
        check_pixels(self._width, self._height, self._frames, self._limits)
        head = b"%b%c" % (data[begin : content - 1], data[content - 1] & _FRAME_FLAGS)
        picture = self._whole_picture(self._chunks(content, chunk.end), width, height)
        self._kept += (_HEAD.pack(_FRAME, len(head) + sum(map(len, picture))), head, *picture)

    def _whole_picture(self, chunks: Iterator[_RiffChunk], width: int, height: int) -> list[_Piece]:
        """A picture of this size with its transparency, and nothing else that is among its chunks."""
        alpha: list[_Piece] = []
        for chunk in chunks:
            if chunk.kind == _ALPHA and not alpha:
                alpha = self._written(chunk)
            elif chunk.kind == _LOSSY or (chunk.kind == _LOSSLESS and not alpha):
                if self._size(chunk) != (width, height):
                    raise invalid("a picture is not of the size of its frame or canvas")
                self._rest(chunks)
                return [*alpha, *self._written(chunk)]
            elif chunk.kind in (_LOSSLESS, _ALPHA, _EXTENDED):
                raise invalid("transparency stands twice, or without its picture")
            else:
                self._drop(chunk)
        raise invalid("a frame or canvas has no picture")

    def _written(self, chunk: _RiffChunk) -> list[_Piece]:
        """A chunk with the same content, padded."""
        length = chunk.end - chunk.begin
        written: list[_Piece] = [_HEAD.pack(chunk.kind, length), self._view[chunk.begin : chunk.end]]
        return [*written, b"\0"] if length & 1 else written

    def _size(self, chunk: _RiffChunk) -> tuple[int, int]:
        """The size that a picture's own header declares."""
        head = self._data[chunk.begin : min(chunk.end, chunk.begin + _LOSSY_BYTES)]
        if chunk.kind == _LOSSY:
            # The lowest bit of the first byte is 0 in a key frame.
            if len(head) < _LOSSY_BYTES or head[0] & 1 or head[3:6] != _LOSSY_START:
                raise invalid("VP8 does not begin with a key frame")
            return _number(head[6:8]) & _14_BITS, _number(head[8:10]) & _14_BITS
        bits = _number(head[1:_LOSSLESS_BYTES])
        if len(head) < _LOSSLESS_BYTES or head[0] != _LOSSLESS_START or bits >> 29:
            raise invalid("VP8L does not begin as one")
        return (bits & _14_BITS) + 1, (bits >> 14 & _14_BITS) + 1


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
