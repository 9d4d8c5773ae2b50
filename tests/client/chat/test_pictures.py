"""Pictures made ready to send, and decoded to be shown; the program that does it, and what it may do."""

import os
import struct
import sys
import zlib
from ast import literal_eval
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Final

import pytest
from PIL import Image
from tests.client.chat.colour_profiles import (
    ADOBE_RGB,
    DISPLAY_P3,
    gamma,
    grey_profile,
    rgb_profile,
    srgb_curve,
)
from tests.protocols.status.media.pictures import (
    EXIF,
    HTML,
    SECRET,
    XMP,
    ZIP,
    animated,
    before,
    gif,
    header,
    image,
    jpeg,
    png,
    png_of,
    saved,
    segment,
    text_info,
    vp8x,
    webp,
    webp_of,
)
from tests.protocols.status.media.sounds import adts

from postroom.client.chat import picture_process, picture_worker
from postroom.client.chat.picture_process import WORKER, PictureProcess
from postroom.client.chat.pictures import (
    DECODING,
    MAX_FILE_BYTES,
    MAX_FILE_PIXELS,
    MAX_SENT_BYTES,
    PREPARING,
    Pixels,
    decode_picture,
    half_blocks,
    prepare_picture,
    prepare_profile_picture,
)
from postroom.client.chat.prepared_media import PreparedMedia
from postroom.core import extras
from postroom.core.errors import SettingsError, TheirError
from postroom.protocols.status.media import MediaType, clean
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE

Programs = Callable[..., PictureProcess]
WHITE, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)


def opened(picture: PreparedMedia) -> Image.Image:
    decoded = Image.open(BytesIO(picture.cleaned.data), formats=(picture.type,))
    decoded.load()
    return decoded


class Within(PictureProcess):
    """The program's work without its process, which takes longer to start than most pictures take."""

    def run(self, data: bytes, max_bytes: int, work: str, type_: MediaType, *numbers: int) -> bytes:
        done = {"prepare": picture_worker.prepare, "decode": picture_worker.decode}[work](data, type_, *numbers)
        assert len(done) <= max_bytes
        return done


WITHIN = Within(0, 0)


def prepared(data: bytes, process: PictureProcess = PREPARING) -> PreparedMedia:
    """A picture that was made ready; whatever it was, it is one that can be sent."""
    picture = prepare_picture(data, process)
    cleaned = clean(picture.cleaned.data, picture.type)
    assert (cleaned.data, cleaned.dropped) == (picture.cleaned.data, {})
    assert (cleaned.width, cleaned.height) == (picture.cleaned.width, picture.cleaned.height)
    assert len(picture.cleaned.data) <= 350_000
    assert max(picture.cleaned.width, picture.cleaned.height) <= 2000
    return picture


def refused(data: bytes, process: PictureProcess = PREPARING) -> TheirError:
    with pytest.raises(TheirError) as caught:
        prepare_picture(data, process)
    return caught.value


def is_near(one: object, other: object, most: int = 3) -> bool:
    assert isinstance(one, tuple)
    assert isinstance(other, tuple)
    return len(one) == len(other) and all(abs(a - b) <= most for a, b in zip(one, other, strict=True))


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """A picture that no encoder makes small."""
    return Image.frombytes(mode, (width, height), Random(1).randbytes(width * height * len(mode)))


# --- sending: what is in it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        jpeg(exif=EXIF, comment=SECRET) + ZIP,
        before(0xDA, segment(0xE1, XMP), segment(0xED, b"Photoshop 3.0\0" + SECRET), of=jpeg()),
        png(exif=EXIF, pnginfo=text_info()) + ZIP,
        webp(exif=EXIF, xmp=XMP),
        webp(mode="RGBA", exif=EXIF, xmp=XMP),
        gif(comment=SECRET) + HTML,
        animated("GIF", comment=SECRET) + HTML,
    ],
    ids=["JPEG", "JPEG, XMP and IPTC", "PNG", "WEBP", "WEBP, transparent", "GIF", "GIF, animated"],
)
def test_a_picture_leaves_without_the_place_where_it_was_taken(data: bytes) -> None:
    assert b"SECRET" in data
    assert b"SECRET" not in prepared(data).cleaned.data


