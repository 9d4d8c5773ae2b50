"""Whatever anybody sends as a picture or a sound: only what is shown or heard stays, or a reason is given."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.mutate import changed, pumped
from tests.protocols.status.media.held import held, refusal
from tests.protocols.status.media.pictures import HTML, SECRET, ZIP, gif_of, gif_picture, jpeg, png, webp
from tests.protocols.status.media.samples import SAMPLES
from tests.protocols.status.media.sounds import adts, amr, amr_frame
from tests.tiers import examples

from postroom.core.errors import TheirError
from postroom.protocols.status.media import Cleaned, MediaLimits, MediaType, clean
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE

EACH = pytest.mark.parametrize(
    ("kind", "data"),
    [pytest.param(kind, data, id=f"{kind} {n}") for kind, samples in SAMPLES.items() for n, data in enumerate(samples)],
)
TYPES = pytest.mark.parametrize("kind", MediaType)


@EACH
def test_what_is_left_of_a_good_one_walks_through_unchanged_and_has_no_metadata(kind: MediaType, data: bytes) -> None:
    cleaned = held(data, kind)
    assert isinstance(cleaned, Cleaned)
    assert b"SECRET" not in cleaned.data
    assert (cleaned.width is None, cleaned.duration_ms is None) == (kind.is_audio, not kind.is_audio)


@EACH
def test_one_that_is_cut_at_any_byte_is_refused_or_shorter(kind: MediaType, data: bytes) -> None:
    for end in range(len(data)):
        held(data[:end], kind)


@EACH
def test_the_end_of_what_is_left_is_needed(kind: MediaType, data: bytes) -> None:
    whole = clean(data, kind).data
    for end in range(len(whole)):
        shorter = held(whole[:end], kind)
        # Of a sound the whole frames in front stay; in a WebP the padding at the end may be missing.
        if isinstance(shorter, Cleaned):
            assert kind.is_audio or (kind is MediaType.WEBP and end == len(whole) - 1)


@TYPES
@settings(max_examples=examples(200))
@given(data=st.data())
def test_changes_of_good_ones_are_refused_or_cleaned(kind: MediaType, data: st.DataObject) -> None:
    known = data.draw(st.sampled_from(SAMPLES[kind]))
    random = data.draw(st.randoms(use_true_random=False))
    held(changed(known, random, SAMPLES[kind]), kind)


@TYPES
@settings(max_examples=examples(20))
@given(data=st.data())
def test_repetitions_are_refused_or_cleaned(kind: MediaType, data: st.DataObject) -> None:
    known = data.draw(st.sampled_from(SAMPLES[kind]))
    held(pumped(known, data.draw(st.randoms(use_true_random=False)), 60_000), kind)


@TYPES
@pytest.mark.parametrize(
    "data", [b"", b"\0", SECRET, HTML, ZIP, b"%PDF-1.7\n", b"RIFF\x04\0\0\0WAVE", b"BM" + bytes(60)]
)
def test_other_files_are_of_no_type(kind: MediaType, data: bytes) -> None:
    error = held(data, kind)
    assert isinstance(error, TheirError)
    assert error.reason == MEDIA_INVALID


@pytest.mark.parametrize("said", MediaType)
@pytest.mark.parametrize("kind", MediaType)
def test_a_picture_or_sound_of_another_type_than_it_is_said_to_be_is_refused(kind: MediaType, said: MediaType) -> None:
    found = held(SAMPLES[kind][0], said)
    if said is kind:
        assert isinstance(found, Cleaned)
    else:
        assert isinstance(found, TheirError)
        assert found.detail == f"it is said to be {said}, and begins as {kind}"


@EACH
@pytest.mark.parametrize("more", [HTML, ZIP, b"%PDF-1.7\n%%EOF", b"\xff\xd8\xff\xe1" + SECRET])
def test_a_file_of_another_format_behind_it_is_dropped(kind: MediaType, data: bytes, more: bytes) -> None:
    alone = clean(data, kind)
    both = held(alone.data + more, kind)
    if kind is MediaType.AMR:  # nothing says where its sound ends
        assert isinstance(both, TheirError) or both.data.startswith(alone.data)
        return
    assert isinstance(both, Cleaned)
    assert (both.data, both.dropped) == (alone.data, {"trailing bytes": len(more)})


@TYPES
@pytest.mark.parametrize("front", [HTML, ZIP, b"\0", b" ", b"\xef\xbb\xbf"])
def test_nothing_of_another_format_may_stand_in_front(kind: MediaType, front: bytes) -> None:
    assert isinstance(held(front + SAMPLES[kind][0], kind), TheirError)


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_limits_are_those_of_clients_of_status_and_of_its_transport() -> None:
    assert MediaLimits() == MediaLimits(400_000, 1 << 20, 16_000_000, 64_000_000, 500)


@pytest.mark.parametrize("kind", [kind for kind in MediaType if not kind.is_audio])
def test_a_picture_may_have_400_000_bytes(kind: MediaType) -> None:
    data = SAMPLES[kind][0].ljust(400_000, b"\0")
    assert refusal(data, kind) == ""
    assert refusal(data + b"\0", kind) == "MediaTooLarge"


def test_a_sound_may_have_a_mebibyte() -> None:
    assert refusal(adts().ljust(1 << 20, b"\0"), MediaType.AAC) == ""
    assert refusal(adts().ljust((1 << 20) + 1, b"\0"), MediaType.AAC) == "MediaTooLarge"
    sound = amr(*[amr_frame(15)] * ((1 << 20) - 6))
    assert refusal(sound, MediaType.AMR) == ""
    assert refusal(sound + b"\x7c", MediaType.AMR) == "MediaTooLarge"


@pytest.mark.parametrize("make", [jpeg, png, webp])
def test_a_picture_may_have_as_many_pixels_as_the_setting_says(make: type) -> None:
    kind = MediaType(make.__name__.upper())
    data = make(40, 30)
    assert refusal(data, kind, MediaLimits(pixels=1200)) == ""
    assert refusal(data, kind, MediaLimits(pixels=1199)) == "MediaTooLarge"


def test_a_gif_may_have_as_many_pixels_as_the_setting_says() -> None:
    assert refusal(gif_of(gif_picture(), width=4000, height=4000), MediaType.GIF) == ""
    assert refusal(gif_of(gif_picture(), width=4000, height=4001), MediaType.GIF) == "MediaTooLarge"


def test_the_size_is_looked_at_before_the_rest() -> None:
    """What follows the declared size is not there at all."""
    for kind, head in (
        (MediaType.JPEG, b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\x01\x01\x11\0"),
        (MediaType.PNG, png()[:16] + b"\0\0\xff\xff\0\0\xff\xff\x08\x02\0\0\0\0\0\0\0"),
        (MediaType.WEBP, b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xfe\xff\0\xfe\xff\0"),
        (MediaType.GIF, b"GIF89a\xff\xff\xff\xff\0\0\0"),
    ):
        assert refusal(head, kind) == "MediaTooLarge"


def test_what_is_cleaned_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        clean(amr(), MediaType.AMR).data = b""  # type: ignore[misc]


def test_a_refusal_has_one_of_two_reasons() -> None:
    with pytest.raises(TheirError) as damaged:
        clean(b"", MediaType.PNG)
    with pytest.raises(TheirError) as large:
        clean(bytes(400_001), MediaType.PNG)
    assert (damaged.value.reason, large.value.reason) == (MEDIA_INVALID, MEDIA_TOO_LARGE)
