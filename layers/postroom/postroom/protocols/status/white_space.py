"""White space as Status's clients trim it: Unicode's White_Space property."""

from typing import Final

WHITE_SPACE: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters of the property, all 25. U+001C–U+001F are not among them, although `str.isspace` takes them."""


def is_blank(text: str) -> bool:
    """Whether a text has nothing but white space in it, or nothing at all (6/PAYLOADS: ChatMessage)."""
    return not text.strip(WHITE_SPACE)
