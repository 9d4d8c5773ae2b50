"""GIF: the screen, the pictures and the loop stay."""

import struct
from io import BytesIO

import pytest
from PIL import Image
from tests.protocols.status.media.held import gif_blocks, good, refusal
from tests.protocols.status.media.pictures import (
    COMMENT,
    GIF_XMP,
    GRAPHIC_CONTROL,
    HTML,
    LOOP,
    PLAIN_TEXT,
    SECRET,
    ZIP,
    animated,
    gif,
    gif_of,
    gif_picture,
    pixels,
)

from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType

PICTURE = gif()
ANIMATED = animated("GIF", 3, loop=0)
ICC = b"\x21\xff\x0bICCRGBG1012\x03abc\0"
OTHER = b"\x21\xff\x0bMGK8BIM0000\x03abc\0"
UNKNOWN = b"\x21\x42\x03abc\x02de\0"


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.GIF)


def refused(data: bytes, limits: MediaLimits | None = None) -> str:
    return refusal(data, MediaType.GIF, limits)


@pytest.mark.parametrize(
    "data",
    [gif(comment=SECRET), gif(interlace=0, comment=SECRET), gif(transparency=3, comment=SECRET),
     animated("GIF", 3, loop=0, comment=SECRET), animated("GIF", 4, loop=2, disposal=2, comment=SECRET)],
)  # fmt: skip
def test_the_pixels_stay_as_they_are_and_the_comment_goes(data: bytes) -> None:
    left = cleaned(data)
    assert pixels(left.data, "GIF") == pixels(data, "GIF")
    assert SECRET in data
    assert SECRET not in left.data
    with Image.open(BytesIO(data)) as before, Image.open(BytesIO(left.data)) as after:
        assert "comment" not in after.info
        assert before.info.get("loop") == after.info.get("loop")
        assert before.info.get("duration") == after.info.get("duration")


def test_what_has_nothing_to_drop_is_the_same() -> None:
    assert cleaned(PICTURE) == Cleaned(PICTURE, {}, 48, 32, 1, None)
    assert cleaned(ANIMATED) == Cleaned(ANIMATED, {}, 48, 32, 3, None)


def test_what_was_dropped_is_named_with_its_bytes() -> None:
    extra = (COMMENT, PLAIN_TEXT, GIF_XMP, ICC, OTHER, UNKNOWN)
    left = cleaned(gif_of(*extra, gif_picture()) + ZIP)
    assert left == Cleaned(
        gif_of(gif_picture()),
        {
            "comment": len(COMMENT), "plain text": len(PLAIN_TEXT), "XMP": len(GIF_XMP), "ICC": len(ICC),
            "other extensions": len(OTHER) + len(UNKNOWN), "trailing bytes": len(ZIP),
        },
        2, 2, 1,
    )  # fmt: skip


@pytest.mark.parametrize("extension", [COMMENT, PLAIN_TEXT, GIF_XMP, ICC, OTHER, UNKNOWN, b"\x21\xfe\0"])
def test_an_extension_goes_wherever_it_stands(extension: bytes) -> None:
    blocks = [LOOP, GRAPHIC_CONTROL, gif_picture(), GRAPHIC_CONTROL, gif_picture(1, 1, 1, 1)]
    for place in range(6):
        assert cleaned(gif_of(*blocks[:place], extension, *blocks[place:])).data == gif_of(*blocks)


@pytest.mark.parametrize("version", [b"GIF87a", b"GIF89a"])
def test_both_versions_are_taken(version: bytes) -> None:
    data = version + PICTURE[6:]
    assert cleaned(data).data == data


@pytest.mark.parametrize("version", [b"GIF88a", b"GIF89b", b"gif89a", b"GIF"])
def test_no_other_version_is(version: bytes) -> None:
    assert refused(version + PICTURE[6:])


# --- the end ---------------------------------------------------------------------------------------------------------


def test_one_without_an_end_is_refused() -> None:
    assert refused(gif_of(gif_picture(), end=b"")) == "it has no end"
    assert refused(gif_of(gif_picture()[:-1], end=b"")) == "it ends within a block"
    assert refused(gif_of(gif_picture()[:-2], end=b"")) == "it ends within a block"
    assert refused(gif_of(b"\x21", end=b"")) == "it has no end"
    assert refused(gif_of(b"\x21\xfe\x05abc", end=b"")) == "it ends within a block"


def test_one_without_a_picture_is_refused() -> None:
    assert refused(gif_of(LOOP, GRAPHIC_CONTROL)) == "there is no picture"


@pytest.mark.parametrize("more", [HTML, ZIP, PICTURE, b"\x3b"])
def test_what_follows_the_end_goes(more: bytes) -> None:
    assert cleaned(PICTURE + more) == Cleaned(PICTURE, {"trailing bytes": len(more)}, 48, 32, 1)


@pytest.mark.parametrize("block", [b"\0", b"S", b"\xff"])
def test_what_is_no_block_is_refused(block: bytes) -> None:
    assert refused(gif_of(gif_picture(), block)).startswith("there is no block at ")


# --- graphic controls and loops --------------------------------------------------------------------------------------


def test_of_several_graphic_controls_the_last_one_holds() -> None:
    other = b"\x21\xf9\x04\x01\x63\x00\x01\x00"
    left = cleaned(gif_of(other, other, GRAPHIC_CONTROL, gif_picture()))
    assert (left.data, left.dropped) == (gif_of(GRAPHIC_CONTROL, gif_picture()), {"graphic control": 16})


def test_a_graphic_control_of_no_picture_goes() -> None:
    assert cleaned(gif_of(gif_picture(), GRAPHIC_CONTROL)).data == gif_of(gif_picture())


