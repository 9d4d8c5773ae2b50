"""JPEG: what a decoder reads stays, and nothing else of what stands in segments or behind the end."""

import struct
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from tests.protocols.status.media.held import good, parts, refusal
from tests.protocols.status.media.pictures import (
    ADOBE,
    EXIF,
    JFXX,
    METADATA,
    SECRET,
    XMP,
    ZIP,
    before,
    image,
    jpeg,
    pixels,
    replaced,
    saved,
    segment,
    segments,
)

from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.media.jpeg import MAX_SCANS

PICTURE = jpeg()
PROGRESSIVE = jpeg(progressive=True)
SOF0, SOF2, DHT, EOI, SOS, DQT, DRI, APP0, APP14 = 0xC0, 0xC2, 0xC4, 0xD9, 0xDA, 0xDB, 0xDD, 0xE0, 0xEE
FRAME = next(body for marker, body in segments(PICTURE) if marker == SOF0)


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.JPEG)


def refused(data: bytes) -> str:
    return refusal(data, MediaType.JPEG)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"progressive": True}, {"optimize": True}, {"subsampling": 2}, {"restart_marker_blocks": 1}, {"quality": 100}],
    ids=str,
)
def test_the_pixels_stay_as_they_are_and_the_metadata_goes(mode: str, settings: dict[str, Any]) -> None:
    data = jpeg(mode=mode, exif=EXIF, xmp=XMP, icc_profile=SECRET, comment=SECRET, **settings)
    left = cleaned(data)
    assert pixels(left.data, "JPEG") == pixels(data, "JPEG")
    assert SECRET in data
    assert SECRET not in left.data
    assert set(left.dropped) == {"EXIF", "XMP", "ICC", "comment"}
    assert left == Cleaned(left.data, left.dropped, 48, 32, 1, None)
    with Image.open(BytesIO(left.data)) as opened:
        assert not opened.getexif()
        assert not {"exif", "xmp", "icc_profile", "comment"} & set(opened.info)


def test_what_has_nothing_to_drop_is_the_same() -> None:
    for data in (PICTURE, PROGRESSIVE):
        assert cleaned(data) == Cleaned(data, {}, 48, 32, 1, None)


@pytest.mark.parametrize("metadata", METADATA)
@pytest.mark.parametrize("marker", [DQT, SOF2, DHT, SOS, EOI])
def test_a_segment_of_metadata_goes_wherever_it_stands(metadata: bytes, marker: int) -> None:
    assert cleaned(before(marker, metadata, of=PROGRESSIVE)).data == PROGRESSIVE


@pytest.mark.parametrize("metadata", METADATA)
def test_metadata_between_scans_goes(metadata: bytes) -> None:
    between = PROGRESSIVE.replace(b"\xff\xda", metadata + b"\xff\xda")
    assert between.count(metadata) > 5
    assert cleaned(between).data == PROGRESSIVE


def test_what_was_dropped_is_named_with_its_bytes() -> None:
    left = cleaned(before(DQT, *METADATA, of=PICTURE) + ZIP)
    names = ("EXIF", "XMP", "IPTC", "ICC", "MPF", "thumbnail", "comment", "application data")
    assert left.dropped == {
        **{name: len(metadata) for name, metadata in zip(names, METADATA, strict=True)}, "trailing bytes": len(ZIP),
    }  # fmt: skip


@pytest.mark.parametrize("more", [jpeg(exif=EXIF), ZIP, b"\0", b"\xff\xd9"])
def test_a_second_picture_or_an_archive_behind_the_end_goes(more: bytes) -> None:
    left = cleaned(PICTURE + more)
    assert (left.data, left.dropped) == (PICTURE, {"trailing bytes": len(more)})


def test_one_without_an_end_is_refused() -> None:
    assert refused(PICTURE[:-2]) == "it ends within a scan"
    assert refused(PICTURE[:-1]) == "it ends within a scan"
    assert refused(PICTURE[:20]) == "it has no end"


# --- application segments that a decoder reads ---------------------------------------------------------------------


JFIF = b"JFIF\0\x01\x02\x01\0\x48\0\x48"


def test_of_a_jfif_header_the_thumbnail_goes() -> None:
    left = cleaned(replaced(APP0, JFIF + b"\x02\x02" + SECRET[:12], of=PICTURE))
    assert left.data == replaced(APP0, JFIF + b"\0\0", of=PICTURE)
    assert left.dropped == {"thumbnail": 12}


def test_what_hides_behind_a_jfif_header_goes() -> None:
    assert cleaned(replaced(APP0, JFIF + b"\0\0" + SECRET, of=PICTURE)).data == replaced(
        APP0, JFIF + b"\0\0", of=PICTURE
    )


