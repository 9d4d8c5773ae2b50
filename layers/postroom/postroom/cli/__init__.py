"""`postroom …`: the command line."""

import json
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final

from postroom.cli.terminal import print_error

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_SECONDS: Final = 0.05


def main() -> None:
    """The entry point. Ctrl-C ends it at any moment as it ends a command."""
    sys.unraisablehook = _interrupt_again
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


def _interrupt_again(unraisable: "UnraisableHookArgs") -> None:
    """Interrupt the main thread again: Python drops what is raised in a callback, of which an import has many."""
    main_thread = threading.main_thread().ident
    if main_thread and isinstance(unraisable.exc_value, KeyboardInterrupt):
        # Now, it would be raised in the same callback.
        again = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main_thread, signal.SIGINT))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt ends the process, and no command has said so.

    Outside of commands, Typer makes an exit of it. Python 3.11 makes another error of one that comes while a class is
    made.
    """
    if isinstance(error, SystemExit):
        error = error.__context__
    return isinstance(error, KeyboardInterrupt) or (error is not None and _is_interrupt(error.__cause__))
