"""The picture of the demo: the place in it, which goes when it is cleaned."""

import pytest

from postroom.demo.pictures import picture_taken_at, place_of
from postroom.protocols.status.media import MediaType, clean


@pytest.mark.parametrize(
    ("latitude", "longitude", "place"),
    [(38.7077, -9.1366, "38.7077 N, 9.1366 W"), (-33.8568, 151.2153, "33.8568 S, 151.2153 E")],
)
def test_the_place_is_in_the_picture_and_goes_when_it_is_cleaned(latitude: float, longitude: float, place: str) -> None:
    picture = picture_taken_at(latitude, longitude)
    assert place_of(picture) == place
    cleaned = clean(picture, MediaType.JPEG)
    assert place_of(cleaned.data) == ""
    assert (cleaned.width, cleaned.height, list(cleaned.dropped)) == (32, 32, ["EXIF"])
    assert len(picture) - len(cleaned.data) == cleaned.dropped["EXIF"]


def test_a_decoder_reads_the_place_and_the_picture() -> None:
    image_module = pytest.importorskip("PIL.Image")
    from io import BytesIO

    image = image_module.open(BytesIO(picture_taken_at(38.7077, -9.1366)), formats=("JPEG",))
    image.load()
    assert (image.size, image.mode) == ((32, 32), "L")
    assert dict(image.getexif().get_ifd(0x8825)) == {1: "N", 2: (38.7077, 0, 0), 3: "W", 4: (9.1366, 0, 0)}