def test_of_several_jfif_headers_the_last_one_is_in_front() -> None:
    again = segment(APP0, JFIF + b"\0\0")
    left = cleaned(before(SOS, again, of=before(DQT, segment(APP0, b"JFIF\0short"), of=PICTURE)))
    assert left.data == replaced(APP0, JFIF + b"\0\0", of=PICTURE)
    assert left.dropped == {"thumbnail": 14 + 18}


def test_a_jfif_header_behind_a_scan_goes() -> None:
    assert cleaned(before(EOI, segment(APP0, JFIF + b"\0\0"), ADOBE, of=PICTURE)).data == PICTURE


def test_of_an_adobe_segment_the_transform_stays() -> None:
    """Without it, a decoder would take other colours."""
    data = before(DQT, segment(APP14, b"Adobe\0\x65\1\2\3\4\0" + SECRET), of=replaced(APP0, b"none\0", of=PICTURE))
    left = cleaned(data)
    assert [body for marker, body in segments(left.data) if marker == APP14] == [b"Adobe\0\x64\0\0\0\0\0"]
    assert pixels(left.data, "JPEG") == pixels(data, "JPEG") != pixels(PICTURE, "JPEG")
    assert left.dropped == {"application data": 9 + len(SECRET)}


def test_of_several_adobe_segments_the_last_one_counts() -> None:
    other = segment(APP14, b"Adobe\0\x64\0\0\0\0\0")
    data = before(DQT, other, ADOBE, of=PICTURE)
    left = cleaned(data)
    assert left.data == before(DQT, ADOBE, of=PICTURE)
    assert pixels(left.data, "JPEG") == pixels(data, "JPEG")


@pytest.mark.parametrize("body", [b"Adobe\0\x64\0\0\0\0", b"adobe\0\x64\0\0\0\0\x01", b"Adobe_CM\0", b""])
def test_another_segment_of_the_same_marker_goes(body: bytes) -> None:
    assert cleaned(before(DQT, segment(APP14, body), of=PICTURE)).data == PICTURE


def test_a_transform_that_adobe_does_not_have_is_refused() -> None:
    assert refused(before(DQT, segment(APP14, b"Adobe\0\x64\0\0\0\0\x03"), of=PICTURE)) == (
        "the Adobe segment has transform 3"
    )


# --- markers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 70_000])
@pytest.mark.parametrize("marker", [DQT, SOS, EOI])
def test_fill_bytes_go(marker: int, count: int) -> None:
    left = cleaned(before(marker, b"\xff" * count, of=PICTURE))
    assert (left.data, left.dropped) == (PICTURE, {"fill bytes": count})


def test_fill_bytes_within_a_scan_go() -> None:
    data = jpeg(quality=100, restart_marker_blocks=1)
    start = data.index(b"\xff\xda")
    head, scan = data[:start], data[start:-2]
    assert b"\xff\0" in scan
    assert b"\xff\xd0" in scan
    filled = scan.replace(b"\xff\0", b"\xff\xff\0").replace(b"\xff\xd0", b"\xff\xff\xff\xd0")
    assert cleaned(head + filled + b"\xff\xff\xd9").data == data


def test_restart_markers_and_stuffed_bytes_are_data_of_the_scan() -> None:
    data = jpeg(96, 64, quality=100, restart_marker_blocks=1)
    assert all(b"\xff%c" % code in data for code in (0, *range(0xD0, 0xD8)))
    assert cleaned(data).data == data


def test_between_segments_nothing_may_stand() -> None:
    assert refused(before(DQT, b"\0", of=PICTURE)).startswith("there is no marker at ")


@pytest.mark.parametrize(
    "marker",
    [0x00, 0x01, 0x02, *range(0xC3, 0xD0), *range(0xD0, 0xD9), 0xDC, 0xDE, 0xDF, *range(0xF0, 0xFE)],
    ids="{:02X}".format,
)  # fmt: skip
def test_a_marker_that_no_viewer_decodes_is_refused(marker: int) -> None:
    """Lossless, hierarchical and arithmetic frames, DAC, DNL, DHP, EXP, a second start, restarts outside of a scan."""
    if marker != DHT:
        for place in (DQT, SOS):
            assert refused(before(place, segment(marker, b"\0\0"), of=PICTURE))
        assert refused(before(DQT, b"\xff%c" % marker, of=PICTURE))


@pytest.mark.parametrize("length", [0, 1, 0xFFFF])
def test_a_segment_of_no_length_or_longer_than_the_file_is_refused(length: int) -> None:
    assert "longer than the file" in refused(PICTURE[:4] + length.to_bytes(2) + PICTURE[6:])


# --- tables ----------------------------------------------------------------------------------------------------------


HUFFMAN = b"\0" + bytes([1, *[0] * 15]) + b"\7"


@pytest.mark.parametrize("body", [b"", b"\0" + bytes(64), b"\x13" + bytes(128), b"\0" + bytes(64) + b"\3" + bytes(64)])
def test_quantization_tables_fill_their_segment(body: bytes) -> None:
    assert segment(DQT, body) in cleaned(before(SOF0, segment(DQT, body), of=PICTURE)).data


