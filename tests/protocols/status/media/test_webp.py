"""WebP: a picture or an animation stays, with lengths and flags that fit what is left."""

from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from tests.protocols.status.media.held import good, refusal
from tests.protocols.status.media.pictures import (
    EXIF,
    HTML,
    SECRET,
    XMP,
    ZIP,
    animated,
    pixels,
    riff_chunk,
    riff_chunks,
    vp8x,
    webp,
    webp_chunks,
    webp_of,
)

from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType

Part = tuple[bytes, bytes]
PICTURE = webp()
[LOSSY] = webp_chunks(PICTURE)
[LOSSLESS] = webp_chunks(webp(lossless=True))
HEAD, ALPHA, WITH_ALPHA = webp_chunks(webp(mode="RGBA"))
ANIMATED = animated("WEBP", 3)
ANIM = (b"ANIM", bytes(6))
METADATA = ((b"EXIF", EXIF), (b"XMP ", XMP), (b"ICCP", SECRET), (b"priv", SECRET[:-1]))


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.WEBP)


def refused(data: bytes, limits: MediaLimits | None = None) -> str:
    return refusal(data, MediaType.WEBP, limits)


def frame(*parts: Part, width: int = 48, height: int = 32, x: int = 0, y: int = 0, flags: int = 0) -> Part:
    numbers = (x, y, width - 1, height - 1, 50)
    head = b"".join(number.to_bytes(3, "little") for number in numbers) + bytes([flags])
    return b"ANMF", head + b"".join(riff_chunk(*part) for part in parts or (LOSSY,))


def moving(*parts: Part) -> bytes:
    return webp_of(vp8x(48, 32, 0x02), ANIM, *parts)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("settings", [{}, {"lossless": True}, {"quality": 100}, {"method": 6}], ids=str)
def test_the_pixels_stay_as_they_are_and_the_metadata_goes(mode: str, settings: dict[str, Any]) -> None:
    data = webp(mode=mode, exif=EXIF, xmp=XMP, icc_profile=SECRET, **settings)
    left = cleaned(data)
    assert pixels(left.data, "WEBP") == pixels(data, "WEBP")
    assert SECRET in data
    assert SECRET not in left.data
    assert set(left.dropped) == {"EXIF", "XMP", "ICC"}
    with Image.open(BytesIO(left.data)) as opened:
        assert not {"exif", "xmp", "icc_profile"} & set(opened.info)


def test_what_has_nothing_to_drop_is_the_same() -> None:
    for data, frames in ((PICTURE, 1), (webp(lossless=True), 1), (webp(mode="RGBA"), 1), (ANIMATED, 3)):
        assert cleaned(data) == Cleaned(data, {}, 48, 32, frames, None)


def test_what_was_dropped_is_named_with_its_bytes() -> None:
    left = cleaned(webp_of(vp8x(48, 32), METADATA[2], LOSSY, *METADATA[:2], METADATA[3]) + ZIP)
    lengths = {"EXIF": len(EXIF), "XMP": len(XMP), "ICC": len(SECRET), "other chunks": len(SECRET) - 1}
    padded = {name: 8 + length + (length & 1) for name, length in lengths.items()}
    assert left.dropped == {**padded, "trailing bytes": len(ZIP)}


@pytest.mark.parametrize("metadata", METADATA)
def test_metadata_goes_wherever_it_stands(metadata: Part) -> None:
    assert cleaned(webp_of(LOSSY, metadata)).data == PICTURE
    for flags in (0x2C, 0x00):
        head = vp8x(48, 32, 0x10 | flags)
        parts: list[Part] = [ALPHA, WITH_ALPHA]
        for place in range(3):
            with_it = [*parts[:place], metadata, *parts[place:]]
            assert cleaned(webp_of(head, *with_it)).data == webp_of(vp8x(48, 32, 0x10), *parts)


