"""Pictures of every container, made by Pillow and taken apart and put together by hand.

What must not be left of one says `SECRET`.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from hashlib import shake_128
from io import BytesIO
from typing import Any, Final

from PIL import Image, ImageSequence
from PIL.PngImagePlugin import PngInfo

SECRET: Final = b"SECRET 52.5200N 13.4050E"
EXIF: Final = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x0e\0\x02\0\0\0\x19\0\0\0\x1a\0\0\0\0" + SECRET + b"\0"
XMP: Final = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>" + SECRET + b"</x:xmpmeta>"
HTML: Final = b"<html><script>alert('SECRET')</script></html>"
ZIP: Final = b"PK\x03\x04" + bytes(26) + SECRET + b"PK\x05\x06" + bytes(18)


def image(width: int = 48, height: int = 32, mode: str = "RGB", seed: int = 0) -> Image.Image:
    """A picture with much detail, the same for the same seed."""
    small = (max(1, width // 4), max(1, height // 4))
    bands = len(Image.new(mode, (1, 1)).getbands())
    noise = Image.frombytes(mode, small, shake_128(b"%d" % seed).digest(small[0] * small[1] * bands))
    return noise.resize((width, height))


def saved(picture: Image.Image, type_: str, **settings: Any) -> bytes:
    written = BytesIO()
    picture.save(written, type_, **settings)
    return written.getvalue()


def pixels(data: bytes, type_: str) -> list[tuple[str, tuple[int, int], bytes]]:
    """Every frame as Pillow decodes it."""
    with Image.open(BytesIO(data), formats=(type_,)) as opened:
        frames = ImageSequence.Iterator(opened)
        return [(frame.mode, frame.size, frame.convert("RGBA").tobytes()) for frame in frames]


# --- JPEG ------------------------------------------------------------------------------------------------------------


def segment(marker: int, body: bytes = b"") -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg(width: int = 48, height: int = 32, mode: str = "RGB", **settings: Any) -> bytes:
    return saved(image(width, height, mode), "JPEG", **settings)


def segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The markers of a JPEG with the content of their segments; a scan's data belongs to its SOS."""
    at = 2
    while at < len(data):
        assert data[at] == 0xFF
        marker = data[at + 1]
        if marker == 0xD9:
            yield marker, data[at + 2 :]
            return
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4])
        if marker == 0xDA:
            while data[end] != 0xFF or data[end + 1] in (0, *range(0xD0, 0xD8)):
                end += 1
        yield marker, data[at + 4 : end]
        at = end


def before(marker: int, *parts: bytes, of: bytes) -> bytes:
    """A JPEG with something in front of its first segment of this marker."""
    written, is_in = bytearray(b"\xff\xd8"), False
    for each, body in segments(of):
        if each == marker and not is_in:
            written += b"".join(parts)
            is_in = True
        written += _written(each, body)
    assert is_in
    return bytes(written)


def _written(marker: int, body: bytes) -> bytes:
    if marker == 0xD9:
        return b"\xff\xd9" + body
    if marker == 0xDA:
        header = 6 + 2 * body[0]
        return segment(marker, body[: header - 2]) + body[header - 2 :]
    return segment(marker, body)


def replaced(marker: int, body: bytes, of: bytes) -> bytes:
    """A JPEG with another content of its first segment of this marker."""
    found = next(content for each, content in segments(of) if each == marker)
    return of.replace(_written(marker, found), segment(marker, body), 1)


JFXX: Final = segment(0xE0, b"JFXX\0\x13\x02\x02" + SECRET)
ADOBE: Final = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01")
METADATA: Final = (
    segment(0xE1, EXIF), segment(0xE1, XMP), segment(0xED, b"Photoshop 3.0\x008BIM" + SECRET),
    segment(0xE2, b"ICC_PROFILE\0\x01\x01" + SECRET), segment(0xE2, b"MPF\0" + SECRET), JFXX,
    segment(0xFE, SECRET), segment(0xEF, SECRET),
)  # fmt: skip


# --- PNG -------------------------------------------------------------------------------------------------------------

