"""`postroom archive pull`: fetch waiting mail, store it, and acknowledge it."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.inputs import ArchiveOptions, archive_errors, open_archive
from postroom.cli.dm3.inputs import load_user_keys
from postroom.cli.dm3.names import NameOptions
from postroom.cli.exits import Exit
from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.options import repeatable
from postroom.cli.output import print_json
from postroom.cli.owner import At, load_owners_key
from postroom.cli.progress import progress
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.client.archive.pull import Pulled
    from postroom.core.ijson import JsonValue


def pull(
    name: MailboxName,
    at: At,
    options: ArchiveOptions,
    old_key: Annotated[
        list[Path] | None,
        repeatable("Former dm3 keys of the profile, for older messages", metavar="FILE"),
    ] = None,
    *,
    names: NameOptions,
    as_json: AsJson = False,
) -> None:
    """Fetch mail, store it, and then acknowledge it.

    Messages are verified and opened. It may be interrupted at any point. Exit code 3: some stay in the mailbox.
    """
    from postroom.client.archive.pull import pull as bring
    from postroom.client.archive.receiving import MailReceiver
    from postroom.protocols.dm3.keys import UserKeys

    keys = load_owners_key(options.key)
    with archive_errors(), options.place(service=(at, name)) as place:
        archive = open_archive(place.home, options.key, name)
        users = keys if isinstance(keys, UserKeys) else None
        older = [load_user_keys(file).encryption for file in old_key or ()]
        with (
            names.profiles(names.network(options.ca_file)) if users else nullcontext() as profiles,
            options.open_at(at, name) as mailbox,
            progress("pulling", lambda: mailbox.status().waiting) as met,
        ):
            pulled = bring(mailbox, archive, MailReceiver(name, users, profiles, older=older), met)
    if as_json:
        print_json(pulled_as_json(pulled))
    else:
        print_pulled(pulled)
    if pulled.leaves_mail:
        raise typer.Exit(Exit.UNAVAILABLE)


def pulled_as_json(pulled: "Pulled") -> "dict[str, JsonValue]":
    """What was pulled, for programs."""
    return {
        "kept": pulled.kept,
        "set_aside": dict(pulled.set_aside),
        "left": dict(pulled.left),
        "unopened": pulled.unopened,
        "damaged": dict(pulled.damaged),
    }


def print_pulled(pulled: "Pulled") -> None:
    """What was pulled, for people."""
    print_line(f"{pulled.kept} messages were stored")
    for reason, count in pulled.set_aside.items():
        print_line(f"  {count} of them set aside: {reason}")
    for reason, count in pulled.left.items():
        print_line(f"{count} stay in the mailbox until their sender can be verified: {reason}")
    if pulled.unopened:
        print_line(
            f"{pulled.unopened} messages stay in the mailbox: they are encrypted to another key than the profile's; "
            "add the file of the former keys with --old-key"
        )
    for partner, what in pulled.damaged.items():
        print_line(f"the messages of {partner} stay in the mailbox: {what}")