@pytest.mark.parametrize("type_", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, "ab cd ef"),
        (2, "ba dc fe"),
        (3, "fe dc ba"),
        (4, "ef cd ab"),
        (5, "ace bdf"),
        (6, "eca fdb"),
        (7, "fdb eca"),
        (8, "bdf ace"),
    ],
)
def test_a_picture_leaves_upright(type_: str, orientation: int, upright: str) -> None:
    """As EXIF says which way up it is; the letters are squares of one colour each."""
    colours = dict(zip("abcdef", [RED, BLUE, WHITE, (0, 255, 0), (0, 0, 0), (255, 255, 0)], strict=True))
    stored = Image.new("RGB", (64, 96))
    for at, colour in enumerate(colours.values()):
        stored.paste(colour, (at % 2 * 32, at // 2 * 32, at % 2 * 32 + 32, at // 2 * 32 + 32))
    exif = Image.Exif()
    exif[0x0112] = orientation
    process = PREPARING if orientation == 6 else WITHIN
    shown = opened(prepared(saved(stored, type_, exif=exif, **({"quality": 95} if type_ == "JPEG" else {})), process))
    rows = upright.split()
    assert shown.size == (32 * len(rows[0]), 32 * len(rows))
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            assert is_near(shown.getpixel((32 * x + 16, 32 * y + 16)), colours[letter], 12), (x, y)


P3 = rgb_profile(DISPLAY_P3, srgb_curve())
ADOBE = rgb_profile(ADOBE_RGB, gamma(2.19921875))


@pytest.mark.parametrize("type_", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(
    ("profile", "stored", "srgb"),
    [
        (P3, (234, 51, 35), RED),
        (P3, (128, 128, 128), (128, 128, 128)),
        (ADOBE, (219, 0, 0), RED),
        (ADOBE, (144, 255, 60), (0, 255, 0)),
        (P3[:300], (234, 51, 35), (234, 51, 35)),
        (b"no profile at all", (234, 51, 35), (234, 51, 35)),
        (grey_profile(gamma(1)), (234, 51, 35), (234, 51, 35)),
    ],
    ids=["P3 red", "P3 grey", "Adobe red", "Adobe green", "cut off", "none", "of grey pictures"],
)
def test_colours_leave_as_srgb(type_: str, profile: bytes, stored: tuple[int, ...], srgb: tuple[int, ...]) -> None:
    """A profile that cannot be used says nothing of the colours."""
    settings = {"lossless": True} if type_ == "WEBP" else {}
    data = saved(Image.new("RGB", (16, 16), stored), type_, icc_profile=profile, **settings)
    process = PREPARING if stored == (219, 0, 0) or len(profile) < 100 else WITHIN
    assert is_near(opened(prepared(data, process)).convert("RGB").getpixel((8, 8)), srgb, 5)


def test_colours_of_a_transparent_picture_leave_as_srgb() -> None:
    data = png_with(Image.new("RGBA", (16, 16), (234, 51, 35, 100)), icc_profile=P3)
    assert is_near(opened(prepared(data, WITHIN)).getpixel((8, 8)), (*RED, 100))


def test_grey_leaves_as_srgb() -> None:
    """Light of 55/255 is 128 in sRGB."""
    data = png_with(Image.new("L", (16, 16), 55), icc_profile=grey_profile(gamma(1)))
    assert is_near(opened(prepared(data, WITHIN)).getpixel((8, 8)), (128, 128, 128))


def test_the_colours_of_ink_leave_as_srgb() -> None:
    picture = Image.new("CMYK", (32, 16), (0, 0, 0, 0))
    picture.paste((0, 255, 255, 0), (0, 0, 16, 16))
    shown = opened(prepared(saved(picture, "JPEG", quality=95)))
    assert shown.mode == "RGB"
    assert is_near(shown.getpixel((4, 8)), RED)
    assert is_near(shown.getpixel((28, 8)), WHITE)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_png_looks_the_same(mode: str) -> None:
    light = {"1": 1, "LA": (200, 255), "RGB": (200,) * 3, "RGBA": (200, 200, 200, 255), "I;16": 200 * 257}
    picture = Image.new(mode, (16, 16), light.get(mode, 200))
    if mode == "P":
        picture.putpalette([200, 200, 200] * 256)
    shown = opened(prepared(png_with(picture), WITHIN))
    assert (shown.mode, shown.getpixel((8, 8))) == ("RGB", WHITE if mode == "1" else (200, 200, 200))


def test_what_is_transparent_in_16_bits_is_not_in_8() -> None:
    data = png_with(Image.new("I;16", (16, 16), 7 * 257), transparency=7)
    assert opened(prepared(data, WITHIN)).mode == "RGB"


def png_with(picture: Image.Image, **settings: object) -> bytes:
    return saved(picture, "PNG", **settings)


# --- sending: size, and which type -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "height", "sent"),
    [(2000, 2000, (2000, 2000)), (2001, 10, (2000, 10)), (3000, 1500, (2000, 1000)), (50, 5000, (20, 2000))],
)
@pytest.mark.parametrize("type_", ["JPEG", "PNG", "GIF"])
def test_a_picture_leaves_with_2000_pixels_at_most(type_: str, width: int, height: int, sent: tuple[int, int]) -> None:
    picture = prepared(saved(Image.new("RGB", (width, height), BLUE), type_), WITHIN)
    assert (picture.cleaned.width, picture.cleaned.height) == sent


def test_a_picture_is_never_made_larger() -> None:
    picture = prepared(jpeg(48, 32), WITHIN)
    assert (picture.cleaned.width, picture.cleaned.height) == (48, 32)


def test_a_picture_that_quality_alone_does_not_make_small_loses_pixels() -> None:
    picture = prepared(saved(noise(1600, 1600), "JPEG", quality=95), WITHIN)
    assert picture.type is MediaType.JPEG
    assert 500 < picture.cleaned.width == picture.cleaned.height < 1600


def test_a_profile_that_is_larger_than_what_may_leave_costs_nothing() -> None:
    assert prepared(png(icc_profile=Random(1).randbytes(400_000)), WITHIN).type is MediaType.PNG


def test_quality_is_given_up_before_pixels() -> None:
    data = saved(noise(700, 700), "JPEG", quality=95)
    assert len(data) > MAX_SENT_BYTES
    assert prepared(data, WITHIN).cleaned.width == 700


@pytest.mark.parametrize(
    ("data", "type_", "mode"),
    [
        (jpeg(), MediaType.JPEG, "RGB"),
        (jpeg(mode="L"), MediaType.JPEG, "RGB"),
        (saved(image(), "MPO", save_all=True, append_images=[image(seed=1)]), MediaType.JPEG, "RGB"),
        (webp(), MediaType.JPEG, "RGB"),
        (webp(mode="RGBA"), MediaType.WEBP, "RGBA"),
        (png(), MediaType.PNG, "RGB"),
        (png(mode="RGBA"), MediaType.PNG, "RGBA"),
        (gif(), MediaType.PNG, "RGB"),
        (png_with(Image.new("RGBA", (9, 9), (*RED, 255))), MediaType.PNG, "RGB"),
        (png_with(noise(500, 500)), MediaType.JPEG, "RGB"),
        (png_with(noise(500, 500, "RGBA")), MediaType.WEBP, "RGBA"),
    ],
    ids=[
        "JPEG", "JPEG, grey", "JPEG of two pictures", "WEBP", "WEBP, transparent", "PNG", "PNG, transparent", "GIF",
        "PNG with alpha of 255", "PNG, large", "PNG, large and transparent",
    ],
)  # fmt: skip
def test_what_is_sharp_or_transparent_stays_so(data: bytes, type_: MediaType, mode: str) -> None:
    """Sharp: from PNG or GIF, if it fits. Otherwise what is transparent leaves as WebP, and the rest as JPEG."""
    picture = prepared(data)
    assert (picture.type, opened(picture).mode) == (type_, mode)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGB", "RGBA"])
def test_a_transparent_picture_keeps_every_pixel(mode: str) -> None:
    """By its alpha, or by the one colour that is said to be transparent."""
    picture = image().quantize(16) if mode == "P" else image(mode=mode)
    settings = {} if mode.endswith("A") else {"transparency": picture.getpixel((5, 5))}
    data = png_with(picture, **settings)
    with Image.open(BytesIO(data)) as stored:
        expected = stored.convert("RGBA")
    assert expected.getextrema()[3][0] < 255
    assert opened(prepared(data, WITHIN)).convert("RGBA").tobytes() == expected.tobytes()


# --- profile pictures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [saved(noise(400, 300), "PNG"), saved(noise(2400, 1800), "JPEG"), jpeg(exif=EXIF)])
def test_a_profile_picture_has_240_pixels_and_38400_bytes_at_most(data: bytes) -> None:
    picture = prepare_profile_picture(data)
    assert max(picture.cleaned.width or 0, picture.cleaned.height or 0) <= 240
    assert len(picture.cleaned.data) <= 38_400
    assert picture.cleaned.data == clean(picture.cleaned.data, picture.type).data
    assert b"Exif" not in picture.cleaned.data


def test_a_profile_picture_does_not_move() -> None:
    picture = prepare_profile_picture(animated("GIF"))
    assert (picture.type, picture.cleaned.frames) == (MediaType.PNG, 1)


# --- animations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [MediaType.GIF, MediaType.PNG, MediaType.WEBP])
def test_an_animation_stays_one_if_it_fits_when_it_is_cleaned(type_: MediaType) -> None:
    data = animated(type_, frames=3)
    picture = prepared(data + (b"" if type_ is MediaType.WEBP else bytes(400_000)))
    assert (picture.cleaned.data, picture.type) == (clean(data, type_).data, type_)
    assert getattr(opened(picture), "n_frames", 1) == 3


@pytest.mark.parametrize(
    "data",
    [
        saved(noise(400, 400), "GIF", save_all=True, append_images=[noise(400, 400), noise(400, 400)]),
        saved(image(2001, 4), "GIF", save_all=True, append_images=[image(2001, 4, seed=1)]),
        animated("WEBP", exif=EXIF),
        animated("WEBP", icc_profile=P3),
        animated("PNG", exif=EXIF),
    ],
    ids=["bytes", "pixels", "WEBP with EXIF", "WEBP with a profile", "PNG with EXIF"],
)
def test_of_another_animation_the_first_picture_is_sent(data: bytes) -> None:
    picture = prepared(data)
    assert clean(picture.cleaned.data, picture.type).frames == 1
    with Image.open(BytesIO(data)) as first:
        shown = first.convert("RGB")
    shown.thumbnail((2000, 2000))
    there, here = shown.resize((4, 4)), opened(picture).convert("RGB").resize((4, 4))
    at = [(x, y) for x in range(4) for y in range(4)]
    assert all(is_near(there.getpixel(each), here.getpixel(each), 30) for each in at)


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1/"/></svg>',
        HTML,
        b"%PDF-1.7\n",
        b"\0\0\0\x18ftypheic",
        saved(image(), "TIFF"),
        saved(image(), "BMP"),
        b"8BPS\0\x01" + bytes(30),
        adts(),
    ],
    ids=["nothing", "SVG", "HTML", "PDF", "HEIC", "TIFF", "BMP", "PSD", "AAC"],
)
def test_anything_but_the_four_types_reaches_no_decoder(data: bytes, answering: PictureProcess) -> None:
    assert refused(data, answering).reason is MEDIA_INVALID