PNG_MAGIC: Final = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int = 48, height: int = 32, mode: str = "RGB", **settings: Any) -> bytes:
    return saved(image(width, height, mode), "PNG", **settings)


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], len(PNG_MAGIC)
    while at < len(data):
        length = int.from_bytes(data[at : at + 4])
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def png_of(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    return PNG_MAGIC + b"".join(chunk(kind, content) for kind, content in parts)


def with_chunks(kind: bytes, *parts: tuple[bytes, bytes], of: bytes) -> bytes:
    """A PNG with chunks in front of its first of this kind."""
    found = chunks(of)
    place = [each for each, _ in found].index(kind)
    return png_of([*found[:place], *parts, *found[place:]])


def header(width: int, height: int, depth: int = 8, colour: int = 2, *rest: int) -> bytes:
    return struct.pack(">IIBBBBB", width, height, depth, colour, *(rest or (0, 0, 0)))


def text_info() -> PngInfo:
    info = PngInfo()
    info.add_text("Comment", SECRET.decode())
    info.add_text("Comment", SECRET.decode(), zip=True)
    info.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    return info


# --- WebP ------------------------------------------------------------------------------------------------------------


def riff_chunk(kind: bytes, content: bytes, padding: bytes = b"\0") -> bytes:
    return kind + struct.pack("<I", len(content)) + content + padding * (len(content) & 1)


def webp_of(*parts: tuple[bytes, bytes]) -> bytes:
    content = b"WEBP" + b"".join(riff_chunk(kind, data) for kind, data in parts)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def riff_chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at + 4 : at + 8], "little")
        found.append((content[at : at + 4], content[at + 8 : at + 8 + length]))
        at += 8 + length + (length & 1)
    return found


def webp_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    assert int.from_bytes(data[4:8], "little") == len(data) - 8
    return riff_chunks(data[12:])


def webp(width: int = 48, height: int = 32, mode: str = "RGB", **settings: Any) -> bytes:
    return saved(image(width, height, mode), "WEBP", **settings)


def vp8x(width: int, height: int, flags: int = 0) -> tuple[bytes, bytes]:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"VP8X", bytes((flags, 0, 0, 0)) + sizes


# --- GIF -------------------------------------------------------------------------------------------------------------


def gif(width: int = 48, height: int = 32, frames: int = 1, **settings: Any) -> bytes:
    return saved(
        image(width, height, "L"), "GIF", save_all=True, append_images=_more(frames, width, height, "L"), **settings
    )


def gif_of(*blocks: bytes, width: int = 2, height: int = 2, end: bytes = b"\x3b") -> bytes:
    """A GIF of a few pixels and two colours, of these blocks."""
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0)
    return b"GIF89a" + screen + b"\0\0\0\xff\xff\xff" + b"".join(blocks) + end


def gif_picture(x: int = 0, y: int = 0, width: int = 2, height: int = 2, flags: int = 0, colours: bytes = b"") -> bytes:
    return b"\x2c" + struct.pack("<HHHHB", x, y, width, height, flags) + colours + b"\x02\x02\x44\x01\0"


GRAPHIC_CONTROL: Final = b"\x21\xf9\x04\x00\x0a\x00\x00\x00"
LOOP: Final = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
COMMENT: Final = b"\x21\xfe" + bytes([len(SECRET)]) + SECRET + b"\0"
PLAIN_TEXT: Final = b"\x21\x01\x0c" + bytes(12) + bytes([len(SECRET)]) + SECRET + b"\0"
GIF_XMP: Final = b"\x21\xff\x0bXMP DataXMP" + bytes([len(SECRET)]) + SECRET + b"\0"


# --- animations ------------------------------------------------------------------------------------------------------


def _more(frames: int, width: int, height: int, mode: str) -> list[Image.Image]:
    return [image(width, height, mode, seed) for seed in range(1, frames)]


def animated(type_: str, frames: int = 3, width: int = 48, height: int = 32, **settings: Any) -> bytes:
    mode = {"GIF": "L"}.get(type_, "RGBA")
    more = _more(frames, width, height, mode)
    return saved(image(width, height, mode), type_, save_all=True, append_images=more, duration=50, **settings)
