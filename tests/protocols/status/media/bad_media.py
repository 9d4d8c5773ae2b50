"""The rows of the table behind docs/reference/bad-input.md that are pictures and sounds of chats."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.protocols.status.media import pictures as p
from tests.protocols.status.media.sounds import APE, ID3V1, adts, adts_frame, amr, amr_frame, id3v2

from postroom.core.reason import Reason
from postroom.protocols.status.media import MediaType
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE

JPEG, PNG, WEBP, GIF, AAC, AMR = MediaType
SECRETS = (b"SECRET", b"PK\x03\x04", b"%PDF", b"<html>")
"""What must be in nothing that is left."""
_LARGE = 65_535


@dataclass(frozen=True)
class MediaRow:
    """A row of the table. `reason`: None if something is left; `dropped`: what of it goes, by name."""

    what: str
    kind: MediaType
    data: bytes
    reason: Reason | None = None
    dropped: tuple[str, ...] = ()

    @property
    def then(self) -> str:
        """What is left."""
        if self.reason:
            return "nothing is left"
        return f"left without: {', '.join(self.dropped)}" if self.dropped else "it is left"


def rows() -> Iterator[MediaRow]:
    """All rows of the table."""
    yield from _jpeg()
    yield from _png()
    yield from _webp()
    yield from _gif()
    yield from _sounds()
    yield from _others()


def _jpeg() -> Iterator[MediaRow]:
    data, progressive = p.jpeg(), p.jpeg(progressive=True)
    names = ("EXIF", "XMP", "IPTC", "ICC", "MPF", "thumbnail", "comment")
    for name, segment in zip(names, p.METADATA, strict=False):
        yield MediaRow(f"JPEG with a segment of {name}", JPEG, p.before(0xDB, segment, of=data), None, (name,))
    between = progressive.replace(b"\xff\xda", p.METADATA[6] + b"\xff\xda")
    yield MediaRow("JPEG with comments between its scans", JPEG, between, None, ("comment",))
    yield MediaRow("JPEG with a second picture behind its end", JPEG, data + data, None, ("trailing bytes",))
    yield MediaRow("JPEG with a ZIP behind its end", JPEG, data + p.ZIP, None, ("trailing bytes",))
    yield MediaRow("JPEG with fill bytes", JPEG, p.before(0xC4, b"\xff" * 99, of=data), None, ("fill bytes",))
    yield MediaRow("JPEG without an end", JPEG, data[:-2], MEDIA_INVALID)
    yield MediaRow("JPEG with a second start", JPEG, p.before(0xC4, b"\xff\xd8", of=data), MEDIA_INVALID)
    for marker, name in ((0xC3, "lossless"), (0xC9, "arithmetic"), (0xC5, "hierarchical")):
        other = data.replace(b"\xff\xc0", b"\xff%c" % marker)
        yield MediaRow(f"JPEG of a frame that is {name}", JPEG, other, MEDIA_INVALID)
    hidden = p.before(0xDA, p.segment(0xDB, b"\0" + bytes(64) + p.SECRET), of=data)
    yield MediaRow("JPEG with a text behind a quantization table", JPEG, hidden, MEDIA_INVALID)
    later = data[: data.index(b"\xff\xc0") + 5] + b"\0\0" + data[data.index(b"\xff\xc0") + 7 :]
    yield MediaRow("JPEG whose height would come later (DNL)", JPEG, later, MEDIA_INVALID)
    scans = p.before(0xD9, (p.segment(0xDA, b"\1\1\0\0\x3f\0") + b"\0") * 101, of=data)
    yield MediaRow("JPEG of 102 scans", JPEG, scans, MEDIA_TOO_LARGE)
    large = p.replaced(0xC0, struct.pack(">BHHB", 8, _LARGE, _LARGE, 1) + b"\1\x11\0", of=data)
    yield MediaRow("JPEG of 65,535 x 65,535 pixels", JPEG, large, MEDIA_TOO_LARGE)


def _png() -> Iterator[MediaRow]:
    data = p.png()

    def with_chunk(kind: bytes, content: bytes) -> bytes:
        return p.with_chunks(b"IDAT", (kind, content), of=data)

    packer = zlib.compressobj(9)
    mebibyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = b"Comment\0\0" + mebibyte[:2] + mebibyte[2:] * 300
    yield MediaRow("PNG with zTXt that inflates to 300 MiB", PNG, with_chunk(b"zTXt", bomb), None, ("text",))
    yield MediaRow("PNG with eXIf", PNG, with_chunk(b"eXIf", p.EXIF), None, ("EXIF",))
    yield MediaRow("PNG with a chunk of nobody", PNG, with_chunk(b"prIv", p.SECRET), None, ("other chunks",))
    yield MediaRow("PNG with gAMA of 24 bytes", PNG, with_chunk(b"gAMA", p.SECRET), None, ("other chunks",))
    yield MediaRow("PNG with an unknown critical chunk", PNG, with_chunk(b"PRIV", p.SECRET), MEDIA_INVALID)
    yield MediaRow("PNG with a second IHDR", PNG, with_chunk(b"IHDR", p.header(1, 1)), MEDIA_INVALID)
    yield MediaRow("PNG with a wrong CRC", PNG, data[:32] + bytes([data[32] ^ 1]) + data[33:], MEDIA_INVALID)
    head, (kind, content), end = p.chunks(data)
    apart = p.png_of([head, (kind, content[:9]), (b"tEXt", p.SECRET), (kind, content[9:]), end])
    yield MediaRow("PNG whose IDAT stands in two places", PNG, apart, MEDIA_INVALID)
    three, two = (p.chunk(b"acTL", bytes((0, 0, 0, count, 0, 0, 0, 0))) for count in (3, 2))
    more = p.animated("PNG", 3).replace(three, two)
    yield MediaRow("PNG of more frames than it declares", PNG, more, MEDIA_INVALID)
    yield MediaRow("PNG without an end", PNG, data[:-12], MEDIA_INVALID)
    large = p.png_of([(b"IHDR", p.header(_LARGE, _LARGE)), *p.chunks(data)[1:]])
    yield MediaRow("PNG of 65,535 x 65,535 pixels", PNG, large, MEDIA_TOO_LARGE)


def _webp() -> Iterator[MediaRow]:
    data = p.webp()
    [picture] = p.webp_chunks(data)
    place = bytes(6) + b"\x2f\0\0\x1f\0\0" + bytes(4)
    frame = place + p.riff_chunk(*picture)

    def moving(content: bytes) -> bytes:
        return p.webp_of(p.vp8x(48, 32, 0x02), (b"ANIM", bytes(6)), (b"ANMF", content))

    with_all = p.webp_of(p.vp8x(48, 32, 0x2C), (b"ICCP", p.SECRET), picture, (b"EXIF", p.EXIF), (b"XMP ", p.XMP))
    yield MediaRow("WebP with ICC, EXIF and XMP", WEBP, with_all, None, ("ICC", "EXIF", "XMP"))
    inside = moving(frame + p.riff_chunk(b"EXIF", p.EXIF) + p.riff_chunk(b"priv", p.SECRET))
    yield MediaRow("WebP with metadata within a frame", WEBP, inside, None, ("EXIF", "other chunks"))
    yield MediaRow("WebP that is longer than its file", WEBP, data[:-2], MEDIA_INVALID)
    yield MediaRow("WebP with a chunk longer than its frame", WEBP, moving(frame[:-2]), MEDIA_INVALID)
    yield MediaRow("WebP with a second picture", WEBP, p.webp_of(picture, picture), MEDIA_INVALID)
    yield MediaRow("WebP with a frame beyond its canvas", WEBP, moving(b"\1" + frame[1:]), MEDIA_INVALID)
    other = p.webp_of(p.vp8x(47, 32), picture)
    yield MediaRow("WebP with a picture of another size than its canvas", WEBP, other, MEDIA_INVALID)
    large = p.webp_of(p.vp8x(_LARGE, _LARGE), picture)
    yield MediaRow("WebP of 65,535 x 65,535 pixels", WEBP, large, MEDIA_TOO_LARGE)


def _gif() -> Iterator[MediaRow]:
    picture = p.gif_picture()
    extensions = p.gif_of(p.COMMENT, p.PLAIN_TEXT, p.GIF_XMP, picture)
    yield MediaRow("GIF with comment, text and XMP", GIF, extensions, None, ("comment", "plain text", "XMP"))
    loop = p.gif_of(p.LOOP[:-1] + b"\x06SECRET\0", picture)
    yield MediaRow("GIF with a text behind its loop", GIF, loop, None, ("other extensions",))
    control = p.gif_of(p.GRAPHIC_CONTROL[:-1] + b"\x06SECRET\0", picture)
    yield MediaRow("GIF with a text behind a graphic control", GIF, control, MEDIA_INVALID)
    yield MediaRow("GIF without an end", GIF, p.gif_of(picture, end=b""), MEDIA_INVALID)
    yield MediaRow("GIF with a picture beyond its screen", GIF, p.gif_of(p.gif_picture(x=1)), MEDIA_INVALID)
    yield MediaRow("GIF of 501 frames", GIF, p.gif_of(*[picture] * 501), MEDIA_TOO_LARGE)
    yield MediaRow(
        "GIF of 5 frames of 16,000,000 pixels", GIF, p.gif_of(*[picture] * 5, width=4000, height=4000), MEDIA_TOO_LARGE
    )
    large = p.gif_of(picture, width=_LARGE, height=_LARGE)
    yield MediaRow("GIF of 65,535 x 65,535 pixels", GIF, large, MEDIA_TOO_LARGE)


def _sounds() -> Iterator[MediaRow]:
    sound = adts()
    yield MediaRow("AAC with ID3v2 in front, twice", AAC, id3v2() + id3v2(flags=0x10) + sound, None, ("ID3",))
    yield MediaRow("AAC with ID3v1 behind", AAC, sound + ID3V1, None, ("ID3",))
    yield MediaRow("AAC with APEv2 behind", AAC, sound + APE, None, ("APE",))
    yield MediaRow("AAC with a frame that is cut off", AAC, sound + adts_frame()[:-1], None, ("partial frame",))
    yield MediaRow("AAC with ID3 longer than the file", AAC, id3v2(size=9999) + sound, MEDIA_INVALID)
    yield MediaRow("AAC with a frame of length 0", AAC, sound + adts_frame(length=0), MEDIA_INVALID)
    yield MediaRow("AAC with a frame of another rate", AAC, sound + adts_frame(rate=4), MEDIA_INVALID)
    yield MediaRow("AMR with a frame that is cut off", AMR, amr() + amr_frame()[:-1], None, ("partial frame",))
    yield MediaRow("AMR with a reserved type of frame", AMR, amr() + b"\x4c" + bytes(40), MEDIA_INVALID)
    yield MediaRow("AMR-WB", AMR, b"#!AMR-WB\n" + bytes(99), MEDIA_INVALID)


def _others() -> Iterator[MediaRow]:
    good = {JPEG: p.jpeg(), PNG: p.png(), WEBP: p.webp(), GIF: p.gif(), AAC: adts(), AMR: amr()}
    names = {p.HTML: "HTML", b"%PDF-1.7\n%%EOF": "a PDF", p.ZIP: "a ZIP"}
    for kind, data in good.items():
        other = PNG if kind is not PNG else JPEG
        yield MediaRow(f"{other} that is said to be {kind}", kind, good[other], MEDIA_INVALID)
        for more, name in names.items():
            yield MediaRow(f"{kind} with {name} in front", kind, more + data, MEDIA_INVALID)
            if kind is not AMR:  # nothing says where its sound ends
                yield MediaRow(f"{kind} with {name} behind", kind, data + more, None, ("trailing bytes",))
        yield MediaRow(f"{kind} of no bytes", kind, b"", MEDIA_INVALID)
        most = 1 << 20 if kind.is_audio else 400_000
        yield MediaRow(f"{kind} of {most + 1:,} bytes", kind, data.ljust(most + 1, b"\0"), MEDIA_TOO_LARGE)
