"""`postroom chat list|show|who`: the chats, one of them, and the people in them."""

from typing import Annotated, Any

import typer

from postroom.cli.chat.options import ChatOptions
from postroom.cli.chat.send import To
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json, print_table
from postroom.cli.terminal import print_line


def list_chats(options: ChatOptions, as_json: AsJson = False) -> None:
    """List the chats, with their newest message."""
    from postroom.cli.chat.shown import chat_line
    from postroom.protocols.status.view_json import chat_as_json, people_as_json

    with options.open() as chats:
        view = chats.view()
        found = [(chat, view.messages(chat.ref, 1)) for chat in view.chats()]
        people = people_as_json(view, found, proven=chats.memory.name_proven)
    if as_json:
        print_json({"chats": [chat_as_json(chat, messages) for chat, messages in found], "people": people})
    else:
        for chat, messages in found:
            print_line(chat_line(chat_as_json(chat, messages), people))


def show(
    to: To,
    options: ChatOptions,
    last: Annotated[int | None, typer.Option(metavar="N", help="Only the newest N messages.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Show the messages of a chat, the oldest first."""
    from postroom.cli.chat.shown import chat_lines
    from postroom.protocols.status.view_json import chat_as_json, people_as_json

    with options.open() as chats:
        ref = chats.find(to).ref
        view = chats.view()
        chat, messages = view.chat(ref), view.messages(ref, last)
        people = people_as_json(view, [(chat, messages)], proven=chats.memory.name_proven)
    shown = chat_as_json(chat, messages)
    if as_json:
        print_json({**shown, "people": people})
        return
    for line in chat_lines(shown, people):
        print_line(line)


def who(options: ChatOptions, as_json: AsJson = False) -> None:
    """List the people of all chats: their names, pseudonyms and keys."""
    from postroom.protocols.status.view_json import people_as_json

    with options.open() as chats:
        view = chats.view()
        found = [(chat, view.messages(chat.ref)) for chat in view.chats()]
        people: Any = people_as_json(view, found, proven=chats.memory.name_proven)
        said = {key: chats.memory.names_of(key) for key in people}
    if as_json:
        print_json({key: {**person, "names": list(said[key])} for key, person in people.items()})
        return
    rows = [
        (person["name"] or "-", person["pseudonym"], person["ens_name"] or person["display_name"] or "-", key)
        for key, person in people.items()
    ]
    print_table(("name", "pseudonym", "says", "key"), rows)
