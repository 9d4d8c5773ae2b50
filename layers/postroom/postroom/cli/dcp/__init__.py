"""`postroom dcp`: keys, requests and cheques of DCP."""

from postroom.cli.dcp.cheque import cheque
from postroom.cli.dcp.connect import connect
from postroom.cli.dcp.identity import identity
from postroom.cli.dcp.inspect import inspect
from postroom.cli.dcp.keygen import keygen
from postroom.cli.dcp.present import present
from postroom.cli.dcp.revoke import revoke
from postroom.cli.dcp.send import send
from postroom.cli.dcp.watch import watch
from postroom.cli.options import CommandTyper

app = CommandTyper(help="Make keys for DCP, send requests, write and present cheques.", no_args_is_help=True)
app.command()(keygen)
app.command()(connect)
app.command()(send)
app.command()(cheque)
app.command()(present)
app.command()(revoke)
app.command()(watch)
app.command()(inspect)
app.command()(identity)

__all__ = ["app"]
