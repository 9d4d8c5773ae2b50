"""Printing of lines. Whatever text a stranger sent, nothing in a line controls the terminal or reverses its order.

Every command prints by this module (or, for tables and styles, by `output.py`, whose texts are as safe).
"""

import sys


def safe(text: str) -> str:
    """`text` with escapes for everything that could control a terminal, begin a line, or reverse its order."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def print_line(text: str = "", *, flush: bool = False) -> None:
    """Print one line on standard output."""
    print(safe(text), flush=flush)


def print_text(text: str) -> None:
    """Print several lines on standard output, now. The line breaks are ours."""
    for line in text.split("\n"):
        print_line(line)
    sys.stdout.flush()


def print_error(text: str = "") -> None:
    """Print one line on standard error."""
    print(safe(text), file=sys.stderr)
