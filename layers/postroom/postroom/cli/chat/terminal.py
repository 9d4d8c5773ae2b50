"""`postroom chat terminal`: the terminal client, which `postroom chat` without a command opens, too."""

import importlib.util
import sys

from postroom.cli.archive.inputs import archive_errors
from postroom.cli.chat.options import ChatOptions
from postroom.cli.exits import UsageFault
from postroom.cli.owner import At


def terminal(at: At, options: ChatOptions) -> None:
    """Open the terminal client, as `postroom chat` alone does.

    What was read last in each chat is kept in your cache folder, by times and digests.
    """
    if importlib.util.find_spec("textual") is None:
        raise UsageFault("the terminal client needs textual", hint="pip install 'postroom[chat]'")
    # textual draws on standard error.
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageFault("the terminal client needs a terminal", hint="`postroom chat list` and `show` print the chats")
    from postroom.cli.chat.terminal_client.client import run_client

    with archive_errors(), options.open() as chats, options.mailbox(at, chats) as mailbox:
        chats.send_through(lambda: mailbox)
        run_client(chats, mailbox)
