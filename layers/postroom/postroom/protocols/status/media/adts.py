"""The walker of AAC in ADTS (ISO/IEC 13818-7), with or without CRC.

Kept: whole frames whose fixed header is that of the first one. Dropped: ID3v2 tags in front, and behind the frames what
does not begin as one (ID3v1, APEv2) or is cut off; the bits of a copyright's number are written as 0. Refused: an ID3v2
tag that is longer than the file, a frame without content or with other parameters than the first. What an AAC frame
holds beside the sound (fill and data elements) is not known without decoding, and stays.
"""

from collections import Counter
from struct import Struct
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.status.media.cleaned import Cleaned, MediaLimits, invalid

_HEADER, _WITH_CRC = 7, 9
_SYNC, _SYNC_BITS = 0xFFF0, 0xFFF6
"""The first 16 bits: the sync word, and 0 for the layer."""
_RATES: Final = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)
_SAMPLES: Final = 1024
"""Of a block."""
_BEGIN: Final = Struct(">Q")
"""The first 64 bits of a frame: the header, and a byte of content or CRC. Of these:"""
_FIXED, _COPYRIGHT, _BLOCKS = 0xFFFFFFF << 36, 3 << 34, 3 << 8
_VARIABLE: Final = _COPYRIGHT | _BLOCKS
_LENGTH, _LENGTH_BITS = 21, 0x1FFF
_NO_CRC, _RATE, _RATE_BITS = 1 << 48, 42, 0xF
_COPYRIGHT_BYTE, _COPYRIGHT_BITS = 3, 0x0C
_ID3: Final = b"ID3"
_ID3_HEADER: Final = 10
_HAS_FOOTER: Final = 0x10
_TAILS: Final = ((b"TAG", "ID3"), (b"APETAGEX", "APE"), (b"ID3", "ID3"))


def begins(data: bytes) -> bool:
    """Whether the first bytes, behind ID3v2 tags, are those of a frame."""
    try:
        at = _behind_tags(data)
    except TheirError:
        return False
    return _is_sync(data, at)


def walk(data: bytes, _: MediaLimits) -> Cleaned:
    """Clean an ADTS. Raises TheirError: MediaInvalid."""
    begin = at = _behind_tags(data)
    last = len(data) - _BEGIN.size
    if not _is_sync(data, at) or at > last:
        raise invalid("it does not begin as AAC in ADTS")
    fixed = _BEGIN.unpack_from(data, at)[0] & _FIXED
    least = _HEADER if fixed & _NO_CRC else _WITH_CRC
    rate = fixed >> _RATE & _RATE_BITS
    if rate >= len(_RATES):
        raise invalid("it has a sample rate that no ADTS has")
    frames = further_blocks = 0
    marked: list[int] = []
    read, most = _BEGIN.unpack_from, len(data)
    while at <= last:
        (head,) = read(data, at)
        if head & _FIXED != fixed:
            _check_tail(data, at)
            break
        length = head >> _LENGTH & _LENGTH_BITS
        if length <= least:
            raise invalid(f"the frame at {at} has no content")
        after = at + length
        if after > most:
            break
        if head & _VARIABLE:
            further_blocks += (head & _BLOCKS) >> 8
            if head & _COPYRIGHT:
                marked.append(at - begin)
        frames += 1
        at = after
    if not frames:
        raise invalid("there is no whole frame")
    dropped: Counter[str] = Counter()
    if begin:
        dropped["ID3"] += begin
    if at < most:
        dropped[_label(data, at)] += most - at
    sound = _without_marks(data[begin:at], marked, has_crc=least == _WITH_CRC)
    duration_ms = 1000 * _SAMPLES * (frames + further_blocks) // _RATES[rate]
    return Cleaned(sound, dict(dropped), frames=frames, duration_ms=duration_ms)


def _check_tail(data: bytes, at: int) -> None:
    """Raises TheirError for a frame with other parameters than the first; anything else may follow the frames."""
    if _is_sync(data, at):
        raise invalid(f"the frame at {at} has other parameters than the first")


def _is_sync(data: bytes, at: int) -> bool:
    return at + 2 <= len(data) and int.from_bytes(data[at : at + 2]) & _SYNC_BITS == _SYNC


def _behind_tags(data: bytes) -> int:
    """The place behind all ID3v2 tags. Raises TheirError."""
    at = 0
    while data.startswith(_ID3, at):
        header = data[at : at + _ID3_HEADER]
        if len(header) < _ID3_HEADER or max(header[6:]) > 0x7F:
            raise invalid("an ID3 tag has no length")
        length = 0
        for byte in header[6:]:
            length = length << 7 | byte
        at += _ID3_HEADER + length + (_ID3_HEADER if header[5] & _HAS_FOOTER else 0)
        if at > len(data):
            raise invalid("an ID3 tag is longer than the file")
    return at


def _label(data: bytes, at: int) -> str:
    """What follows the frames."""
    for begin, label in _TAILS:
        if data.startswith(begin, at):
            return label
    return "partial frame" if _is_sync(data, at) else "trailing bytes"


def _without_marks(sound: bytes, marked: list[int], *, has_crc: bool) -> bytes:
    """The frames without the bits of a copyright's number, which stand in the headers of some."""
    if not marked:
        return sound
    if has_crc:
        raise invalid("frames with a CRC have bits of a copyright's number, which the CRC covers")
    written = bytearray(sound)
    for at in marked:
        written[at + _COPYRIGHT_BYTE] &= ~_COPYRIGHT_BITS
    return bytes(written)
