"""Strangers' text as it may stand on the screen of the terminal client: what has no sign of its own is written out.

`core.shown_text.safe` writes out whatever controls a terminal, reverses the order or has category Cf, of which most
zero-width characters are. Here the others of these are added: Unicode's Default_Ignorable_Code_Point, and combining
marks above the second in a row, which would leave the line.

Emoji are the exception. A variation selector behind a symbol, and a joiner between two symbols, are left out without a
trace: the symbols are shown, one beside the other. Behind a letter they are written out, too.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from postroom.core.shown_text import safe

_IGNORABLE: Final = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Default_Ignorable_Code_Point (DerivedCoreProperties.txt) without what is Cf."""
_SELECTORS: Final = "\ufe0e\ufe0f"
_JOINER: Final = "\u200d"
_KEPT_WHILE_WRITING: Final = _SELECTORS + _JOINER + "\u200c"
_MOST_MARKS: Final = 2
_NO_SYMBOLS: Final = "LMZC"
_TAB: Final = "    "
_KEPT: Final = 500
_KEPT_CHARACTERS: Final = 10_000


def safe_text(text: str) -> str:
    """A stranger's text in one line: each character is one that is seen, or an escape such as \\u200b."""
    return text if all(map(_is_plain, set(text))) else "".join(_shown(text))


@lru_cache(maxsize=_KEPT)
def safe_lines(text: str) -> tuple[str, ...]:
    """A stranger's text in the lines in which it was written; tabs are blanks.

    The last ones are kept: all messages of a chat are shown anew at each key.
    """
    lines = text.replace("\r\n", "\n").replace("\t", _TAB).split("\n")
    return tuple(safe_text(line) for line in lines)


def writable(text: str) -> str:
    """Text that is pasted, or written anew, without what readers would see as escapes; joiners stay."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", _TAB).split("\n")
    return "\n".join("".join(c for c in line if c in _KEPT_WHILE_WRITING or _is_seen(c)) for line in lines)


def _shown(text: str) -> Iterator[str]:
    marks = 0
    for place, character in enumerate(text):
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if _is_of_emoji(text, place):
            continue
        if marks > _MOST_MARKS or not _is_seen(character):
            yield character.encode("unicode_escape").decode("ascii")
        else:
            yield character


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _is_seen(character: str) -> bool:
    code = ord(character)
    return safe(character) == character and not any(first <= code <= last for first, last in _IGNORABLE)


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _is_plain(character: str) -> bool:
    """Whether a character is shown as it is, wherever it stands."""
    return _is_seen(character) and unicodedata.category(character) not in ("Mn", "Me")


def _is_of_emoji(text: str, place: int) -> bool:
    """Whether a character only says how the symbols beside it are drawn."""
    character, before = text[place], text[place - 1 : place]
    if character in _SELECTORS:
        return _is_symbol(before)
    if character == _JOINER:
        return (_is_symbol(before) or before in _SELECTORS) and _is_symbol(text[place + 1 : place + 2])
    return False


def _is_symbol(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] not in _NO_SYMBOLS
