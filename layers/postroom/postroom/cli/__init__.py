"""`postroom …`: the command line."""

import sys


def main() -> None:
    """The entry point. Ctrl-C ends it while it loads as it ends a command."""
    try:
        from postroom.cli.app import app

        app(prog_name="postroom")
    except KeyboardInterrupt:
        print("postroom: interrupted", file=sys.stderr)
        sys.exit(130)
