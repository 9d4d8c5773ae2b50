"""Sounds of both containers, made by hand: what is in a frame is no sound, and no walker looks at it."""

from typing import Final

from tests.protocols.status.media.pictures import SECRET

AMR_BITS: Final = {0: 95, 1: 103, 2: 118, 3: 134, 4: 148, 5: 159, 6: 204, 7: 244, 8: 39, 15: 0}


def adts_frame(
    content: bytes = b"\x21\x10" * 40,
    *,
    rate: int = 7,
    profile: int = 1,
    channels: int = 1,
    blocks: int = 1,
    crc: bytes = b"",
    copyright_bits: int = 0,
    length: int | None = None,
) -> bytes:
    """A frame; `rate`: an index, 7 is 22,050 Hz. `length`: another than it has."""
    size = 7 + len(crc) + len(content) if length is None else length
    header = 0xFFF << 44 | (not crc) << 40 | profile << 38 | rate << 34 | channels << 30 | copyright_bits << 26
    return (header | size << 13 | 0x7FF << 2 | blocks - 1).to_bytes(7) + crc + content


def adts(frames: int = 5, **settings: int | bytes) -> bytes:
    return b"".join(adts_frame(bytes([number % 256]) * (40 + number % 7), **settings) for number in range(frames))  # type: ignore[arg-type]


def id3v2(content: bytes = SECRET, *, flags: int = 0, size: int | None = None) -> bytes:
    length = len(content) if size is None else size
    sizes = bytes(length >> shift & 0x7F for shift in (21, 14, 7, 0))
    footer = b"3DI\x04\0" + bytes([flags]) + sizes if flags & 0x10 else b""
    return b"ID3\x04\0" + bytes([flags]) + sizes + content + footer


ID3V1: Final = b"TAG" + SECRET.ljust(125, b"\0")
APE: Final = b"APETAGEX" + bytes(24) + SECRET


def amr_frame(kind: int = 7, quality: int = 1, fill: int = 0xFF, padding: int = 0) -> bytes:
    """A frame whose speech is of this byte. `padding`: of the bits behind the speech."""
    bits = AMR_BITS[kind]
    size = (bits + 7) // 8
    speech = bytearray([fill]) * size
    if size:
        unused = size * 8 - bits
        speech[-1] = fill & 0xFF << unused & 0xFF | padding & (1 << unused) - 1
    return bytes([kind << 3 | quality << 2]) + bytes(speech)


def amr(*frames: bytes) -> bytes:
    return b"#!AMR\n" + b"".join(frames or [amr_frame()] * 5)
