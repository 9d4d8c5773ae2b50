"""AMR: whole frames stay."""

import pytest
from tests.protocols.status.media.held import good, refusal
from tests.protocols.status.media.pictures import ZIP
from tests.protocols.status.media.sounds import AMR_BITS, ID3V1, amr, amr_frame

from postroom.protocols.status.media import Cleaned, MediaType

SIZES = {0: 13, 1: 14, 2: 16, 3: 18, 4: 20, 5: 21, 6: 27, 7: 32, 8: 6, 15: 1}


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.AMR)


def refused(data: bytes) -> str:
    return refusal(data, MediaType.AMR)


@pytest.mark.parametrize("kind", SIZES)
def test_a_frame_has_the_size_of_its_type_and_lasts_20_ms(kind: int) -> None:
    frame = amr_frame(kind)
    assert len(frame) == SIZES[kind]
    assert cleaned(amr(*[frame] * 7)) == Cleaned(amr(*[frame] * 7), {}, frames=7, duration_ms=140)
    if kind != 15:
        cut = amr(*[frame] * 7, frame[:-1])
        assert cleaned(cut) == Cleaned(amr(*[frame] * 7), {"partial frame": SIZES[kind] - 1}, frames=7, duration_ms=140)


def test_types_may_change() -> None:
    sound = amr(*(amr_frame(kind) for kind in SIZES))
    assert cleaned(sound) == Cleaned(sound, {}, frames=10, duration_ms=200)


@pytest.mark.parametrize("kind", sorted(set(range(16)) - set(SIZES)))
def test_a_reserved_type_is_refused(kind: int) -> None:
    for quality in (0, 4):
        assert refused(amr(amr_frame(), bytes([kind << 3 | quality]) + bytes(40))) == (
            f"the frame at 38 is of the reserved type {kind}"
        )


def test_the_quality_of_a_frame_stays() -> None:
    for quality in (0, 1):
        sound = amr(amr_frame(quality=quality))
        assert cleaned(sound).data == sound


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("bits", [0x01, 0x02, 0x80, 0x83])
def test_padding_of_a_header_is_written_as_zero(kind: int, bits: int) -> None:
    frame = amr_frame(kind)
    assert cleaned(amr(frame, bytes([frame[0] | bits]) + frame[1:], frame)).data == amr(frame, frame, frame)


@pytest.mark.parametrize("kind", [kind for kind, bits in AMR_BITS.items() if bits % 8])
@pytest.mark.parametrize("fill", [0x00, 0x5A, 0xFF])
def test_padding_behind_the_speech_is_written_as_zero(kind: int, fill: int) -> None:
    frame, padded = amr_frame(kind, fill=fill), amr_frame(kind, fill=fill, padding=0xFF)
    assert frame != padded
    assert cleaned(amr(padded, frame, padded)).data == amr(frame, frame, frame)


@pytest.mark.parametrize("magic", [b"#!AMR-WB\n", b"#!AMR_MC1.0\n", b"#!AMR\r\n", b"#!AMR", b"#!amr\n", b""])
def test_wide_band_several_channels_and_other_files_are_refused(magic: bytes) -> None:
    assert refused(magic + amr_frame() * 5) == "it does not begin as AMR"


@pytest.mark.parametrize("data", [b"#!AMR\n", amr(amr_frame()[:-1]), amr(b"\x3c")])
def test_one_without_a_whole_frame_is_refused(data: bytes) -> None:
    assert refused(data) == "there is no whole frame"


@pytest.mark.parametrize("tail", [ZIP, ID3V1])
def test_tags_and_archives_behind_the_sound_are_no_frames(tail: bytes) -> None:
    assert "reserved type" in refused(amr() + tail)


def test_what_looks_like_frames_behind_the_sound_is_taken_for_sound() -> None:
    """Nothing but the header of a frame says that it is one."""
    text = b"%PDF-1.7 and no more"
    assert cleaned(amr() + text).data == amr() + b"\x24" + text[1:-1] + b"`"