@pytest.mark.parametrize("metadata", METADATA)
def test_metadata_goes_from_an_animation_and_from_within_its_frames(metadata: Part) -> None:
    plain = moving(frame(), frame(ALPHA, WITH_ALPHA), frame(LOSSLESS))
    for parts in (
        (metadata, ANIM, frame(), frame(ALPHA, WITH_ALPHA), frame(LOSSLESS)),
        (ANIM, frame(), metadata, frame(ALPHA, WITH_ALPHA), frame(LOSSLESS), metadata),
        (ANIM, frame(metadata, LOSSY, metadata), frame(ALPHA, metadata, WITH_ALPHA), frame(LOSSLESS, metadata)),
    ):
        assert cleaned(webp_of(vp8x(48, 32, 0x02 | 0x2C), *parts)).data == plain
    # Where libwebp takes it: behind the picture of a frame.
    behind = moving(frame(LOSSY, metadata), frame(ALPHA, WITH_ALPHA, metadata), frame(LOSSLESS))
    assert pixels(cleaned(behind).data, "WEBP") == pixels(behind, "WEBP")


def test_flags_of_what_was_dropped_and_reserved_bits_are_cleared() -> None:
    kind, content = vp8x(48, 32, 0xFF & ~0x02)
    left = cleaned(webp_of((kind, content[:1] + b"\xff\xff\xff" + content[4:]), LOSSY))
    assert left.data == webp_of(vp8x(48, 32, 0x10), LOSSY)
    assert cleaned(moving(frame(flags=0xFF))).data == moving(frame(flags=0x03))


@pytest.mark.parametrize("more", [HTML, ZIP, PICTURE, b"\0"])
def test_what_follows_the_riff_goes(more: bytes) -> None:
    assert cleaned(PICTURE + more) == Cleaned(PICTURE, {"trailing bytes": len(more)}, 48, 32, 1)


# --- lengths and padding -------------------------------------------------------------------------------------------


def riff(content: bytes, more: int = 0) -> bytes:
    return b"RIFF" + (4 + len(content) + more).to_bytes(4, "little") + b"WEBP" + content


ODD = (b"VP8L", LOSSLESS[1] + b"\0" * (1 - len(LOSSLESS[1]) % 2))


def test_padding_is_written_as_zero() -> None:
    assert cleaned(riff(riff_chunk(*ODD, padding=b"S"))).data == webp_of(ODD)
    inside = frame()[1][:16] + riff_chunk(*ODD, padding=b"S")
    assert cleaned(moving((b"ANMF", inside))).data == moving(frame(ODD))


def test_padding_that_is_missing_at_the_end_is_added() -> None:
    for data, whole in (
        (riff(riff_chunk(*ODD, padding=b"")), webp_of(ODD)),
        (riff(moving(frame(ODD))[12:-1], 0).replace(b"ANMF" + len(frame(ODD)[1]).to_bytes(4, "little"),
         b"ANMF" + (len(frame(ODD)[1]) - 1).to_bytes(4, "little")), moving(frame(ODD))),
    ):  # fmt: skip
        left = cleaned(data)
        assert (left.data, len(left.data)) == (whole, len(data) + 1)


def test_padding_that_the_riff_does_not_count_is_not_taken_for_more() -> None:
    assert cleaned(riff(riff_chunk(*ODD), -1)).data == webp_of(ODD)


@pytest.mark.parametrize("more", [1, 2, 8, 0xFFFFFFFF - len(PICTURE)])
def test_a_riff_that_is_longer_than_the_file_is_refused(more: int) -> None:
    assert refused(riff(PICTURE[12:], more)) == "its RIFF is longer than the file"


def test_a_chunk_that_is_longer_than_what_it_is_in_is_refused() -> None:
    assert "longer than what it is in" in refused(riff(riff_chunk(*LOSSY), -2))
    assert "longer than what it is in" in refused(riff(riff_chunk(*LOSSY) + b"EXIF\xff\xff\xff\xff"))
    inside = frame()[1][:16] + b"EXIF\xff\0\0\0" + riff_chunk(*LOSSY)
    assert "longer than what it is in" in refused(moving((b"ANMF", inside)))
    # It would reach into the next frame.
    long = frame()[1][:16] + LOSSY[0] + (len(LOSSY[1]) + 40).to_bytes(4, "little") + LOSSY[1]
    assert "longer than what it is in" in refused(moving((b"ANMF", long), frame()))


