"""Lines of text broken to the width of a terminal, by the cells that characters take."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Final

from rich.cells import cell_len

_KEPT: Final = 500


def wrap(line: str, width: int) -> list[str]:
    """A line as lines of at most so many cells, broken at blanks where there are some; at least one line.

    No character but a blank at a break is lost.
    """
    return list(_wrapped(line, width))


@lru_cache(maxsize=_KEPT)
def wrap_first(lines: tuple[str, ...], width: int, most: int) -> tuple[str, ...]:
    """The first lines of all that these make. The last ones are kept: all messages are laid out anew at each key."""
    return tuple(islice(chain.from_iterable(_wrapped(line, width) for line in lines), most))


def shorten(text: str, width: int) -> str:
    """The beginning of a text that takes at most so many cells; what is cut off ends in "…"."""
    if cell_len(text) <= width:
        return text
    piece = next(_chopped(text, width - 1))
    return f"{piece if cell_len(piece) < width else ''}…" if width > 0 else ""


def _wrapped(line: str, width: int) -> Iterator[str]:
    current = ""
    for number, word in enumerate(line.split(" ")):
        longer = f"{current} {word}" if number else word
        if cell_len(longer) <= width:
            current = longer
            continue
        if number:
            yield current
        pieces = _chopped(word, width)
        current = next(pieces)
        for piece in pieces:
            yield current
            current = piece
    yield current


def _chopped(word: str, width: int) -> Iterator[str]:
    """Pieces of a word; a character that is wider than a line has one of its own. Marks stay with their letters."""
    piece, cells = "", 0
    for character in word:
        more = cell_len(character)
        if piece and cells + more > width:
            yield piece
            piece, cells = "", 0
        piece, cells = piece + character, cells + more
    yield piece
