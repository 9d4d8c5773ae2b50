"""All commands of `postroom`. Each imports what it needs when it runs, so --help is quick."""

import sys
from typing import Annotated

import typer

from postroom.cli import admin, archive, chat, dcp, dead_letters, dm3, domain, jobs, lookup, mailbox, subject, wallet
from postroom.cli.audit import audit
from postroom.cli.cost import cost
from postroom.cli.doctor import doctor
from postroom.cli.exits import Commands
from postroom.cli.keygen import keygen
from postroom.cli.logs import logs
from postroom.cli.options import CommandTyper
from postroom.cli.read import read
from postroom.cli.send import SendCommand, send
from postroom.cli.sign import sign
from postroom.cli.terminal import print_line
from postroom.cli.trace import trace
from postroom.cli.up import up
from postroom.cli.verify import verify

app = CommandTyper(
    name="postroom",
    cls=Commands,
    help="A post office for domains: make keys, sign, send, verify and read messages; run one.",
    epilog="Exit codes: 0 done, 1 refused or bad, 2 wrong usage, 3 could not find out or do it now, 4 problems found, "
    "5 not found. Environment: POSTROOM_STACK, POSTROOM_LOCAL, POSTROOM_AT, POSTROOM_KEY, POSTROOM_HOME; "
    "docs/reference/cli.md has all of it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Boxes and colours are for people.
    rich_markup_mode="rich" if sys.stdout and sys.stdout.isatty() else None,
)
app.command()(keygen)
app.command()(sign)
app.command(cls=SendCommand)(send)
app.command()(verify)
app.command()(read)
app.add_typer(domain.app, name="domain")
app.add_typer(subject.app, name="subject")
app.add_typer(wallet.app, name="wallet")
app.add_typer(mailbox.app, name="mailbox")
app.add_typer(archive.app, name="archive")
app.add_typer(dm3.app, name="dm3")
app.add_typer(chat.app, name="chat")
app.add_typer(dcp.app, name="dcp")
app.add_typer(lookup.app, name="dns")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(jobs.app, name="jobs")
app.add_typer(admin.app, name="admin")
app.command()(doctor)
app.command()(logs)
app.command()(trace)
app.command()(audit)
app.command()(up)
app.command()(cost)


@app.command()
def demo() -> None:
    """Run a demonstration of the main flows in a local stack."""
    from postroom.core.extras import require
    from postroom.local.checkout import template_path

    template = template_path()
    require("the story", "local", "peers")
    # Imported when it runs: the demo loads every package.
    from postroom.cli.demo import demo as play

    play(template)


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