@pytest.mark.parametrize("rest", [b"\0", b"EXIF", b"EXIF\0\0\0"])
def test_the_rest_of_a_chunk_is_refused(rest: bytes) -> None:
    assert refused(riff(riff_chunk(*LOSSY) + rest)).startswith("there is no chunk at ")
    assert refused(moving((b"ANMF", frame()[1] + rest))).startswith("there is no chunk at ")


def test_one_without_chunks_is_refused() -> None:
    assert refused(riff(b"")) == "it begins with no picture"
    assert refused(b"RIFF\0\0\0\0WEBP" + riff_chunk(*LOSSY)) == "it begins with no picture"


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [(b"EXIF", EXIF), ALPHA, ANIM, frame(), (b"VP8Y", b"")])
def test_the_first_chunk_is_a_picture_or_vp8x(first: Part) -> None:
    assert refused(webp_of(first, LOSSY)) == "it begins with no picture"


@pytest.mark.parametrize("second", [LOSSY, LOSSLESS, ALPHA, vp8x(48, 32)])
def test_a_second_picture_is_refused(second: Part) -> None:
    for data in (
        webp_of(LOSSY, second),
        webp_of(LOSSY, METADATA[0], second),
        webp_of(vp8x(48, 32), LOSSY, second),
        moving(frame(LOSSY, second)),
    ):
        assert refused(data) == "there is a second picture, or a part of one"


@pytest.mark.parametrize("parts", [(ALPHA, ALPHA, WITH_ALPHA), (ALPHA, LOSSLESS), (vp8x(48, 32), LOSSY)])
def test_transparency_stands_once_in_front_of_vp8(parts: tuple[Part, ...]) -> None:
    for data in (webp_of(vp8x(48, 32, 0x10), *parts), moving(frame(*parts))):
        assert refused(data) == "transparency stands twice, or without its picture"


def test_a_canvas_or_frame_without_a_picture_is_refused() -> None:
    for data in (webp_of(vp8x(48, 32)), webp_of(vp8x(48, 32), ALPHA), moving(frame(ALPHA)), moving(frame(METADATA[0]))):
        assert refused(data) == "a frame or canvas has no picture"


def test_an_animation_that_is_not_declared_goes() -> None:
    left = cleaned(webp_of(vp8x(48, 32), ANIM, LOSSY, frame()))
    assert left.data == webp_of(vp8x(48, 32), LOSSY)


@pytest.mark.parametrize("parts", [(), (ANIM,), (ANIM, METADATA[0])])
def test_an_animation_without_frames_is_refused(parts: tuple[Part, ...]) -> None:
    assert refused(webp_of(vp8x(48, 32, 0x02), *parts)) == "the animation has no frames"


@pytest.mark.parametrize(
    "parts",
    [(frame(),), (ANIM, ANIM, frame()), ((b"ANIM", bytes(6) + SECRET), frame()), ((b"ANIM", b""), frame()),
     (ANIM, LOSSY, frame()), (ANIM, frame(), ALPHA), (ANIM, vp8x(48, 32, 2), frame())],
)  # fmt: skip
def test_an_animation_is_one_anim_and_then_frames(parts: tuple[Part, ...]) -> None:
    assert refused(webp_of(vp8x(48, 32, 0x02), *parts)).startswith("the animation has a wrong chunk ")


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", vp8x(48, 32)[1][:-1], vp8x(48, 32)[1] + SECRET])
def test_vp8x_of_another_length_is_refused(content: bytes) -> None:
    assert refused(webp_of((b"VP8X", content), LOSSY)) == "VP8X has a wrong length"


@pytest.mark.parametrize("picture", [LOSSY, LOSSLESS, WITH_ALPHA])
@pytest.mark.parametrize("size", [(47, 32), (48, 33), (1, 1), (4000, 4000)])
def test_a_picture_is_as_large_as_its_canvas_or_frame(picture: Part, size: tuple[int, int]) -> None:
    width, height = size
    for data in (
        webp_of(vp8x(*size), picture),
        webp_of(vp8x(4000, 4000, 0x02), ANIM, frame(picture, width=width, height=height)),
    ):
        assert refused(data) == "a picture is not of the size of its frame or canvas"


