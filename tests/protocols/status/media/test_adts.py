"""AAC in ADTS: whole frames of one kind stay."""

import pytest
from tests.protocols.status.media.held import good, refusal
from tests.protocols.status.media.pictures import HTML, SECRET, ZIP
from tests.protocols.status.media.sounds import APE, ID3V1, adts, adts_frame, id3v2

from postroom.protocols.status.media import Cleaned, MediaType

SOUND = adts(5)


def cleaned(data: bytes) -> Cleaned:
    return good(data, MediaType.AAC)


def refused(data: bytes) -> str:
    return refusal(data, MediaType.AAC)


def test_what_has_nothing_to_drop_is_the_same() -> None:
    """5 × 1024 samples at 22,050 Hz are 232.2 ms."""
    assert cleaned(SOUND) == Cleaned(SOUND, {}, frames=5, duration_ms=232)


@pytest.mark.parametrize(
    ("index", "rate"),
    list(enumerate((96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350))),
)
def test_the_duration_is_by_blocks_and_rate(index: int, rate: int) -> None:
    for blocks in (1, 2, 4):
        sound = adts(7, rate=index, blocks=blocks)
        assert cleaned(sound).duration_ms == 7 * blocks * 1024 * 1000 // rate
    # Long enough for a hertz to make a difference.
    assert cleaned(adts_frame(b"1", rate=index) * 15_000).duration_ms == 15_000 * 1024 * 1000 // rate
    mixed = adts_frame(rate=index, blocks=4) + adts_frame(rate=index) + adts_frame(rate=index, blocks=2)
    assert cleaned(mixed).duration_ms == 7 * 1024 * 1000 // rate
    # A frame that is cut off does not count.
    cut = mixed + adts_frame(rate=index, blocks=4)[:-1]
    assert (cleaned(cut).duration_ms, cleaned(cut).frames) == (7 * 1024 * 1000 // rate, 3)


@pytest.mark.parametrize("index", [13, 14, 15])
def test_a_rate_that_is_reserved_is_refused(index: int) -> None:
    assert refused(adts(rate=index)) == "it has a sample rate that no ADTS has"


@pytest.mark.parametrize("channels", range(8))
@pytest.mark.parametrize("profile", range(4))
def test_every_profile_and_channel_configuration_is_taken(profile: int, channels: int) -> None:
    sound = adts(profile=profile, channels=channels)
    assert cleaned(sound).data == sound


@pytest.mark.parametrize("second", [0xF1, 0xF9, 0xF0, 0xF8])
def test_mpeg_2_and_4_with_and_without_crc_are_taken(second: int) -> None:
    frame = b"\xff%c" % second + adts_frame()[2:]
    assert cleaned(frame * 3).data == frame * 3


@pytest.mark.parametrize("second", [0xFB, 0xF3, 0xF5, 0xE1, 0x01])
def test_mpeg_audio_of_another_layer_is_refused(second: int) -> None:
    assert refused(b"\xff%c" % second + adts_frame()[2:])


# --- tags ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tags",
    [id3v2(), id3v2(flags=0x10), id3v2(b""), id3v2() + id3v2(bytes(300)), id3v2(SECRET * 1000, flags=0x80),
     id3v2(adts(2)), id3v2(HTML) + id3v2(ZIP, flags=0x10) + id3v2()],
)  # fmt: skip
def test_tags_in_front_go(tags: bytes) -> None:
    assert cleaned(tags + SOUND) == Cleaned(SOUND, {"ID3": len(tags)}, frames=5, duration_ms=232)


@pytest.mark.parametrize(
    ("tag", "detail"),
    [
        (id3v2(size=len(SECRET) + 1000), "an ID3 tag is longer than the file"),
        (id3v2(size=0xFFFFFFF), "an ID3 tag is longer than the file"),
        (id3v2()[:6] + b"\0\0\0\x80" + bytes(128), "an ID3 tag has no length"),
        (id3v2()[:6] + b"\xff\xff\xff\xff", "an ID3 tag has no length"),
        (id3v2(flags=0x10)[:-10], "it does not begin as AAC in ADTS"),
        (id3v2(size=3), "it does not begin as AAC in ADTS"),
        (id3v2() + b"\0", "it does not begin as AAC in ADTS"),
    ],
)
def test_a_tag_of_a_wrong_length_is_refused(tag: bytes, detail: str) -> None:
    assert refused(tag + SOUND) == detail


@pytest.mark.parametrize("length", range(10))
def test_a_tag_that_is_cut_off_is_refused(length: int) -> None:
    assert refused(id3v2()[:length])
    assert refused(id3v2() + id3v2()[:length])


@pytest.mark.parametrize(
    ("tail", "name"),
    [(ID3V1, "ID3"), (APE, "APE"), (APE + ID3V1, "APE"), (id3v2(), "ID3"), (ID3V1 + SOUND, "ID3"),
     (HTML, "trailing bytes"), (ZIP, "trailing bytes"), (b"\0", "trailing bytes"), (b"\xff", "trailing bytes"),
     (adts_frame()[:-1], "partial frame"), (adts_frame()[:2], "partial frame"), (adts_frame()[:7], "partial frame")],
)  # fmt: skip
def test_what_follows_the_frames_goes(tail: bytes, name: str) -> None:
    assert cleaned(SOUND + tail) == Cleaned(SOUND, {name: len(tail)}, frames=5, duration_ms=232)


# --- frames ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 6, 7])
def test_a_frame_without_content_is_refused(length: int) -> None:
    for sound in (adts_frame(length=length) * 3, SOUND + adts_frame(length=length)):
        assert refused(sound).endswith("has no content")


@pytest.mark.parametrize("length", [7, 8, 9])
def test_with_a_crc_a_frame_without_content_is_two_bytes_longer(length: int) -> None:
    assert refused(adts_frame(crc=b"12", length=length)).endswith("has no content")
    assert refused(adts_frame(b"1", crc=b"12")) == ""


def test_one_without_a_whole_frame_is_refused() -> None:
    assert refused(adts_frame()[:-1]) == "there is no whole frame"
    assert refused(adts_frame(length=8191)) == "there is no whole frame"
    for length in range(8):
        assert refused(SOUND[:length])


@pytest.mark.parametrize(
    "other", [{"rate": 4}, {"profile": 0}, {"channels": 2}, {"crc": b"12"}, {"rate": 15}], ids=str
)  # fmt: skip
def test_parameters_may_not_change(other: dict[str, int]) -> None:
    for sound in (SOUND + adts_frame(**other), SOUND + adts_frame(**other) + SOUND):
        assert refused(sound).endswith("has other parameters than the first")


def test_the_bits_of_a_copyrights_number_are_cleared() -> None:
    marked = [adts_frame(copyright_bits=bits) for bits in (1, 2, 3, 0)]
    assert cleaned(b"".join(marked)).data == adts_frame() * 4
    # Also where the last frame, which has some, is cut off.
    assert cleaned(b"".join(marked) + marked[2][:-1]).data == adts_frame() * 4
    # And behind a tag, which goes.
    assert cleaned(id3v2() + b"".join(marked)).data == adts_frame() * 4


def test_with_a_crc_which_covers_them_they_are_refused() -> None:
    assert "copyright" in refused(adts_frame(crc=b"12", copyright_bits=2))


def test_the_largest_frame_is_taken() -> None:
    sound = adts_frame(bytes(8191 - 7))
    assert cleaned(sound * 2).data == sound * 2
