"""`postroom dm3`: keys and profiles, mailboxes of the delivery service, messages."""

from postroom.cli.dm3 import chain, mailbox, registry
from postroom.cli.dm3.keygen import keygen
from postroom.cli.dm3.lookup import lookup
from postroom.cli.dm3.open import open_envelope
from postroom.cli.dm3.publish import publish
from postroom.cli.dm3.resend import resend
from postroom.cli.dm3.send import send
from postroom.cli.dm3.wallet import wallet_message
from postroom.cli.options import CommandTyper

app = CommandTyper(help="Make dm3 keys, send messages, manage mailboxes and names.", no_args_is_help=True)
app.command()(keygen)
app.command()(wallet_message)
app.command()(lookup)
app.command()(publish)
app.command()(send)
app.command()(resend)
app.command("open")(open_envelope)
app.add_typer(mailbox.app, name="mailbox")
app.add_typer(registry.app, name="registry")
app.add_typer(chain.app, name="chain")

__all__ = ["app"]
