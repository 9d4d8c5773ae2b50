"""`postroom chat`: chats with Status's payloads, over dm3 and NLWeb."""

from typing import Final

import typer

from postroom.cli.imported_when_used import CommandPlace, ImportedCommands
from postroom.cli.options import CommandTyper

COMMANDS: Final = {
    "terminal": CommandPlace("chat.terminal", "terminal"),
    "pull": CommandPlace("chat.pull", "pull"),
    "list": CommandPlace("chat.conversations", "list_chats"),
    "show": CommandPlace("chat.conversations", "show"),
    "watch": CommandPlace("chat.watch", "watch"),
    "send": CommandPlace("chat.send", "send"),
    "save": CommandPlace("chat.save", "save"),
    "react": CommandPlace("chat.send", "react"),
    "edit": CommandPlace("chat.send", "edit"),
    "delete": CommandPlace("chat.send", "delete"),
    "pin": CommandPlace("chat.send", "pin"),
    "clear": CommandPlace("chat.send", "clear"),
    "join": CommandPlace("chat.send", "join"),
    "part": CommandPlace("chat.send", "part"),
    "who": CommandPlace("chat.conversations", "who"),
    "trust": CommandPlace("chat.trust", "trust"),
    "discarded": CommandPlace("chat.conversations", "discarded"),
    "index": CommandPlace("chat.index", "index"),
    "group": CommandPlace("chat.group", "app"),
    "contact": CommandPlace("chat.contact", "app"),
    "profile": CommandPlace("chat.profile", "profile"),
    "device": CommandPlace("chat.device", "app"),
    "wrap": CommandPlace("chat.wrap", "wrap"),
    "explain": CommandPlace("chat.explain", "explain"),
    "fold": CommandPlace("chat.fold", "fold"),
    "clean": CommandPlace("chat.clean", "clean"),
}


class ChatCommands(ImportedCommands):
    """The commands of chats. Without one, options are those of the terminal client."""

    places = COMMANDS

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the command line of the group."""
        has_command = bool(args) and (args[0] == "--help" or not args[0].startswith("-"))
        return super().parse_args(ctx, args if has_command else ["terminal", *args])


app = CommandTyper(
    help="Chat with names and domains, in channels and groups.\n\nWithout a command, open the terminal client.",
    cls=ChatCommands,
)
