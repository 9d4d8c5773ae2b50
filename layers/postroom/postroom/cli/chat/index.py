"""`postroom chat index`: the index of chats on this machine."""

from typing import Annotated

import typer

from postroom.cli.chat.options import ChatOptions, chat_index
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_either


def index(
    options: ChatOptions,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the index from this machine instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Update the index of chats, or remove it.

    It is in your cache folder, and not encrypted.
    """
    if options.no_index:
        raise UsageFault("--no-index is for the other commands")
    with options.open_archive() as archive:
        found = chat_index(archive)
        if drop:
            there = found.drop()
            print_either(as_json, {"dropped": there}, "the index is removed" if there else "there is no index")
            return
    with options.open() as chats:
        messages = len(chats.memory.log)
    print_either(
        as_json,
        {"index": str(found.path), "messages": messages},
        f"the index {found.path} is up to date, with {messages} messages; it is not encrypted",
    )
