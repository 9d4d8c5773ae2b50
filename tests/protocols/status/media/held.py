"""What holds of every input of every walker, by readers of the containers that are written a second time here."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.protocols.status.media.pictures import chunks, riff_chunks, segments, webp_chunks
from tests.protocols.status.media.sounds import AMR_BITS

from postroom.core.errors import TheirError
from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType, clean
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE


def _jpeg(data: bytes) -> Iterator[str]:
    for place, (marker, body) in enumerate(segments(data)):
        if marker == 0xE0:
            assert (place, len(body), body[:5], body[-2:]) == (0, 14, b"JFIF\0", b"\0\0")
        elif marker == 0xEE:
            assert place <= 1
            assert body[:-1] == b"Adobe\0\x64\0\0\0\0"
        elif marker == 0xD9:
            assert body == b""
        yield f"{marker:02X}"


def _png(data: bytes) -> Iterator[str]:
    for kind, _ in chunks(data):
        yield kind.decode()


def _webp(data: bytes) -> Iterator[str]:
    for kind, content in webp_chunks(data):
        if kind == b"VP8X":
            assert content[0] & ~0x12 == 0
            assert content[1:4] == b"\0\0\0"
        if kind == b"ANMF":
            yield from (each.decode() for each, _ in riff_chunks(content[16:]))
        yield kind.decode()


def gif_blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The blocks of a GIF behind the screen, by the label of an extension, `2C` or `3B`."""
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    while True:
        start = at
        name = f"{data[at]:02X}"
        if data[at] == 0x3B:
            yield name, data[at + 1 :]
            return
        if data[at] == 0x21:
            name = f"{data[at + 1]:02X}"
            at += 2
        else:
            assert data[at] == 0x2C
            at += 11 + (3 << (data[at + 9] & 7) + 1 if data[at + 9] & 0x80 else 0)
        while data[at]:
            at += 1 + data[at]
        at += 1
        yield name, data[start:at]


def _gif(data: bytes) -> Iterator[str]:
    for name, block in gif_blocks(data):
        if name == "F9":
            assert len(block) == 8
        elif name == "FF":
            assert block[3:16] in (b"NETSCAPE2.0\x03\x01", b"ANIMEXTS1.0\x03\x01")
            assert len(block) == 19
        elif name == "3B":
            assert block == b""
        yield name


def _aac(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        assert data[at] == 0xFF
        assert not data[at + 3] & 0x0C
        at += (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        yield "frame"
    assert at == len(data)


def _amr(data: bytes) -> Iterator[str]:
    assert data.startswith(b"#!AMR\n")
    at = 6
    while at < len(data):
        bits = AMR_BITS[data[at] >> 3]
        assert not data[at] & 0x83
        at += 1 + (bits + 7) // 8
        assert not data[at - 1] & (1 << -bits % 8) - 1
        yield "frame"
    assert at == len(data)


_READERS: Final[dict[MediaType, Callable[[bytes], Iterator[str]]]] = {
    MediaType.JPEG: _jpeg, MediaType.PNG: _png, MediaType.WEBP: _webp, MediaType.GIF: _gif,
    MediaType.AAC: _aac, MediaType.AMR: _amr,
}  # fmt: skip
_ALLOWED: Final = {
    MediaType.JPEG: {"E0", "EE", "C0", "C1", "C2", "C4", "DB", "DD", "DA", "D9"},
    MediaType.PNG: {
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "bKGD", "pHYs", "acTL", "fcTL", "fdAT",
    },
    MediaType.WEBP: {"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF"},
    MediaType.GIF: {"F9", "FF", "2C", "3B"},
    MediaType.AAC: {"frame"},
    MediaType.AMR: {"frame"},
}  # fmt: skip


def parts(data: bytes, kind: MediaType) -> list[str]:
    """What a cleaned picture or sound consists of."""
    return list(_READERS[kind](data))


def held(data: bytes, kind: MediaType, limits: MediaLimits | None = None) -> Cleaned | TheirError:
    """What the walker says of any bytes, once it is seen that it keeps its promises."""
    limits = limits or MediaLimits()
    cleaned = _outcome(data, kind, limits)
    if isinstance(cleaned, TheirError):
        assert cleaned.reason in (MEDIA_INVALID, MEDIA_TOO_LARGE)
        assert cleaned.detail
        return cleaned
    assert len(cleaned.data) <= len(data) + (kind is MediaType.WEBP)
    assert clean(cleaned.data, kind, limits) == replace(cleaned, dropped={})
    assert all(count > 0 for count in cleaned.dropped.values())
    if kind is not MediaType.WEBP:  # its padding may be written anew, or be lost with what it belonged to
        assert len(data) == len(cleaned.data) + sum(cleaned.dropped.values())
    assert set(parts(cleaned.data, kind)) <= _ALLOWED[kind]
    return cleaned


def _outcome(data: bytes, kind: MediaType, limits: MediaLimits) -> Cleaned | TheirError:
    try:
        return clean(data, kind, limits)
    except TheirError as error:
        return error


def refusal(data: bytes, kind: MediaType, limits: MediaLimits | None = None) -> str:
    """The detail of the refusal of what is damaged, or the reason if it is another; "": it is not refused."""
    found = held(data, kind, limits)
    if isinstance(found, Cleaned):
        return ""
    return found.detail if found.reason == MEDIA_INVALID else str(found.reason)


def good(data: bytes, kind: MediaType) -> Cleaned:
    """What is left of what must not be refused."""
    found = held(data, kind)
    assert isinstance(found, Cleaned), found
    return found
