"""`postroom archive`: an owner's encrypted archive: pull, read, search, export, move, verify."""

from typing import Final

from postroom.cli.imported_when_used import CommandPlace, ImportedCommands
from postroom.cli.options import CommandTyper

COMMANDS: Final = {
    "pull": CommandPlace("archive.pull", "pull"),
    "list": CommandPlace("archive.conversations", "list_conversations"),
    "show": CommandPlace("archive.conversations", "show"),
    "search": CommandPlace("archive.search", "search"),
    "index": CommandPlace("archive.search", "index"),
    "export": CommandPlace("archive.transfer", "export_file"),
    "import": CommandPlace("archive.transfer", "import_file"),
    "move": CommandPlace("archive.transfer", "move"),
    "verify": CommandPlace("archive.verify", "verify"),
}


class ArchiveCommands(ImportedCommands):
    """The commands of archives."""

    places = COMMANDS


app = CommandTyper(
    help="Keep an encrypted archive of mail: pull, read, search, move.", cls=ArchiveCommands, no_args_is_help=True
)
