"""`postroom chat pull`: bring waiting messages into the archive, and send what waits to be sent."""

import typer

from postroom.cli.archive.inputs import archive_errors
from postroom.cli.archive.pull import print_pulled
from postroom.cli.chat.options import ChatOptions
from postroom.cli.chat.sent import delivery_as_json, print_delivery
from postroom.cli.exits import Exit
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.owner import At


def pull(at: At, options: ChatOptions, as_json: AsJson = False) -> None:
    """Bring waiting messages, and send what could not be sent before.

    Signed messages of channels that you relay are passed on. Exit code 3: something could not be done now.
    """
    from postroom.cli.archive.pull import pulled_as_json
    from postroom.client.sending import SendOutcome

    with archive_errors(), options.open() as chats, options.mailbox(at, chats) as mailbox:
        chats.send_through(lambda: mailbox)
        pulled = chats.pull(mailbox)
        deliveries = [*chats.deliver_due()]
    if as_json:
        print_json({
            **pulled_as_json(pulled),
            "deliveries": [delivery_as_json(each) for each in deliveries],
        })  # fmt: skip
    else:
        print_pulled(pulled)
        for each in deliveries:
            print_delivery(each)
    if pulled.leaves_mail or any(each.outcome is SendOutcome.NOT_NOW for each in deliveries):
        raise typer.Exit(Exit.UNAVAILABLE)
