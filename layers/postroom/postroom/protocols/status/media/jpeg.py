"""The walker of JPEG (ITU-T T.81, JFIF 1.02).

Kept: SOF0 to SOF2 of 8 bits and 1, 3 or 4 components, DQT, DHT, DRI, scans; of the last JFIF header and the last Adobe
segment before the first scan what a decoder reads of them, in front of the rest. Dropped: every other application
segment and comment, wherever it stands, fill bytes, and what follows the first EOI. Refused: what libjpeg does not
decode (other frames, DNL, arithmetic coding), tables that do not fill their segment exactly, and a missing end.
"""

import re
from collections import Counter
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, check_pixels, invalid
from postroom.protocols.status.reasons import MEDIA_TOO_LARGE

MAGIC: Final = b"\xff\xd8\xff"
MAX_SCANS: Final = 100
"""A decoder goes over the whole picture for each, and each can be ten bytes long."""

_SOF0, _SOF2, _DHT, _EOI, _SOS, _DQT, _DRI = 0xC0, 0xC2, 0xC4, 0xD9, 0xDA, 0xDB, 0xDD
_APP0, _APP14, _APP15, _COM = 0xE0, 0xEE, 0xEF, 0xFE
_RESTARTS: Final = range(0xD0, 0xD8)
_BASIC_TABLE, _BLOCK, _SYMBOLS, _TABLES = 17, 64, 256, 4
_PRECISION: Final = 8
_COMPONENTS: Final = (1, 3, 4)
_FRAME_BYTES: Final = 5
"""Of a frame's header before the components."""
_LARGEST_FACTOR: Final = 4
_JFIF: Final = b"JFIF\0"
_JFIF_LENGTH: Final = 16
_ADOBE: Final = b"Adobe"
_ADOBE_LENGTH: Final = 14
_TRANSFORMS: Final = (0, 1, 2)
_LABELS: Final = (
    (0xE0, b"JFIF\0", "thumbnail"),
    (0xE0, b"JFXX\0", "thumbnail"),
    (0xE1, b"Exif\0", "EXIF"),
    (0xE1, b"http://ns.adobe.com/", "XMP"),
    (0xE2, b"ICC_PROFILE\0", "ICC"),
    (0xE2, b"MPF\0", "MPF"),
    (0xED, b"Photoshop 3.0\0", "IPTC"),
)
_END_OF_SCAN: Final = re.compile(rb"\xff[^\x00\xd0-\xd7]")
_AFTER_FILL: Final = re.compile(rb"[^\xff]")


def walk(data: bytes, limits: MediaLimits) -> Cleaned:
    """Clean a JPEG. Raises TheirError: MediaInvalid, MediaTooLarge."""
    return _Jpeg(data, limits).walk()