@pytest.mark.parametrize("place", [{"x": 1}, {"y": 1}, {"x": 0xFFFFFF}, {"width": 49}, {"height": 1 << 24}])
def test_a_frame_beyond_the_canvas_is_refused(place: dict[str, int]) -> None:
    assert refused(moving(frame(), frame(**place))) == "a frame goes beyond the canvas"


def test_a_frame_may_be_anywhere_in_the_canvas() -> None:
    data = webp_of(vp8x(50, 34, 0x02), ANIM, frame(x=1, y=1))
    assert cleaned(data).data == data


@pytest.mark.parametrize("size", [(49, 34), (50, 33)])
def test_the_place_of_a_frame_is_counted_in_two_pixels(size: tuple[int, int]) -> None:
    assert refused(webp_of(vp8x(*size, 0x02), ANIM, frame(x=1, y=1))) == "a frame goes beyond the canvas"


@pytest.mark.parametrize("length", [0, 15])
def test_a_frame_that_is_too_short_is_refused(length: int) -> None:
    assert refused(moving((b"ANMF", frame()[1][:length]))) == "a frame is too short"


@pytest.mark.parametrize(
    "picture",
    [(b"VP8 ", b""), (b"VP8 ", LOSSY[1][:9]), (b"VP8 ", b"\1" + LOSSY[1][1:]), (b"VP8 ", LOSSY[1][:3] + bytes(30)),
     (b"VP8L", b""), (b"VP8L", LOSSLESS[1][:4]), (b"VP8L", b"\0" + LOSSLESS[1][1:]),
     (b"VP8L", LOSSLESS[1][:4] + b"\xff" + LOSSLESS[1][5:]), (b"VP8 ", HTML), (b"VP8L", HTML)],
)  # fmt: skip
def test_a_picture_that_does_not_begin_as_one_is_refused(picture: Part) -> None:
    for data in (webp_of(picture), webp_of(vp8x(48, 32), picture), moving(frame(picture))):
        assert "does not begin" in refused(data)


@pytest.mark.parametrize("size", [b"\0\0\x20\0", b"\x30\0\0\0"])
def test_a_picture_of_no_pixels_is_refused(size: bytes) -> None:
    assert refused(webp_of((b"VP8 ", LOSSY[1][:6] + size + LOSSY[1][10:]))).endswith(" pixels")


def test_too_many_pixels_are_refused_wherever_they_are_declared() -> None:
    large = b"\xff\x3f\xff\x3f"
    assert refused(webp_of((b"VP8 ", LOSSY[1][:6] + large + LOSSY[1][10:]))) == "MediaTooLarge"
    assert refused(webp_of((b"VP8L", b"\x2f\xff\xff\xff\x0f"))) == "MediaTooLarge"
    assert refused(webp_of(vp8x(65_535, 65_535), LOSSY)) == "MediaTooLarge"
    assert refused(webp_of(vp8x(1 << 24, 1 << 24), LOSSY)) == "MediaTooLarge"


def test_the_scale_of_a_lossy_picture_is_not_its_size() -> None:
    size = (48 | 0x4000).to_bytes(2, "little") + (32 | 0xC000).to_bytes(2, "little")
    assert (cleaned(webp_of((b"VP8 ", LOSSY[1][:6] + size + LOSSY[1][10:]))).width) == 48


def test_the_number_of_frames_and_their_pixels_together_are_limited() -> None:
    tiny = webp_chunks(webp(1, 1))[0]

    def data(frames: int) -> bytes:
        return webp_of(vp8x(1, 1, 0x02), ANIM, *[frame(tiny, width=1, height=1)] * frames)

    assert refused(data(500)) == ""
    assert refused(data(501)) == "MediaTooLarge"
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32)) == ""
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32 - 1)) == "MediaTooLarge"


def test_a_frame_holds_a_picture_and_nothing_else() -> None:
    left = cleaned(moving(frame(METADATA[3], ALPHA, METADATA[0], WITH_ALPHA, METADATA[1])))
    [_, _, (_, content)] = webp_chunks(left.data)
    assert riff_chunks(content[16:]) == [ALPHA, WITH_ALPHA]
