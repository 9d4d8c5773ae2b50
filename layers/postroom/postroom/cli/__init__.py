"""`postroom …`: the command line."""

import json
import sys

from postroom.cli.terminal import print_error


def main() -> None:
    """The entry point. Ctrl-C ends it while it loads as it ends a command."""
    try:
        from postroom.cli.app import app

        app(prog_name="postroom")
    except KeyboardInterrupt:
        line = "postroom: interrupted"
        if "--json" in sys.argv:  # not by postroom.cli.exits, which may be what was still loading
            error = {"code": "interrupted", "exit": 130, "message": "interrupted", "hint": None, "reason": None}
            line = json.dumps({"error": error})
        print_error(line)
        sys.exit(130)
