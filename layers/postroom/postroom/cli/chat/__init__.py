"""`postroom chat`: chats with Status's payloads, over dm3 and NLWeb."""

import typer
from typer.core import TyperGroup

from postroom.cli.chat import contact, device, group
from postroom.cli.chat.clean import clean
from postroom.cli.chat.conversations import discarded, list_chats, show, who
from postroom.cli.chat.explain import explain
from postroom.cli.chat.fold import fold
from postroom.cli.chat.index import index
from postroom.cli.chat.profile import profile
from postroom.cli.chat.pull import pull
from postroom.cli.chat.save import save
from postroom.cli.chat.send import clear, delete, edit, join, part, pin, react, send
from postroom.cli.chat.terminal import terminal
from postroom.cli.chat.trust import trust
from postroom.cli.chat.watch import watch
from postroom.cli.chat.wrap import wrap
from postroom.cli.options import CommandTyper


class ChatCommands(TyperGroup):
    """The commands of chats. Without one, options are those of the terminal client."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the command line of the group."""
        has_command = bool(args) and (args[0] == "--help" or not args[0].startswith("-"))
        return super().parse_args(ctx, args if has_command else ["terminal", *args])


app = CommandTyper(
    help="Chat with names and domains, in channels and groups.\n\nWithout a command, open the terminal client.",
    cls=ChatCommands,
)
app.command()(terminal)
app.command()(pull)
app.command("list")(list_chats)
app.command()(show)
app.command()(watch)
app.command()(send)
app.command()(save)
app.command()(react)
app.command()(edit)
app.command()(delete)
app.command()(pin)
app.command()(clear)
app.command()(join)
app.command()(part)
app.command()(who)
app.command()(trust)
app.command()(discarded)
app.command()(index)
app.add_typer(group.app, name="group")
app.add_typer(contact.app, name="contact")
app.command()(profile)
app.add_typer(device.app, name="device")
app.command()(wrap)
app.command()(explain)
app.command()(fold)
app.command()(clean)

__all__ = ["app"]
