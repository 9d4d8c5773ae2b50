"""`postroom mailbox open`: open the mailbox of a dm3 name over HTTPS, by its profile's key."""

from postroom.cli.descriptor import Local
from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.network import CaFile
from postroom.cli.output import print_either, safe
from postroom.cli.owner import NeededAt, NeededKey, open_owners_mailbox


def open_own(
    name: MailboxName,
    at: NeededAt,
    key: NeededKey,
    ca_file: CaFile = None,
    local: Local = None,
    as_json: AsJson = False,
) -> None:
    """Open your mailbox of dm3 letters, if your profile names this delivery service; if it is open, it stays so."""
    with open_owners_mailbox(at, name, key, local, ca_file) as mailbox:
        mailbox.open()
    print_either(as_json, {"name": name, "open": True}, f"{safe(name)}: open")
