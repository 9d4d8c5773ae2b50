"""`postroom chat group`: groups, and who is in them."""

from typing import Annotated

import typer

from postroom.cli.chat.options import SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.inputs import AsJson
from postroom.cli.options import CommandTyper

app = CommandTyper(help="Create groups, and change who is in them.", no_args_is_help=True)

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name or ID.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="dm3 names, or nlweb:DOMAIN.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    members: Names,
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Create a group with these members, of which you are the admin."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.create_group(name, members), as_json=as_json))


@app.command()
def add(group: GroupArgument, members: Names, options: SendingOptions, as_json: AsJson = False) -> None:
    """Add members to a group, as its admin."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.add_members(group, members), as_json=as_json))


@app.command()
def remove(
    group: GroupArgument,
    member: Annotated[str, typer.Argument(metavar="NAME", help="A dm3 name, or nlweb:DOMAIN.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Remove a member from a group, as its admin."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.remove_member(group, member), as_json=as_json))


@app.command()
def promote(group: GroupArgument, members: Names, options: SendingOptions, as_json: AsJson = False) -> None:
    """Make members of a group admins, as its admin."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.make_admins(group, members), as_json=as_json))


@app.command()
def rename(
    group: GroupArgument,
    name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Give a group another name, as its admin."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.rename_group(group, name), as_json=as_json))


@app.command()
def leave(group: GroupArgument, options: SendingOptions, as_json: AsJson = False) -> None:
    """Leave a group."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.leave_group(group), as_json=as_json))
