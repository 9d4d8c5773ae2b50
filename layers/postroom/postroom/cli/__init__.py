"""`postroom …`: the command line."""

import json
import sys

from postroom.cli.terminal import print_error


def main() -> None:
    """The entry point. Ctrl-C ends it at any moment as it ends a command."""
    try:
        from postroom.cli.app import app

        app(prog_name="postroom")
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        line = "postroom: interrupted"
        if "--json" in sys.argv:  # not by postroom.cli.exits, which may be what was still loading
            line = json.dumps({
                "error": {"code": "interrupted", "exit": 130, "message": "interrupted", "hint": None, "reason": None}
            })  # fmt: skip
        print_error(line)
        sys.exit(130)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt ends the process, and no command has said so.

    Outside of commands, Typer makes an exit of it. Python 3.11 makes another error of one that comes while a class is
    made.
    """
    if isinstance(error, SystemExit):
        error = error.__context__
    return isinstance(error, KeyboardInterrupt) or (error is not None and _is_interrupt(error.__cause__))
