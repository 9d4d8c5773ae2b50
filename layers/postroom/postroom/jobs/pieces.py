"""Long lines split for Spark, which limits what it exchanges by rows, not by bytes."""

from collections.abc import Hashable, Iterator
from typing import Final

from postroom.core.errors import OurError

PIECE_BYTES: Final = 256 * 1024


def pieces_of(data: bytes) -> Iterator[bytes]:
    """The pieces of a line, in order; most lines are one."""
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


class Joining:
    """Joins pieces to lines.

    Raises OurError if a piece is not the next one: a line is whole, or the run ends before any later line is moved.
    """

    def __init__(self) -> None:
        self._line: Hashable = None
        self._held: list[bytes] = []

    def add(self, line: Hashable, part: int, size: int, piece: bytes) -> bytes | None:
        """The whole line, once its last piece was added. `part`: from 0; `size`: of the whole line, in bytes."""
        if part != len(self._held) or (self._held and line != self._line):
            self._miss(line)
        if not part and len(piece) == size:
            return piece
        self._line = line
        self._held.append(piece)
        missing = size - sum(map(len, self._held))
        if missing > 0:
            return None
        if missing < 0:
            self._miss(line)
        whole = b"".join(self._held)
        self._held = []
        return whole

    def done(self) -> None:
        """Check that no piece is missing at the end."""
        if self._held:
            self._miss(self._line)

    def _miss(self, line: Hashable) -> None:
        raise OurError(f"the pieces of a line came apart at {line}; it was not moved, and stays where it is")
