"""Benchmark `media`: walkers of pictures and sounds, compared with a checksum and with decoding."""

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, marked, over_processes, ratios
from PIL import Image
from tests.protocols.status.media.pictures import animated, gif, jpeg, png, webp
from tests.protocols.status.media.sounds import adts_frame, amr, amr_frame

from postroom.protocols.status.media import MediaType, clean

MOST_OF_PICTURES: Final = 4.0
MOST_OF_AAC: Final = 10.0
MOST_OF_AMR: Final = 40.0
LEAST_OF_DECODING: Final = 10.0

NOTES: Final = f"""\
*The walker* is `clean`: from the bytes of a picture or a sound to what is left, and what was dropped. Nothing has to be
dropped here, so all of it is walked and copied. *crc32* is `zlib.crc32` of the same bytes, the least that reads each of
them. *Decoding* is Pillow's, of all frames to pixels. The pictures have about 300 kB; the sounds are of two minutes,
the longest that Status's clients record: AAC of 32 kbit/s, as they do, and AMR of 12.2 kbit/s.

Goals: the walker ≤ {MOST_OF_PICTURES:g} × crc32 of a picture, ≤ {MOST_OF_AAC:g} × of AAC, ≤ {MOST_OF_AMR:g} × of
AMR; decoding ≥ {LEAST_OF_DECODING:g} × the walker.
"""

_SECONDS: Final = 120
_AAC_FRAME: Final = 186
"""Bytes: 1,024 samples at 22,050 Hz of 32 kbit/s."""


def _pictures() -> dict[str, tuple[MediaType, bytes]]:
    return {
        "JPEG": (MediaType.JPEG, jpeg(800, 600, quality=94)),
        "JPEG, progressive": (MediaType.JPEG, jpeg(800, 600, quality=94, progressive=True)),
        "PNG": (MediaType.PNG, png(410, 320)),
        "PNG, 20 frames": (MediaType.PNG, animated("PNG", 20, 72, 52)),
        "WebP": (MediaType.WEBP, webp(880, 640, quality=95)),
        "WebP, lossless": (MediaType.WEBP, webp(400, 360, lossless=True)),
        "WebP, 20 frames": (MediaType.WEBP, animated("WEBP", 20, 140, 92)),
        "GIF": (MediaType.GIF, gif(540, 420)),
        "GIF, 20 frames": (MediaType.GIF, animated("GIF", 20, 120, 100)),
    }


def _sounds() -> dict[str, tuple[MediaType, bytes]]:
    aac = adts_frame(bytes(_AAC_FRAME - 7))
    return {
        "AAC": (MediaType.AAC, aac * (_SECONDS * 22_050 // 1024)),
        "AMR": (MediaType.AMR, amr(*[amr_frame(7)] * (_SECONDS * 50))),
    }


_MOST: Final = {MediaType.AAC: MOST_OF_AAC, MediaType.AMR: MOST_OF_AMR}


def _decoded(data: bytes, kind: MediaType) -> None:
    with Image.open(BytesIO(data), formats=(kind,)) as opened:
        for frame in range(getattr(opened, "n_frames", 1)):
            opened.seek(frame)
            opened.load()


def measure_here(effort: Effort) -> list[list[float]]:
    """Rows of ratios: the walker to crc32, decoding to the walker (a sound: the first alone)."""
    rows = []
    for kind, data in (*_pictures().values(), *_sounds().values()):
        assert clean(data, kind).data == data
        ways: list[Callable[[], object]] = [partial(zlib.crc32, data), partial(clean, data, kind)]
        if not kind.is_audio:
            ways.append(partial(_decoded, data, kind))
        _, walker, *decoding = ratios(ways, effort)
        rows.append([walker, *(each / walker for each in decoding)])
    return rows


def measure(effort: Effort) -> Sequence[Table]:
    """A table of pictures, and one of sounds."""
    found = over_processes(measure_here, effort)
    pictures, sounds = _pictures(), _sounds()
    return [
        Table(
            "Pictures",
            ("picture", "kB", "the walker : crc32", "decoding : the walker"),
            tuple(
                (
                    name,
                    f"{len(data) / 1000:.0f}",
                    marked(walker, reached=walker <= MOST_OF_PICTURES),
                    marked(decoding, reached=decoding >= LEAST_OF_DECODING),
                )
                for (name, (_, data)), (walker, decoding) in zip(pictures.items(), found, strict=False)
            ),
        ),
        Table(
            "Sounds",
            ("sound", "kB", "the walker : crc32"),
            tuple(
                (name, f"{len(data) / 1000:.0f}", marked(walker, reached=walker <= _MOST[kind]))
                for (name, (kind, data)), [walker] in zip(sounds.items(), found[len(pictures) :], strict=True)
            ),
        ),
    ]


BENCHMARK = Benchmark("media", "Cleaning pictures and sounds", NOTES, measure)
