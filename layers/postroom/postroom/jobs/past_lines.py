"""Evidence of which lines of an object are past. An object may be deleted when all its lines are.

A past line stays past, so evidence only grows: what tasks find at different times, or twice, can be added up.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PastLines:
    """Evidence about one object. `lines`: the number of its lines; 0: unknown here.

    `past`: a bit for each line, first line first, from the lowest bit of the first byte on. `size`: of the object, in
    bytes; 0: unknown here.
    """

    source: str
    lines: int
    past: bytes
    size: int = 0

    @property
    def all_past(self) -> bool:
        """Whether all lines are past."""
        return self.lines > 0 and self.past == bits(range(self.lines))


def bits(numbers: Iterable[int]) -> bytes:
    """These lines, as bits; without zeros at the end."""
    value = 0
    for number in numbers:
        value |= 1 << number
    return value.to_bytes((value.bit_length() + 7) // 8, "little")


def added_up(source: str, parts: Iterable[PastLines]) -> PastLines:
    """All evidence about an object."""
    value, lines, size = 0, 0, 0
    for part in parts:
        value |= int.from_bytes(part.past, "little")
        lines, size = max(lines, part.lines), max(size, part.size)
    return PastLines(source, lines, value.to_bytes((value.bit_length() + 7) // 8, "little"), size)
