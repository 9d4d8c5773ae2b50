"""The output of commands: tables and lines for people, JSON for programs; keys go to files."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.cli.exits import UsageFault, in_json
from postroom.cli.terminal import print_error, print_line
from postroom.core.ijson import JsonValue
from postroom.core.shown_text import safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_UNBOUND_WIDTH = 10_000
"""The width if the output is not a terminal: lines for programs are not broken."""


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def print_json(value: JsonValue) -> None:
    """Print one JSON text, in UTF-8 whatever the locale; on a terminal, control characters are escaped."""
    _write_json(value, indent=2)


def print_json_line(value: JsonValue) -> None:
    """The same in one line, which others may follow."""
    _write_json(value, indent=None)


def _write_json(value: JsonValue, indent: int | None) -> None:
    sys.stdout.flush()
    try:
        data = json.dumps(value, ensure_ascii=is_terminal(), indent=indent).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON has as an escape only
        data = json.dumps(value, indent=indent).encode()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_either(as_json: bool, value: JsonValue, line: str) -> None:
    """Print the result: JSON for programs, or a line for people."""
    if as_json:
        print_json(value)
    else:
        print_line(line)


def note(text: str) -> None:
    """Print one line on standard error, beside the result; with --json an object, as for errors."""
    print_error(json.dumps({"note": text}) if in_json() else f"postroom: {text}")


def console() -> "Console":
    """Standard output for people."""
    from rich.console import Console

    return Console(
        width=None if is_terminal() else _UNBOUND_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def styled(text: str, style: str = "") -> "Text":
    """A stranger's text for the console: without markup, and nothing that controls a terminal."""
    from rich.text import Text

    return Text(safe(text), style=style)


def print_table(columns: Sequence[str], rows: Iterable[Sequence["str | Text"]]) -> None:
    """Print a table; plain columns of text if the output is not a terminal."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE if is_terminal() else None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(styled(cell) if isinstance(cell, str) else cell for cell in row))
    shown = console()
    if is_terminal():
        shown.print(table)
        return
    with shown.capture() as captured:
        shown.print(table)
    for line in captured.get().splitlines():
        print_line(line.rstrip())


def print_list(
    as_json: bool, values: Iterable[JsonValue], columns: Sequence[str], rows: Iterable[Sequence["str | Text"]]
) -> None:
    """What there is: as JSON for programs, or in a table for people."""
    if as_json:
        print_json(list(values))
    else:
        print_table(columns, rows)


def write_private(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file that only its owner can read. Raises UsageFault if it exists, unless `force`d."""
    if force:
        replace_private(path, data)
    else:
        write_new_private(path, data, "use --force to overwrite it, or --out to write elsewhere")


def write_new_private(path: Path, data: bytes, hint: str) -> None:
    """Write a new file that only its owner can read. Raises UsageFault with a hint if it exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageFault(f"{path} exists; {hint}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def replace_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, in place of the one that is there: as a whole, or not at all.

    No link is followed, neither at `path` nor at the name of the unfinished file, which nobody can guess: whoever else
    may write into the folder cannot lead the data elsewhere. Raises UsageFault if `path` is a folder or a device.
    """
    from postroom.client.files import sync_folder

    if path.exists() and not path.is_file():
        raise UsageFault(f"{path} is not a file: name another")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        unfinished = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        error.filename = str(path)
        raise
