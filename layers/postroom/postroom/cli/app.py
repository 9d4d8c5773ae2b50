"""All commands of `postroom`. Each is imported when it is used, and imports what it needs when it runs."""

import sys
from typing import Annotated, Final

import typer

from postroom.cli.exits import Commands
from postroom.cli.imported_when_used import CommandPlace, ImportedCommands
from postroom.cli.options import CommandTyper
from postroom.cli.terminal import print_line

COMMANDS: Final = {
    "keygen": CommandPlace("keygen", "keygen"),
    "sign": CommandPlace("sign", "sign"),
    "send": CommandPlace("send", "send", "SendCommand"),
    "verify": CommandPlace("verify", "verify"),
    "read": CommandPlace("read", "read"),
    "domain": CommandPlace("domain", "app"),
    "subject": CommandPlace("subject", "app"),
    "wallet": CommandPlace("wallet", "app"),
    "mailbox": CommandPlace("mailbox", "app"),
    "archive": CommandPlace("archive", "app"),
    "dm3": CommandPlace("dm3", "app"),
    "chat": CommandPlace("chat", "app"),
    "dcp": CommandPlace("dcp", "app"),
    "dns": CommandPlace("lookup", "app"),
    "dead-letters": CommandPlace("dead_letters", "app"),
    "jobs": CommandPlace("jobs", "app"),
    "admin": CommandPlace("admin", "app"),
    "doctor": CommandPlace("doctor", "doctor"),
    "logs": CommandPlace("logs", "logs"),
    "trace": CommandPlace("trace", "trace"),
    "audit": CommandPlace("audit", "audit"),
    "up": CommandPlace("up", "up"),
    "cost": CommandPlace("cost", "cost"),
    "demo": CommandPlace("demo", "demo"),
}


class RootCommands(ImportedCommands, Commands):
    """The root of all commands."""

    places = COMMANDS


app = CommandTyper(
    name="postroom",
    cls=RootCommands,
    help="A post office for domains: make keys, sign, send, verify and read messages; run one.",
    epilog="Exit codes: 0 done, 1 refused or bad, 2 wrong usage, 3 could not find out or do it now, 4 problems found, "
    "5 not found. Environment: POSTROOM_STACK, POSTROOM_LOCAL, POSTROOM_AT, POSTROOM_KEY, POSTROOM_HOME; "
    "docs/reference/cli.md has all of it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Boxes and colours are for people.
    rich_markup_mode="rich" if sys.stdout and sys.stdout.isatty() else None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_line(f"postroom {version('postroom')}")
        raise typer.Exit


@app.callback()
def postroom(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A post office for domains: make keys, sign, send, verify and read messages; run one."""