def cuts() -> Iterator[bytes]:
    for data in (jpeg(), jpeg(progressive=True), png(), webp(), gif()):
        yield data[: len(data) * 3 // 4]
        yield data[:14]


@pytest.mark.parametrize("data", list(cuts()))
def test_a_picture_that_is_cut_off_is_refused(data: bytes) -> None:
    assert refused(data).reason is MEDIA_INVALID


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8\xff" + bytes(1000),
        b"\x89PNG\r\n\x1a\n" + HTML,
        b"RIFF\x10\0\0\0WEBPVP8 " + bytes(100),
        b"GIF89a" + HTML,
        b"\xff\xd8\xff" + saved(image(), "TIFF"),
        png_of([(b"IHDR", header(8, 8)), (b"zTXt", b"a\0\0" + zlib.compress(bytes(200_000_000))), (b"IDAT", b"")]),
    ],
    ids=["JPEG", "PNG", "WEBP", "GIF", "TIFF behind the start of a JPEG", "text of 200 MB"],
)
def test_a_hostile_file_is_refused(data: bytes) -> None:
    assert refused(data).reason is MEDIA_INVALID


def declared(width: int, height: int) -> bytes:
    """A PNG that declares this size, and has little of it."""
    return png_of([(b"IHDR", header(width, height, 1, 0)), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")])


LARGEST_JPEG: Final = jpeg().replace(struct.pack(">HH", 32, 48), b"\xff\xff\xff\xff", 1)


@pytest.mark.parametrize(
    "data",
    [
        declared(60_000, 60_000),
        declared(MAX_FILE_PIXELS // 10_000 + 1, 10_000),
        LARGEST_JPEG,
        b"GIF89a\xff\xff\xff\xff" + gif()[10:],
        webp_of(vp8x(16_384, 16_384), (b"VP8 ", webp()[20:])),
    ],
    ids=["PNG", "PNG, one row more", "JPEG", "GIF", "WEBP"],
)
def test_a_bomb_is_refused(data: bytes) -> None:
    assert refused(data).reason is MEDIA_TOO_LARGE


def test_a_file_of_too_many_bytes_is_refused_unread(answering: PictureProcess) -> None:
    data = jpeg()
    assert prepare_picture(data + bytes(MAX_FILE_BYTES - len(data)), answering).cleaned.data == png()
    assert refused(data + bytes(MAX_FILE_BYTES - len(data) + 1), answering).reason is MEDIA_TOO_LARGE


def test_a_picture_of_a_phone_is_below_the_limit() -> None:
    assert MAX_FILE_PIXELS > 12_000 * 9_000


# --- showing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [(24, 100, (24, 16)), (100, 8, (12, 8)), (48, 32, (48, 32)), (500, 500, (48, 32)), (1, 1, (1, 1))],
)
@pytest.mark.parametrize("type_", [MediaType.JPEG, MediaType.PNG, MediaType.WEBP, MediaType.GIF])
def test_a_picture_is_decoded_as_large_as_fits(
    type_: MediaType, width: int, height: int, size: tuple[int, int]
) -> None:
    data = saved(Image.new("RGB", (48, 32), RED), type_)
    pixels = decode_picture(data, type_, width, height, DECODING if width == 1 else WITHIN)
    assert (pixels.width, pixels.height, len(pixels.rgb)) == (*size, 3 * size[0] * size[1])
    assert all(is_near(tuple(pixels.rgb[at : at + 3]), RED) for at in range(0, len(pixels.rgb), 3))


def test_pixels_come_row_by_row() -> None:
    picture = Image.new("RGB", (3, 2))
    picture.putdata([(1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), (13, 14, 15), (16, 17, 18)])
    assert decode_picture(png_with(picture), MediaType.PNG, 3, 2) == Pixels(3, 2, bytes(range(1, 19)))


def test_behind_what_is_transparent_is_white() -> None:
    picture = Image.new("RGBA", (3, 1))
    picture.putdata([(0, 0, 0, 0), (255, 0, 0, 255), (0, 0, 0, 51)])
    pixels = decode_picture(png_with(picture), MediaType.PNG, 3, 1)
    assert list(pixels.rgb) == [255, 255, 255, 255, 0, 0, 204, 204, 204]


def test_of_an_animation_the_first_picture_is_shown() -> None:
    data = animated("GIF", frames=3)
    with Image.open(BytesIO(data)) as first:
        assert decode_picture(data, MediaType.GIF, 48, 32).rgb == first.convert("RGB").tobytes()


def test_only_what_is_left_of_a_picture_when_it_is_cleaned_reaches_the_decoder(program: Programs) -> None:
    process = program(
        "found = b'SECRET' in sys.stdin.buffer.read(); sys.stdout.buffer.write(b'\\0\\0\\0\\3' + bytes([found] * 3))"
    )
    assert decode_picture(png(exif=EXIF) + ZIP, MediaType.PNG, 1, 1, process).rgb == bytes(3)
    assert decode_picture(png(), MediaType.PNG, 1, 1).rgb != bytes(3)


@pytest.mark.parametrize(
    ("data", "type_", "reason"),
    [
        (png(), MediaType.JPEG, MEDIA_INVALID),
        (HTML, MediaType.PNG, MEDIA_INVALID),
        (adts(), MediaType.AAC, MEDIA_INVALID),
        (declared(60_000, 60_000), MediaType.PNG, MEDIA_TOO_LARGE),
        (png_of([(b"IHDR", header(8, 8)), (b"IDAT", b"no stream"), (b"IEND", b"")]), MediaType.PNG, MEDIA_INVALID),
    ],
    ids=["another type", "HTML", "a sound", "too many pixels", "damaged within"],
)
def test_a_picture_that_cannot_be_shown_is_refused(data: bytes, type_: MediaType, reason: object) -> None:
    with pytest.raises(TheirError) as caught:
        decode_picture(data, type_, 10, 10)
    assert caught.value.reason is reason


def test_rows_of_half_blocks_have_two_rows_of_pixels() -> None:
    pixels = Pixels(2, 3, bytes(range(18)))
    assert half_blocks(pixels) == [
        [((0, 1, 2), (6, 7, 8)), ((3, 4, 5), (9, 10, 11))],
        [((12, 13, 14), None), ((15, 16, 17), None)],
    ]
    assert half_blocks(Pixels(1, 2, bytes(6))) == [[((0, 0, 0), (0, 0, 0))]]


# --- the program -----------------------------------------------------------------------------------------------------


def frame(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


@pytest.fixture
def program(tmp_path: Path) -> Programs:
    """A program in the place of ours, by its text."""

    def written(text: str, seconds: int = 20, memory_bytes: int = 1 << 29) -> PictureProcess:
        path = tmp_path / "program.py"
        path.write_text(f"import os, signal, socket, sys, time\nsys.path.insert(0, {str(WORKER.parent)!r})\n{text}")
        return PictureProcess(seconds, memory_bytes, path)

    return written


def writes(data: bytes) -> str:
    return f"sys.stdin.buffer.read(); sys.stdout.buffer.write({data!r}); sys.stdout.buffer.flush()\n"


@pytest.fixture
def answering(program: Programs) -> PictureProcess:
    """A program that makes a good picture of everything."""
    return program(writes(frame(png())))


def test_a_program_in_the_place_of_ours_can_answer(answering: PictureProcess) -> None:
    assert prepare_picture(jpeg(), answering).cleaned.data == png()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "time.sleep(1000)",
        "sys.stdin.buffer.read(); os.close(1); time.sleep(1000)",
        "sys.stdin.close(); os.close(0); time.sleep(1000)",
        "while True: pass",
        "while True: os.write(1, bytes(65536))",
        "sys.stdin.buffer.read(); os.kill(os.getpid(), signal.SIGSEGV)",
        "raise SystemExit(1)",
        "no Python",
        writes(b""),
        writes(b"\0\0"),
        writes(b"hello"),
        writes(png()),
        writes(frame(png())[:-1]),
        writes(frame(png()) + b"\0"),
        writes(b"\xff\xff\xff\xff" + png()),
        writes(frame(b"")),
        writes(frame(HTML)),
        writes(frame(adts())),
        writes(frame(png()[:-20])),
        writes(frame(png())) + "sys.exit(1)",
        writes(frame(png())) + "os.kill(os.getpid(), signal.SIGSEGV)",
    ],
)
def test_a_program_that_dies_hangs_or_answers_garbage_costs_the_picture(program: Programs, text: str) -> None:
    """The picture is larger than a pipe holds: whoever does not read it would make us wait."""
    waits = "sleep" in text or "while" in text
    assert refused(jpeg() + bytes(1_000_000), program(text, seconds=1 if waits else 20)).reason is MEDIA_INVALID


@pytest.mark.parametrize("count", [0, 2, 4, 3000])
def test_a_program_that_answers_other_pixels_costs_the_picture(program: Programs, count: int) -> None:
    with pytest.raises(TheirError) as caught:
        decode_picture(png(), MediaType.PNG, 1, 1, program(writes(frame(bytes(count)))))
    assert caught.value.reason is MEDIA_INVALID


TRIES: Final = """
import picture_worker
picture_worker.limit_process(int(sys.argv[1]), int(sys.argv[2]))
def tried(what):
    try:
        what()
        return b"done"
    except Exception as error:
        return type(error).__name__.encode()
tries = [socket.socket, os.pipe, lambda: open("/dev/null"), lambda: open("/dev/null", "w"), lambda: os.dup(1),
         lambda: bytearray(1 << 30), lambda: bytearray(1 << 20)]
answer = b" ".join(map(tried, tries))
sys.stdin.buffer.read()
sys.stdout.buffer.write(len(answer).to_bytes(4, "big") + answer)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_the_program_can_open_nothing_once_it_is_limited(program: Programs) -> None:
    """The network is a descriptor like any other. Of memory it has what it is given."""
    answer = program(TRIES).run(png(), 1000, "prepare", MediaType.PNG)
    assert answer.split() == [b"OSError"] * 5 + [b"MemoryError", b"done"]


SHOWS: Final = """
answer = repr((sorted(os.environ), sorted(os.listdir("/dev/fd"))[:-1])).encode()
sys.stdin.buffer.read()
sys.stdout.buffer.write(len(answer).to_bytes(4, "big") + answer)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/fd")
def test_the_program_gets_nothing_of_ours(program: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ours")
    monkeypatch.setattr(picture_process, "_LOADERS", ())
    with (tmp_path / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        answer = program(SHOWS).run(png(), 1000, "prepare", MediaType.PNG)
    # Python sets its locale.
    environment, descriptors = literal_eval(answer.decode())
    assert set(environment) - {"LC_CTYPE"} == {"PYTHONPATH"}
    assert descriptors == ["0", "1", "2"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_a_picture_that_needs_more_memory_than_the_program_has_is_too_large() -> None:
    process = PictureProcess(PREPARING.seconds, 128 << 20)
    assert refused(png_with(Image.new("RGB", (8000, 8000))), process).reason is MEDIA_TOO_LARGE


SPIES: Final = """
import picture_worker
from PIL import Image
Image.init()
def answer(*_):
    sys.stdout.buffer.write({answer!r})
    sys.stdout.buffer.flush()
    os._exit(0)
for name in set(Image.OPEN) - {allowed!r}:
    Image.OPEN[name] = (answer, None)
picture_worker.main(*sys.argv[1:])
"""


@pytest.mark.parametrize("type_", ["TIFF", "BMP", "GIF"])
def test_no_decoder_but_that_of_the_type_is_asked(program: Programs, type_: str) -> None:
    """In the spied program every other decoder would answer with a good picture."""
    process = program(SPIES.format(answer=frame(png()), allowed={"JPEG"}))
    with pytest.raises(TheirError) as caught:
        process.run(saved(image(), type_), 10_000, "prepare", MediaType.JPEG, 10_000, 2000, 10_000)
    assert caught.value.reason is MEDIA_INVALID


def test_another_decoder_that_is_asked_answers_in_the_spied_program(program: Programs) -> None:
    process = program(SPIES.format(answer=frame(b"asked"), allowed=set()))
    assert process.run(jpeg(), 10_000, "prepare", MediaType.JPEG, 10_000, 2000, 10_000) == b"asked"


@pytest.mark.parametrize("works", [lambda: prepare_picture(jpeg()), lambda: decode_picture(png(), MediaType.PNG, 1, 1)])
def test_without_pillow_the_extra_is_named(works: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"`pip install 'postroom\[chat\]'` installs them"):
        works()


def test_an_animation_is_sent_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert prepare_picture(animated("GIF")).type is MediaType.GIF
