"""`postroom archive list|show`: the conversations, and one of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.entry_text import lines_of
from postroom.cli.archive.inputs import ArchiveOptions
from postroom.cli.exits import NotFoundFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json, print_table
from postroom.cli.progress import progress
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.protocols.dm3.stored import Entry


def list_conversations(options: ArchiveOptions, as_json: AsJson = False) -> None:
    """List the conversations, with the time of the newest message."""
    from postroom.protocols.dm3.stored import SET_ASIDE, UNSENT

    found: list[dict[str, JsonValue]] = []
    with (
        options.open() as archive,
        progress("reading", lambda: len(archive.conversations())) as met,
    ):
        for partner in archive.conversations():
            found.append(_described(partner, archive.whole(partner)))
            met(1)
    if as_json:
        print_json({"owner": archive.owner, "conversations": list(found)})
        return
    talks = [it for it in found if it["partner"] not in (SET_ASIDE, UNSENT)]
    print_table(
        ("partner", "messages", "newest"),
        [(str(it["partner"]), str(it["messages"]), str(it["newest"])) for it in talks],
    )
    for it in found:
        if it["partner"] == SET_ASIDE:
            print_line(f"{it['messages']} messages are set aside; `postroom archive show {SET_ASIDE}` shows them")
        elif it["partner"] == UNSENT and it["messages"]:
            print_line(
                f"{it['messages']} messages of chats are not delivered yet; `postroom chat pull` sends them again"
            )


def _described(partner: str, entries: "list[Entry]") -> dict[str, JsonValue]:
    from postroom.protocols.dm3.explain import shown_time
    from postroom.protocols.dm3.stored import Tombstone

    messages = [entry for entry in entries if not isinstance(entry, Tombstone)]
    newest = shown_time(messages[-1].timestamp_ms) if messages else "-"
    return {"partner": partner, "messages": len(messages), "newest": newest}


def show(
    partner: Annotated[str, typer.Argument(help="The partner, as in `list`.")],
    options: ArchiveOptions,
    as_json: AsJson = False,
) -> None:
    """Show a conversation, the oldest message first."""
    with options.open() as archive:
        entries = archive.open(partner)
    if not entries:
        raise NotFoundFault(f"there is no conversation with {partner}", hint="`postroom archive list` shows all")
    if as_json:
        print_json({"partner": partner, "messages": [entry.as_json() for entry in entries]})
        return
    for entry in entries:
        for line in lines_of(entry):
            print_line(line)
