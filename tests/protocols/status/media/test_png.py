"""PNG: the chunks that a viewer needs stay, each once and of its exact form; nothing is inflated."""

import struct
import zlib
from typing import Any

import pytest
from tests.protocols.status.media.held import good, refusal
from tests.protocols.status.media.pictures import (
    EXIF,
    HTML,
    PNG_MAGIC,
    SECRET,
    ZIP,
    animated,
    chunk,
    chunks,
    header,
    pixels,
    png,
    png_of,
    text_info,
    with_chunks,
)

from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType, clean

PICTURE = png()
INDEXED = png(mode="P", transparency=0)
ANIMATED = animated("PNG", 3)
OWN_DEFAULT = animated("PNG", 2, default_image=True)
IDAT = next(content for kind, content in chunks(PICTURE) if kind == b"IDAT")


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.PNG)


def refused(data: bytes, limits: MediaLimits | None = None) -> str:
    return refusal(data, MediaType.PNG, limits)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16"])
@pytest.mark.parametrize("settings", [{}, {"dpi": (72, 72)}, {"gamma": 0.5}, {"compress_level": 0}], ids=str)
def test_the_pixels_stay_as_they_are_and_the_metadata_goes(mode: str, settings: dict[str, Any]) -> None:
    if mode in ("1", "I;16"):
        data = png_of([(b"IHDR", header(8, 2, {"1": 1}.get(mode, 16), 0)), (b"tEXt", SECRET), (b"eXIf", EXIF),
                       (b"IDAT", zlib.compress(bytes(34))), (b"IEND", b"")])  # fmt: skip
    else:
        data = png(mode=mode, pnginfo=text_info(), exif=EXIF, icc_profile=SECRET, **settings)
    left = cleaned(data)
    assert pixels(left.data, "PNG") == pixels(data, "PNG")
    assert SECRET not in left.data
    assert not {b"eXIf", b"iCCP", b"tEXt", b"zTXt", b"iTXt", b"tIME"} & {kind for kind, _ in chunks(left.data)}


def test_what_has_nothing_to_drop_is_the_same() -> None:
    assert cleaned(PICTURE) == Cleaned(PICTURE, {}, 48, 32, 1, None)
    assert cleaned(INDEXED).data == INDEXED
    assert cleaned(ANIMATED) == Cleaned(ANIMATED, {}, 48, 32, 3, None)


def test_what_was_dropped_is_named_with_its_bytes() -> None:
    data = with_chunks(
        b"IDAT", (b"eXIf", b"12"), (b"iCCP", b"123"), (b"tEXt", b"1"), (b"zTXt", b""), (b"iTXt", b"1"), (b"tIME", b"1"),
        (b"iTXt", b"XML:com.adobe.xmp\0"), (b"prIv", b"1234"), (b"hIST", b""), (b"PLTE", b"123"), of=PICTURE,
    )  # fmt: skip
    assert cleaned(data + ZIP) == Cleaned(
        PICTURE,
        {
            "EXIF": 14, "ICC": 15, "text": 38, "time": 13, "XMP": 30, "other chunks": 28, "suggested palette": 15,
            "trailing bytes": len(ZIP),
        },
        48, 32, 1,
    )  # fmt: skip


WELL_FORMED = {
    b"tIME": (2026).to_bytes(2) + bytes([11, 29, 9, 30, 0]),
    b"tEXt": b"Author\0" + SECRET,
    b"zTXt": b"Author\0\0" + zlib.compress(SECRET),
    b"iTXt": b"Author\0\0\0\0\0" + SECRET,
    b"iCCP": b"profile\0\0" + zlib.compress(SECRET),
    b"eXIf": EXIF,
}


@pytest.mark.parametrize("kind", WELL_FORMED)
def test_metadata_is_dropped_also_where_it_is_well_formed_png_section_11_3(kind: bytes) -> None:
    for place in (b"IDAT", b"IEND"):
        left = cleaned(with_chunks(place, (kind, WELL_FORMED[kind]), of=PICTURE))
        assert left.data == PICTURE
        assert sum(left.dropped.values()) == 12 + len(WELL_FORMED[kind])


