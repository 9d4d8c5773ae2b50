"""`postroom dm3`: keys and profiles, mailboxes of the delivery service, messages."""

from typing import Final

from postroom.cli.imported_when_used import CommandPlace, ImportedCommands
from postroom.cli.options import CommandTyper

COMMANDS: Final = {
    "keygen": CommandPlace("dm3.keygen", "keygen"),
    "wallet-message": CommandPlace("dm3.wallet", "wallet_message"),
    "lookup": CommandPlace("dm3.lookup", "lookup"),
    "publish": CommandPlace("dm3.publish", "publish"),
    "send": CommandPlace("dm3.send", "send"),
    "resend": CommandPlace("dm3.resend", "resend"),
    "open": CommandPlace("dm3.open", "open_envelope"),
    "mailbox": CommandPlace("dm3.mailbox", "app"),
    "registry": CommandPlace("dm3.registry", "app"),
    "chain": CommandPlace("dm3.chain", "app"),
}


class Dm3Commands(ImportedCommands):
    """The commands of dm3."""

    places = COMMANDS


app = CommandTyper(
    help="Make dm3 keys, send messages, manage mailboxes and names.", cls=Dm3Commands, no_args_is_help=True
)