class _Jpeg:
    """A JPEG that is being walked; `_at`: where the next marker or segment begins."""

    def __init__(self, data: bytes, limits: MediaLimits) -> None:
        self._data = data
        self._view = memoryview(data)
        self._limits = limits
        self._at = 2
        self._kept: list[bytes | memoryview] = []
        self._dropped: Counter[str] = Counter()
        self._jfif = self._adobe = b""
        self._width = self._height = self._scans = 0
        self._components = b""

    def walk(self) -> Cleaned:
        if not self._data.startswith(MAGIC):
            raise invalid("it does not begin as a JPEG")
        while (marker := self._marker()) != _EOI:
            self._segment(marker)
        if not self._scans:
            raise invalid("there is no scan")
        if trailing := len(self._data) - self._at:
            self._dropped["trailing bytes"] += trailing
        whole = b"".join((MAGIC[:2], self._jfif, self._adobe, *self._kept, b"\xff\xd9"))
        return Cleaned(whole, dict(self._dropped), self._width, self._height, 1)

    def _marker(self) -> int:
        """The code of the marker here, in front of which fill bytes may stand."""
        found = _AFTER_FILL.search(self._data, self._at)
        if found is None:
            raise invalid("it has no end")
        fill = found.start() - self._at - 1
        if fill < 0:
            raise invalid(f"there is no marker at {self._at}")
        if fill:
            self._dropped["fill bytes"] += fill
        self._at = found.end()
        return self._data[self._at - 1]

    def _segment(self, marker: int) -> None:
        """Keep or drop the segment of a marker."""
        start, data = self._at, self._data
        length = int.from_bytes(data[start : start + 2])
        end = start + length
        if length < 2 or end > len(data):
            raise invalid(f"the segment of marker {marker:02X} at {start} is longer than the file, or has no length")
        self._at = end
        if _APP0 <= marker <= _APP15 or marker == _COM:
            self._application(marker, start, length)
            return
        body = data[start + 2 : end]
        if marker == _DQT:
            _check_quantization(body)
        elif marker == _DHT:
            _check_huffman(body)
        elif _SOF0 <= marker <= _SOF2:
            self._frame(body)
        elif marker == _SOS:
            self._scan_header(body)
        elif marker != _DRI or len(body) != 2:
            raise invalid(f"marker {marker:02X} at {start} is not one of a JPEG that viewers decode")
        self._kept.append(b"\xff%c%b" % (marker, data[start:end]))
        if marker == _SOS:
            self._scan()

    def _application(self, marker: int, start: int, length: int) -> None:
        """Drop an application segment or a comment, but for what a decoder reads: JFIF's header, Adobe's transform."""
        data = self._data
        dropped = 2 + length
        # Behind the first scan a decoder reads neither: it has made up its mind about the colours.
        if marker == _APP0 and length >= _JFIF_LENGTH and data.startswith(_JFIF, start + 2) and not self._scans:
            dropped += len(self._jfif)
            self._jfif = b"\xff\xe0\x00\x10%b\0\0" % data[start + 2 : start + _JFIF_LENGTH - 2]
            dropped -= len(self._jfif)
        elif marker == _APP14 and length >= _ADOBE_LENGTH and data.startswith(_ADOBE, start + 2) and not self._scans:
            transform = data[start + _ADOBE_LENGTH - 1]
            if transform not in _TRANSFORMS:
                raise invalid(f"the Adobe segment has transform {transform}")
            dropped += len(self._adobe)
            # A decoder does not need its version and flags.
            self._adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\0\0\0\0%c" % transform
            dropped -= len(self._adobe)
        if dropped:
            self._dropped[_label(marker, data, start + 2)] += dropped

    def _frame(self, body: bytes) -> None:
        """The header of the frame: precision, size, components."""
        if self._components:
            raise invalid("there is a second frame")
        count = body[5] if len(body) > _FRAME_BYTES else 0
        if count not in _COMPONENTS or len(body) != _FRAME_BYTES + 1 + 3 * count:
            raise invalid("the frame's header is not of 1, 3 or 4 components")
        if body[0] != _PRECISION:
            raise invalid(f"it has samples of {body[0]} bits")
        self._height, self._width = int.from_bytes(body[1:3]), int.from_bytes(body[3:5])
        # A height of 0 would come after the first scan (DNL).
        check_pixels(self._width, self._height, 1, self._limits)
        self._components = body[6::3]
        for factors, table in zip(body[7::3], body[8::3], strict=True):
            if not (1 <= factors >> 4 <= _LARGEST_FACTOR and 1 <= factors & 15 <= _LARGEST_FACTOR and table < _TABLES):
                raise invalid("a component of the frame has no such sampling or table")

    def _scan_header(self, body: bytes) -> None:
        """The header of a scan: which components, and which of their coefficients."""
        count = body[0] if body else 0
        if not 1 <= count <= len(self._components) or len(body) != 4 + 2 * count:
            raise invalid("a scan's header does not fit the frame")
        if not set(body[1 : 1 + 2 * count : 2]) <= set(self._components):
            raise invalid("a scan has a component that the frame does not have")
        self._scans += 1
        if self._scans > MAX_SCANS:
            raise TheirError(MEDIA_TOO_LARGE, f"it has more than {MAX_SCANS} scans")

    def _scan(self) -> None:
        """Keep the data of a scan, restart markers included, up to the marker behind it."""
        data, start, at = self._data, self._at, self._at
        while found := _END_OF_SCAN.search(data, at):
            at = found.start()
            after = _AFTER_FILL.search(data, at)
            if after is None:
                break
            code = data[after.start()]
            self._kept.append(self._view[start:at])
            if code and code not in _RESTARTS:
                self._at = at
                return
            # Fill bytes within the data: the last one belongs to what follows.
            start = after.start() - 1
            self._dropped["fill bytes"] += start - at
            at = after.end()
        raise invalid("it ends within a scan")


def _label(marker: int, data: bytes, at: int) -> str:
    """What a segment is, by its first bytes."""
    if marker == _COM:
        return "comment"
    for code, begin, label in _LABELS:
        if marker == code and data.startswith(begin, at):
            return label
    return "application data"


def _check_quantization(body: bytes) -> None:
    """Raises TheirError unless tables fill the segment exactly."""
    at = 0
    while at < len(body):
        precision, table = divmod(body[at], 16)
        if precision > 1 or table >= _TABLES:
            raise invalid("there is no such quantization table")
        at += 1 + _BLOCK * (precision + 1)
    if at != len(body):
        raise invalid("quantization tables do not fill their segment")


def _check_huffman(body: bytes) -> None:
    """Raises TheirError unless tables fill the segment exactly."""
    at = 0
    while at < len(body):
        kind, table = divmod(body[at], 16)
        symbols = sum(body[at + 1 : at + _BASIC_TABLE])
        if kind > 1 or table >= _TABLES or symbols > _SYMBOLS:
            raise invalid("there is no such Huffman table")
        at += _BASIC_TABLE + symbols
    if at != len(body):
        raise invalid("Huffman tables do not fill their segment")