def test_a_text_of_a_gigabyte_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()
    data = with_chunks(b"IDAT", (b"zTXt", b"Comment\0\0" + bomb), (b"iCCP", b"p\0\0" + bomb), of=PICTURE)
    for name in ("decompress", "decompressobj"):
        monkeypatch.delattr(zlib, name)
    assert clean(data, MediaType.PNG, MediaLimits(image_bytes=len(data))).data == PICTURE


# --- chunks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in (*chunks(INDEXED), *chunks(ANIMATED))}))
def test_a_wrong_crc_is_refused(kind: bytes) -> None:
    data = INDEXED if kind in (b"PLTE", b"tRNS") else ANIMATED
    end = data.index(kind) + 4 + int.from_bytes(data[data.index(kind) - 4 :][:4])
    wrong = data[:end] + bytes([data[end] ^ 1]) + data[end + 1 :]
    assert refused(wrong).endswith("has a wrong CRC")


def test_the_crc_of_what_is_dropped_is_not_looked_at() -> None:
    text = chunk(b"tEXt", SECRET)[:-4] + b"1234"
    assert cleaned(PICTURE[:33] + text + PICTURE[33:]).data == PICTURE


@pytest.mark.parametrize("kind", [b"CgBI", b"ABCD", b"ABcD", b"IdAT"])
def test_an_unknown_critical_chunk_is_refused(kind: bytes) -> None:
    for place in (b"IDAT", b"IEND"):
        assert "unknown critical chunk" in refused(with_chunks(place, (kind, SECRET), of=PICTURE))


@pytest.mark.parametrize("kind", [b"a\0cd", b"tEX1", b"\xe4EXt", b"    "])
def test_a_type_that_is_not_of_letters_is_refused(kind: bytes) -> None:
    assert "has no type" in refused(with_chunks(b"IDAT", (kind, SECRET), of=PICTURE))


def test_a_chunk_that_is_longer_than_the_file_is_refused() -> None:
    for length in (len(PICTURE), 0x7FFFFFFF, 0xFFFFFFFF):
        assert "longer than the file" in refused(PICTURE[:33] + struct.pack(">I4s", length, b"tEXt") + PICTURE[33:])


def test_one_without_an_end_is_refused() -> None:
    assert refused(PICTURE[:-12]) == "it has no end"


def test_the_end_is_empty_and_behind_a_picture() -> None:
    assert refused(png_of([*chunks(PICTURE)[:-1], (b"IEND", SECRET)]))
    assert refused(png_of([(b"IHDR", header(1, 1)), (b"IEND", b"")]))


@pytest.mark.parametrize("more", [HTML, ZIP, PICTURE])
def test_what_follows_the_end_goes(more: bytes) -> None:
    assert cleaned(PICTURE + more) == Cleaned(PICTURE, {"trailing bytes": len(more)}, 48, 32, 1)


# --- the header, the palette, the picture ----------------------------------------------------------------------------


def with_header(content: bytes) -> bytes:
    return png_of([(b"IHDR", content), (b"PLTE", b"123"), *chunks(PICTURE)[1:]])


DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


@pytest.mark.parametrize(("colour", "depth"), [(colour, depth) for colour in DEPTHS for depth in DEPTHS[colour]])
def test_the_depths_of_every_colour_type_are_taken(colour: int, depth: int) -> None:
    for interlace in (0, 1):
        assert not refused(with_header(header(48, 32, depth, colour, 0, 0, interlace)))


@pytest.mark.parametrize(
    "content",
    [header(48, 32, 4, 2), header(48, 32, 16, 3), header(48, 32, 3, 0), header(48, 32, 8, 1), header(48, 32, 8, 7),
     header(48, 32, 8, 2, 1, 0, 0), header(48, 32, 8, 2, 0, 1, 0), header(48, 32, 8, 2, 0, 0, 2),
     header(0, 32), header(48, 0), header(48, 32) + b"\0", header(48, 32)[:-1]],
)  # fmt: skip
def test_another_header_is_refused(content: bytes) -> None:
    assert refused(with_header(content)) not in ("", "MediaTooLarge")


