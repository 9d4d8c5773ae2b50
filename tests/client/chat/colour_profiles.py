"""ICC profiles (version 2) of displays, made by hand: primaries, and how values become light."""

from collections.abc import Sequence
from struct import pack
from typing import Final

_D50: Final = (0.9642, 1.0, 0.8249)

DISPLAY_P3: Final = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
ADOBE_RGB: Final = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
"""X, Y and Z of red, green and blue, adapted to D50."""


def gamma(exponent: float) -> bytes:
    return b"curv" + pack(">IIH", 0, 1, round(exponent * 256)) + bytes(2)


def srgb_curve() -> bytes:
    values = [each / 1023 for each in range(1024)]
    light = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return b"curv" + pack(">II1024H", 0, 1024, *(round(each * 65535) for each in light))


def rgb_profile(primaries: Sequence[Sequence[float]], curve: bytes) -> bytes:
    tags = {b"wtpt": _xyz(_D50)}
    for letter, primary in zip(b"rgb", primaries, strict=True):
        tags |= {b"%cXYZ" % letter: _xyz(primary), b"%cTRC" % letter: curve}
    return _profile(b"RGB ", tags)


def grey_profile(curve: bytes) -> bytes:
    return _profile(b"GRAY", {b"wtpt": _xyz(_D50), b"kTRC": curve})


def _xyz(values: Sequence[float]) -> bytes:
    return b"XYZ " + pack(">I3i", 0, *(round(value * 65536) for value in values))


def _profile(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    table, content = b"", b""
    for name, value in tags.items():
        table += name + pack(">II", 132 + 12 * len(tags) + len(content), len(value))
        content += value
    head = pack(">I4sI4s4s4s12s4s28s", 132 + len(table) + len(content), b"", 0x02400000, b"mntr", space, b"XYZ ",
                pack(">6H", 2020, 1, 1, 0, 0, 0), b"acsp", b"") + _xyz(_D50)[8:] + bytes(48)  # fmt: skip
    return head + pack(">I", len(tags)) + table + content
