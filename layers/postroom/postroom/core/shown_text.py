"""Escaping and shortening of untrusted text for terminals and logs."""

from typing import Final

_LONGEST: Final = 120


def safe(text: str) -> str:
    """`text` with escapes for everything that could control a terminal, begin a line, or reverse its order."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(text: str, most: int = _LONGEST) -> str:
    """The same of the first `most` characters; of a longer text, its length is said, too."""
    return safe(text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)")
