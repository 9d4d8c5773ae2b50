"""Good pictures and sounds of every type, small ones, with and without what has to go."""

from typing import Final

from tests.protocols.status.media.pictures import (
    ADOBE,
    COMMENT,
    EXIF,
    GIF_XMP,
    GRAPHIC_CONTROL,
    LOOP,
    METADATA,
    PLAIN_TEXT,
    SECRET,
    XMP,
    ZIP,
    animated,
    before,
    gif,
    gif_of,
    gif_picture,
    jpeg,
    png,
    riff_chunk,
    segment,
    text_info,
    vp8x,
    webp,
    webp_chunks,
    webp_of,
    with_chunks,
)
from tests.protocols.status.media.sounds import APE, ID3V1, adts, adts_frame, amr, amr_frame, id3v2

from postroom.protocols.status.media import MediaType

SIZE: Final = (16, 8)
_JPEG: Final = jpeg(*SIZE, progressive=True)
_FRAME: Final = webp_chunks(webp(*SIZE))[0]
_PLACE: Final = bytes((0, 0, 0, 0, 0, 0, SIZE[0] - 1, 0, 0, SIZE[1] - 1, 0, 0, 50, 0, 0, 0))

SAMPLES: Final[dict[MediaType, tuple[bytes, ...]]] = {
    MediaType.JPEG: (
        jpeg(*SIZE),
        jpeg(*SIZE, mode="CMYK"),
        jpeg(*SIZE, mode="L", restart_marker_blocks=1),
        before(0xDB, *METADATA, ADOBE, of=_JPEG) + ZIP,
        before(0xC4, b"\xff\xff\xff", segment(0xFE, SECRET), of=_JPEG),
        before(0xD9, segment(0xE1, EXIF), segment(0xE1, XMP), of=_JPEG),
    ),
    MediaType.PNG: (
        png(*SIZE),
        png(*SIZE, mode="P", transparency=0),
        png(*SIZE, mode="LA", pnginfo=text_info(), exif=EXIF, icc_profile=SECRET, gamma=0.5, dpi=(72, 72)),
        animated("PNG", 3, *SIZE) + ZIP,
        animated("PNG", 2, *SIZE, default_image=True),
        with_chunks(b"IDAT", (b"prIv", SECRET), (b"bKGD", bytes(6)), (b"sBIT", b"\x08" * 3), of=png(*SIZE)),
    ),
    MediaType.WEBP: (
        webp(*SIZE),
        webp(*SIZE, lossless=True),
        webp(*SIZE, mode="RGBA", exif=EXIF, xmp=XMP, icc_profile=SECRET),
        animated("WEBP", 3, *SIZE) + ZIP,
        webp_of(
            vp8x(*SIZE, 0x2E), (b"ICCP", SECRET), (b"ANIM", bytes(6)),
            (b"ANMF", _PLACE + riff_chunk(*_FRAME) + riff_chunk(b"EXIF", SECRET[:-1]) + riff_chunk(b"XMP ", SECRET)),
        ),
        webp_of((b"VP8L", webp_chunks(webp(*SIZE, lossless=True))[0][1] + b"\0"), (b"priv", SECRET)),
    ),
    MediaType.GIF: (
        gif(*SIZE),
        animated("GIF", 3, *SIZE, loop=0, comment=SECRET) + ZIP,
        gif_of(COMMENT, LOOP, GRAPHIC_CONTROL, PLAIN_TEXT, gif_picture(), GIF_XMP, LOOP, gif_picture(1, 1, 1, 1)),
        gif_of(gif_picture(flags=0x80, colours=bytes(6)), GRAPHIC_CONTROL),
    ),
    MediaType.AAC: (
        adts(),
        adts(crc=b"\x12\x34", blocks=2),
        id3v2() + id3v2(flags=0x10) + adts(3) + ID3V1,
        adts(2, copyright_bits=3) + APE,
        adts(2) + adts_frame()[:-1],
    ),
    MediaType.AMR: (
        amr(),
        amr(*(amr_frame(kind) for kind in (*range(9), 15))),
        amr(amr_frame(0, padding=1), b"\xff", amr_frame(8, quality=0), amr_frame()[:-1]),
    ),
}  # fmt: skip