@pytest.mark.parametrize(
    "body", [b"\0" + bytes(64) + SECRET, b"\0" + bytes(63), b"\4" + bytes(64), b"\x20" + bytes(64)]
)
def test_other_quantization_tables_are_refused(body: bytes) -> None:
    assert "quantization" in refused(before(SOF0, segment(DQT, body), of=PICTURE))


@pytest.mark.parametrize("body", [b"", HUFFMAN, HUFFMAN + b"\x13" + HUFFMAN[1:], b"\x10" + bytes(16)])
def test_huffman_tables_fill_their_segment(body: bytes) -> None:
    assert segment(DHT, body) in cleaned(before(SOS, segment(DHT, body), of=PICTURE)).data


@pytest.mark.parametrize(
    "body",
    [HUFFMAN + SECRET, HUFFMAN[:-1], HUFFMAN[:10], b"\4" + HUFFMAN[1:], b"\x20" + HUFFMAN[1:],
     b"\0" + bytes([129, 128, *[0] * 14]) + bytes(257)],
)  # fmt: skip
def test_other_huffman_tables_are_refused(body: bytes) -> None:
    assert "Huffman" in refused(before(SOS, segment(DHT, body), of=PICTURE))


def test_the_interval_of_restarts_has_two_bytes() -> None:
    assert cleaned(before(SOS, segment(DRI, b"\0\0"), of=PICTURE)).data != PICTURE
    assert refused(before(SOS, segment(DRI, b"\0\0" + SECRET), of=PICTURE))


# --- frame and scans -------------------------------------------------------------------------------------------------


def frame(height: int = 32, width: int = 48, precision: int = 8, components: bytes = FRAME[6:]) -> bytes:
    return struct.pack(">BHHB", precision, height, width, len(components) // 3) + components


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (frame(height=0), "it has 48 x 0 pixels"),
        (frame(width=0), "it has 0 x 32 pixels"),
        (frame(height=65_535, width=65_535), "MediaTooLarge"),
        (frame(precision=12), "it has samples of 12 bits"),
        (frame(components=FRAME[6:12]), "the frame's header is not of 1, 3 or 4 components"),
        (frame() + b"\0", "the frame's header is not of 1, 3 or 4 components"),
        (frame()[:-1], "the frame's header is not of 1, 3 or 4 components"),
        (b"", "the frame's header is not of 1, 3 or 4 components"),
        (frame(components=b"\1\x01\0"), "a component of the frame has no such sampling or table"),
        (frame(components=b"\1\x15\0"), "a component of the frame has no such sampling or table"),
        (frame(components=b"\1\x11\4"), "a component of the frame has no such sampling or table"),
    ],
)
def test_another_frame_is_refused(body: bytes, detail: str) -> None:
    assert refused(replaced(SOF0, body, of=PICTURE)) == detail


def test_a_second_frame_is_refused() -> None:
    assert refused(before(SOS, segment(SOF0, frame()), of=PICTURE)) == "there is a second frame"


def test_an_extended_sequential_frame_is_kept() -> None:
    data = PICTURE.replace(b"\xff\xc0", b"\xff\xc1")
    assert cleaned(data).data == data


@pytest.mark.parametrize(
    "body", [b"", b"\0\0\x3f\0", b"\5" + bytes(13), b"\1\1\0\0\x3f\0" + SECRET, b"\1\x09\0\0\x3f\0", b"\1\1\0\0\x3f"]
)
def test_the_header_of_a_scan_fits_the_frame(body: bytes) -> None:
    assert refused(before(SOS, segment(SOS, body), of=PICTURE)).startswith("a scan")


def test_a_scan_in_front_of_the_frame_is_refused() -> None:
    assert (
        refused(before(SOF0, segment(SOS, b"\1\1\0\0\x3f\0"), of=PICTURE)) == "a scan's header does not fit the frame"
    )


def test_one_without_a_scan_is_refused() -> None:
    assert refused(b"\xff\xd8" + segment(SOF0, frame()) + b"\xff\xd9") == "there is no scan"
    assert refused(b"\xff\xd8\xff\xd9") == "there is no scan"


def test_the_number_of_scans_is_limited() -> None:
    scan = segment(SOS, b"\1\1\0\0\x3f\0") + b"\x55"
    assert refused(before(EOI, scan * (MAX_SCANS - 1), of=PICTURE)) == ""
    assert refused(before(EOI, scan * MAX_SCANS, of=PICTURE)) == "MediaTooLarge"


def test_what_a_camera_writes_is_left_with_five_kinds_of_segments() -> None:
    camera = saved(image(), "JPEG", exif=EXIF, dpi=(72, 72), progressive=True)
    left = cleaned(before(DQT, JFXX, of=camera))
    assert set(parts(left.data, MediaType.JPEG)) == {"E0", "DB", "C2", "C4", "DA", "D9"}
