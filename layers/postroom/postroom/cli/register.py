"""`postroom mailbox register`: open the mailbox of a dm3 name over HTTPS, by its profile's key."""

from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.output import print_either
from postroom.cli.owner import OwnerOptions


def register(name: MailboxName, owner: OwnerOptions, as_json: AsJson = False) -> None:
    """Open your dm3 mailbox, if your profile names this service.

    An open mailbox is not changed.
    """
    with owner.open(name) as mailbox:
        mailbox.open()
    print_either(as_json, {"name": name, "open": True}, f"{name}: open")
