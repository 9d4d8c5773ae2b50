"""Printing of lines. Whatever text a stranger sent, nothing in a line controls the terminal or reverses its order.

Every command prints by this module (or, for tables and styles, by `output.py`, whose texts are as safe), and so does
what a command logs.
"""

import json
import logging
import sys
from typing import Final

from postroom.core.shown_stack import stack_lines
from postroom.core.shown_text import safe, shown

_LONGEST: Final = 2000
"""Of the message of what is logged, in characters."""


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


class LoggedLines(logging.Handler):
    """Prints warnings and errors that are logged, on standard error: to be `logging.lastResort`, which Python uses
    where nobody configured logging, and which would write what strangers sent as it is. `as_json`: as objects.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(logging.WARNING)
        self._as_json = as_json

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record: its message in one line, and the lines of its stack."""
        try:
            error = record.exc_info[1] if record.exc_info else None
            text, stack = shown(record.getMessage(), _LONGEST), stack_lines(error) if error else ()
            if self._as_json:
                print_error(json.dumps({"note": "\n".join((text, *stack))}))
                return
            for line in (f"postroom: {text}", *stack):
                print_error(line)
        except Exception:
            self.handleError(record)