@pytest.mark.parametrize("size", [(65_535, 65_535), (0x7FFFFFFF, 1), (0xFFFFFFFF, 0xFFFFFFFF), (4000, 4001)])
def test_one_of_too_many_pixels_is_refused(size: tuple[int, int]) -> None:
    assert refused(with_header(header(*size))) == "MediaTooLarge"


def test_the_header_is_the_first_chunk_and_the_only_one_of_its_kind() -> None:
    assert refused(png_of([(b"tEXt", SECRET), *chunks(PICTURE)])) == "it does not begin with IHDR"
    for place in (b"IDAT", b"IEND"):
        assert "second IHDR" in refused(with_chunks(place, (b"IHDR", header(9999, 1)), of=PICTURE))


def indexed(depth: int, *before: tuple[bytes, bytes]) -> bytes:
    return png_of([(b"IHDR", header(8, 1, depth, 3)), *before, (b"IDAT", zlib.compress(bytes(9))), (b"IEND", b"")])


@pytest.mark.parametrize(("depth", "colours"), [(1, 1), (1, 2), (2, 4), (4, 16), (8, 256)])
def test_a_palette_has_no_more_colours_than_the_depth_allows(depth: int, colours: int) -> None:
    assert not refused(indexed(depth, (b"PLTE", bytes(3 * colours))))
    assert refused(indexed(depth, (b"PLTE", bytes(3 * (1 << depth) + 3)))).startswith("the palette has ")


@pytest.mark.parametrize("length", [0, 1, 4])
def test_a_palette_of_another_length_is_refused(length: int) -> None:
    assert refused(indexed(8, (b"PLTE", bytes(length)))).startswith("the palette has ")


def test_an_indexed_picture_has_one_palette_in_front() -> None:
    assert refused(indexed(8)) == "there is no palette"
    assert refused(indexed(8, (b"PLTE", b"123"), (b"PLTE", b"123"))).startswith("there is a second palette")
    assert refused(with_chunks(b"IEND", (b"PLTE", b"123"), of=PICTURE)).startswith("there is a second palette")


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_palette_that_no_viewer_needs_goes(mode: str) -> None:
    data = png(mode=mode)
    assert cleaned(with_chunks(b"IDAT", (b"PLTE", b"123"), of=data)).data == data


def test_the_picture_stands_in_one_place() -> None:
    split = [*chunks(PICTURE)[:1], (b"IDAT", IDAT[:9]), (b"IDAT", b""), (b"IDAT", IDAT[9:]), (b"IEND", b"")]
    assert pixels(cleaned(png_of(split)).data, "PNG") == pixels(PICTURE, "PNG")
    assert refused(png_of([*split[:2], (b"tEXt", SECRET), *split[2:]])) == "IDAT stands in several places"


# --- ancillary chunks ------------------------------------------------------------------------------------------------


LENGTHS = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"sBIT": 3, b"bKGD": 6, b"pHYs": 9, b"tRNS": 6}


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_chunk_stays_once_in_its_place_and_of_its_length(kind: bytes) -> None:
    exact = bytes(LENGTHS[kind])
    data = with_chunks(b"IDAT", (kind, exact), of=PICTURE)
    assert cleaned(data).data == data
    assert cleaned(with_chunks(b"IDAT", (kind, exact), (kind, exact), of=PICTURE)).data == data
    assert cleaned(with_chunks(b"IEND", (kind, exact), of=PICTURE)).data == PICTURE
    for other in (exact[:-1], exact + b"\0", exact + SECRET, b""):
        assert cleaned(with_chunks(b"IDAT", (kind, other), of=PICTURE)).data == PICTURE


