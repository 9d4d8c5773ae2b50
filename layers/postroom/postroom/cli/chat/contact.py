"""`postroom chat contact`: the user's contacts, who are sent the user's name and picture."""

from typing import Annotated, Any

import typer

from postroom.cli.chat.options import ChatOptions, SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.inputs import AsJson
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_json, print_table

app = CommandTyper(help="Keep contacts, who get your name and picture.", no_args_is_help=True)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dm3 name.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Make somebody a contact, and send your name and picture.

    They go again when you change them (`chat profile`), and every 48 hours, with a message or a pull of yours.
    """
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.add_contact(name), as_json=as_json))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The contact's dm3 name, or chat key.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Remove a contact, who is not sent your name and picture any more."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.remove_contact(name), as_json=as_json))


@app.command("list")
def list_contacts(options: ChatOptions, as_json: AsJson = False) -> None:
    """List your contacts, and those who have made you theirs."""
    from postroom.client.chat.profiles_sent import authors_of_updates
    from postroom.protocols.status.contacts import is_added

    with options.open() as chats:
        contacts, authors = chats.contacts(), authors_of_updates(chats.memory.log)
        people: dict[str, Any] = {
            key: {
                "name": (contacts[key].ens_name if key in contacts else "") or chats.memory.name_of(key),
                "added": key in contacts and is_added(contacts[key]),
                "added_you": key in authors,
                "tags": list(contacts[key].system_tags) if key in contacts else [],
            }
            for key in sorted(contacts.keys() | authors)
        }
    if as_json:
        print_json(people)
        return
    rows = [
        (person["name"] or "-", *("yes" if person[each] else "no" for each in ("added", "added_you")), key)
        for key, person in people.items()
    ]
    print_table(("name", "your contact", "you are theirs", "key"), rows)