def test_reserved_bits_are_cleared() -> None:
    control = b"\x21\xf9\x04%c\x0a\x00\x00\x00"
    left = cleaned(gif_of(control % 0xFF, gif_picture(flags=0x7F)))
    assert left.data == gif_of(control % 0x1F, gif_picture(flags=0x67))


@pytest.mark.parametrize(
    "control",
    [b"\x21\xf9\0", b"\x21\xf9\x03\0\0\0\0", b"\x21\xf9\x05\0\0\0\0\0\0", b"\x21\xf9\x04\0\0\0\0\x04SECR\0"],
)
def test_a_graphic_control_of_another_form_is_refused(control: bytes) -> None:
    assert refused(gif_of(control, gif_picture())) == "a graphic control is not of 4 bytes"


@pytest.mark.parametrize("name", [b"NETSCAPE2.0", b"ANIMEXTS1.0"])
def test_a_loop_of_the_exact_form_stays_once(name: bytes) -> None:
    loop = b"\x21\xff\x0b" + name + b"\x03\x01\x05\x00\x00"
    assert cleaned(gif_of(loop, gif_picture())).data == gif_of(loop, gif_picture())
    assert cleaned(gif_of(gif_picture(), loop)).data == gif_of(gif_picture(), loop)
    again = cleaned(gif_of(loop, LOOP, gif_picture(), loop))
    assert (again.data, again.dropped) == (gif_of(loop, gif_picture()), {"other extensions": 38})


@pytest.mark.parametrize(
    "loop",
    [LOOP[:-1] + b"\x05\x02\0\0\0\0\0", LOOP[:-1] + b"\x06SECRET\0", b"\x21\xff\x0bNETSCAPE2.0\0",
     b"\x21\xff\x0bNETSCAPE2.0\x03\x02\0\0\0", b"\x21\xff\x0bNETSCAPE2.0\x04\x01\0\0S\0",
     b"\x21\xff\x0bNETSCAPE2.1\x03\x01\0\0\0", b"\x21\xff\x0cNETSCAPE2.0S\x03\x01\0\0\0"],
)  # fmt: skip
def test_a_loop_of_another_form_goes(loop: bytes) -> None:
    assert cleaned(gif_of(loop, gif_picture())).data == gif_of(gif_picture())


# --- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", range(8))
def test_colours_of_a_picture_and_of_the_screen_stay(bits: int) -> None:
    colours = bytes(range(6)) * (1 << bits)
    own = gif_picture(flags=0x80 | bits, colours=colours)
    assert cleaned(gif_of(own)).data == gif_of(own)
    screen = struct.pack("<6sHHBBB", b"GIF89a", 2, 2, 0x80 | bits, 1, 49) + colours
    assert cleaned(screen + gif_picture() + b"\x3b").data == screen + gif_picture() + b"\x3b"
    without = struct.pack("<6sHHBBB", b"GIF89a", 2, 2, bits, 0, 0)
    assert cleaned(without + own + b"\x3b").data == without + own + b"\x3b"


@pytest.mark.parametrize(
    "picture",
    [gif_picture(x=1), gif_picture(y=1), gif_picture(width=3), gif_picture(height=3), gif_picture(width=0),
     gif_picture(height=0), gif_picture(x=65_535), gif_picture(width=65_535, height=65_535)],
)  # fmt: skip
def test_a_picture_beyond_the_screen_or_of_no_pixels_is_refused(picture: bytes) -> None:
    assert refused(gif_of(gif_picture(), picture)) == "a picture is empty, or goes beyond the screen"


@pytest.mark.parametrize(("size", "detail"), [((0, 2), "it has 0 x 2 pixels"), ((65_535, 65_535), "MediaTooLarge")])
def test_the_screen_has_pixels_and_not_too_many(size: tuple[int, int], detail: str) -> None:
    assert refused(gif_of(gif_picture(), width=size[0], height=size[1])) == detail


@pytest.mark.parametrize("code_size", [0, 9, 12, 255])
def test_a_code_size_that_no_gif_has_is_refused(code_size: int) -> None:
    picture = gif_picture()
    assert "code size" in refused(gif_of(picture[:10] + bytes([code_size]) + picture[11:]))


@pytest.mark.parametrize("length", range(10))
def test_a_picture_that_ends_within_its_header_is_refused(length: int) -> None:
    assert refused(gif_of(gif_picture()[: 1 + length], end=b"")) in ("it ends within a block", "it has no end")


def test_what_stands_behind_the_code_within_the_sub_blocks_stays() -> None:
    """It is known as such by whoever decodes it only."""
    data = gif_of(gif_picture()[:-1] + b"\x06SECRET\0")
    assert cleaned(data).data == data


def test_the_number_of_frames_and_their_pixels_together_are_limited() -> None:
    assert refused(gif_of(*[gif_picture()] * 500)) == ""
    assert refused(gif_of(*[gif_picture()] * 501)) == "MediaTooLarge"
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32)) == ""
    assert refused(ANIMATED, MediaLimits(all_pixels=3 * 48 * 32 - 1)) == "MediaTooLarge"
    # A small picture of a large screen costs a viewer the whole screen.
    assert refused(gif_of(*[gif_picture()] * 4, width=4000, height=4000)) == ""
    assert refused(gif_of(*[gif_picture()] * 5, width=4000, height=4000)) == "MediaTooLarge"


def test_the_blocks_of_what_is_left_are_in_their_order() -> None:
    left = cleaned(gif_of(LOOP, COMMENT, GRAPHIC_CONTROL, PLAIN_TEXT, gif_picture(), GIF_XMP, gif_picture()))
    assert [name for name, _ in gif_blocks(left.data)] == ["FF", "F9", "2C", "2C", "3B"]