@pytest.mark.parametrize(
    ("mode", "kind", "length"),
    [("L", b"sBIT", 1), ("LA", b"sBIT", 2), ("RGBA", b"sBIT", 4), ("L", b"bKGD", 2), ("LA", b"bKGD", 2),
     ("RGBA", b"bKGD", 6), ("L", b"tRNS", 2)],
)  # fmt: skip
def test_some_lengths_depend_on_the_colours(mode: str, kind: bytes, length: int) -> None:
    data = png(mode=mode)
    for each in range(8):
        left = cleaned(with_chunks(b"IDAT", (kind, bytes(each)), of=data))
        assert (kind in dict(chunks(left.data))) == (each == length)


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_a_picture_with_alpha_has_no_other_transparency(mode: str) -> None:
    data = png(mode=mode)
    for length in range(8):
        assert cleaned(with_chunks(b"IDAT", (b"tRNS", bytes(length)), of=data)).data == data


def test_with_a_palette_the_order_counts() -> None:
    colours = bytes(12)
    for kind, length, is_in_front in (
        (b"gAMA", 4, True), (b"cHRM", 32, True), (b"sRGB", 1, True), (b"sBIT", 3, True), (b"tRNS", 4, False),
        (b"bKGD", 1, False),
    ):  # fmt: skip
        extra = (kind, bytes(length))
        for front in (True, False):
            parts = [extra, (b"PLTE", colours)] if front else [(b"PLTE", colours), extra]
            left = cleaned(indexed(8, *parts))
            assert (kind in dict(chunks(left.data))) == (front == is_in_front)
    assert b"tRNS" not in dict(chunks(cleaned(indexed(8, (b"PLTE", colours), (b"tRNS", bytes(5)))).data))
    assert b"tRNS" not in dict(chunks(cleaned(indexed(8, (b"PLTE", colours), (b"tRNS", b""))).data))


# --- animations ------------------------------------------------------------------------------------------------------


def fctl(
    number: int, width: int = 2, height: int = 2, x: int = 0, y: int = 0, disposal: int = 0, blend: int = 0
) -> tuple[bytes, bytes]:
    return b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, x, y, 1, 10, disposal, blend)


def fdat(number: int) -> tuple[bytes, bytes]:
    return b"fdAT", number.to_bytes(4) + zlib.compress(bytes(14))


def actl(frames: int) -> tuple[bytes, bytes]:
    return b"acTL", struct.pack(">II", frames, 0)


START = (b"IHDR", header(2, 2))
IMAGE = (b"IDAT", zlib.compress(bytes(14)))
END = (b"IEND", b"")
GOOD = (START, actl(2), fctl(0), IMAGE, fctl(1), fdat(2), fdat(3), END)


def apng(*parts: tuple[bytes, bytes], of: tuple[tuple[bytes, bytes], ...] = GOOD, at: int, instead: int = 1) -> bytes:
    """An animation with these chunks instead of some others."""
    return png_of([*of[:at], *parts, *of[at + instead :]])


