"""`postroom archive`: an owner's encrypted archive: pull, read, search, export, move, verify."""

from postroom.cli.archive.conversations import list_conversations, show
from postroom.cli.archive.pull import pull
from postroom.cli.archive.search import index, search
from postroom.cli.archive.transfer import export_file, import_file, move
from postroom.cli.archive.verify import verify
from postroom.cli.options import CommandTyper

app = CommandTyper(help="Keep an encrypted archive of mail: pull, read, search, move.", no_args_is_help=True)
app.command()(pull)
app.command("list")(list_conversations)
app.command()(show)
app.command()(search)
app.command()(index)
app.command("export")(export_file)
app.command("import")(import_file)
app.command()(move)
app.command()(verify)

__all__ = ["app"]
