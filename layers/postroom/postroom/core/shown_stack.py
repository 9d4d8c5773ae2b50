"""Stacks of exceptions for logs, escaped and shortened: the text of an exception may repeat what a stranger wrote."""

import logging
import traceback
from collections.abc import Sequence
from typing import Final

from postroom.core.shown_text import shown

MAX_LINES: Final = 200
MAX_LINE_CHARACTERS: Final = 1000


def show_stack(record: logging.LogRecord) -> bool:
    """A filter for a logger, which makes formatters write the stacks of its records in this way."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        record.exc_text = "\n".join(stack_lines(error))
    return True


def stack_lines(error: BaseException) -> Sequence[str]:
    """The lines that Python prints of an exception, indented: none of them looks like another line of a log."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return [f"  {shown(line, MAX_LINE_CHARACTERS)}" for line in lines[:MAX_LINES]]