def test_the_frames_of_an_animation_stay_as_they_are() -> None:
    for data, frames in ((ANIMATED, 3), (OWN_DEFAULT, 1), (png_of(GOOD), 2)):
        texts = with_chunks(b"IDAT", (b"tEXt", SECRET), of=with_chunks(b"IEND", (b"tEXt", SECRET), of=data))
        texts = texts.replace(chunk(*chunks(data)[-2]), chunk(b"tIME", SECRET) + chunk(*chunks(data)[-2]))
        left = cleaned(texts)
        assert (left.data, left.frames) == (data, frames)
        assert pixels(left.data, "PNG") == pixels(data, "PNG")


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (apng(actl(0), at=1), "the animation has no frames"),
        (apng((b"acTL", bytes(8) + SECRET), at=1), "acTL has a wrong length"),
        (apng(actl(1), at=1), "it has 2 frames, the last perhaps without data, and declares 1"),
        (apng(actl(3), at=1), "it has 2 frames, the last perhaps without data, and declares 3"),
        (apng(fctl(1), at=2), "number 1 of the animation stands in the place of 0"),
        (apng(fdat(3), at=5), "number 3 of the animation stands in the place of 2"),
        (apng(fdat(2), at=6), "number 2 of the animation stands in the place of 3"),
        (apng(fctl(0), fctl(1), at=2), "a frame has no data"),
        (apng(fctl(1), fctl(2), at=4), "a frame has no data"),
        (apng(at=5, instead=2), "it has 2 frames, the last perhaps without data, and declares 2"),
        (apng(at=4, instead=1), "number 2 of the animation stands in the place of 1"),
        (apng(fdat(1), at=4), "there is data of no frame"),
        (apng(fdat(1), IMAGE, at=3), "fdAT is too short, or stands in front of the picture"),
        (apng((b"fdAT", b"\0\0\2"), at=5), "fdAT is too short, or stands in front of the picture"),
        (apng((b"fcTL", fctl(0)[1] + SECRET), at=2), "fcTL has a wrong length"),
        (apng(fctl(0, width=1), at=2), "the first frame is not of the picture's size"),
        (apng(fctl(1, width=3), at=4), "a frame is empty, or goes beyond the picture"),
        (apng(fctl(1, x=1), at=4), "a frame is empty, or goes beyond the picture"),
        (apng(fctl(1, y=0xFFFFFFFF), at=4), "a frame is empty, or goes beyond the picture"),
        (apng(fctl(1, height=0), at=4), "a frame is empty, or goes beyond the picture"),
        (apng(fctl(1, disposal=3), at=4), "a frame has values that no APNG has"),
        (apng(fctl(1, blend=2), at=4), "a frame has values that no APNG has"),
        (apng(fctl(1), IMAGE, at=4), "IDAT stands in several places"),
        (apng(fctl(0), actl(2), at=1, instead=2), "a frame stands in front of acTL"),
    ],
)
def test_an_animation_that_contradicts_itself_is_refused(data: bytes, detail: str) -> None:
    assert refused(data) == detail


def test_without_a_declaration_in_its_place_there_is_no_animation() -> None:
    still = png_of([START, IMAGE, END])
    left = cleaned(apng(at=1))
    assert left == Cleaned(still, {"animation": len(png_of(GOOD)) - 20 - len(still)}, 2, 2, 1)
    assert cleaned(png_of([START, IMAGE, actl(2), fctl(0), fdat(1), END])).data == still


def test_a_second_declaration_goes() -> None:
    assert cleaned(apng(actl(2), actl(9), at=1)).data == png_of(GOOD)


def test_a_frame_may_be_smaller_than_the_picture() -> None:
    data = apng(fctl(1, 1, 1, 1, 1, 2, 1), at=4)
    assert cleaned(data).data == data


def test_the_number_of_frames_is_limited() -> None:
    def data(frames: int, *, own: bool = False) -> bytes:
        first = [IMAGE] if own else [fctl(0), IMAGE]
        numbers = range(0 if own else 1, 2 * frames - (0 if own else 1))
        more = [fctl(number) if (number % 2 == 0) == own else fdat(number) for number in numbers]
        return png_of([START, actl(frames), *first, *more, END])

    assert refused(data(500)) == ""
    assert refused(data(501)) == "MediaTooLarge"
    # A picture that is no frame is one more to decode.
    assert refused(data(499, own=True)) == ""
    assert refused(data(500, own=True)) == "MediaTooLarge"


def test_the_pixels_over_all_frames_are_limited() -> None:
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32)) == ""
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32 - 1)) == "MediaTooLarge"
    assert refused(OWN_DEFAULT, MediaLimits(all_pixels=2 * 48 * 32)) == ""
    assert refused(OWN_DEFAULT, MediaLimits(all_pixels=2 * 48 * 32 - 1)) == "MediaTooLarge"


def test_the_declared_frames_are_looked_at_first() -> None:
    assert refused(PNG_MAGIC + chunk(*START) + chunk(b"acTL", b"\xff" * 8)) == "MediaTooLarge"
