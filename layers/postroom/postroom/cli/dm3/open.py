"""`postroom dm3 open`: open a message, and show it with every check."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.dm3.inputs import KeyFile, load_user_keys
from postroom.cli.dm3.names import NameOptions
from postroom.cli.explanation import exit_of, print_explanation
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.network import ConnectionOptions
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.protocols.dm3.explain import Opened
    from postroom.protocols.dm3.message import Attachment, Dm3Message

_LONGEST_SHOWN = 100


def open_envelope(
    file: Annotated[
        str,
        typer.Argument(help="The envelope, as `postroom read --raw` writes it; - is standard input.", metavar="FILE|-"),
    ],
    key: KeyFile,
    names: NameOptions,
    connections: ConnectionOptions,
    as_json: AsJson = False,
) -> None:
    """Open a message, and check everything in it.

    Exit code 0: all checks passed; 1: some failed; 3: unknown.
    """
    from postroom.protocols.dm3.explain import explain

    with names.profiles(names.network_with(connections)) as profiles:
        opened = explain(read_input(file), load_user_keys(key), profiles)
    if as_json:
        print_json({
            **opened.as_json(),
            "message_hash": opened.message_hash or None,
            "message": opened.message.as_json() if opened.message else None,
            "postmark": opened.postmark.as_json() if opened.postmark else None,
        })  # fmt: skip
    else:
        _print(opened)
    raise typer.Exit(exit_of(opened))


def _print(opened: "Opened") -> None:
    if opened.message:
        _print_message(opened.message, opened.message_hash)
    print_explanation(opened)


def _print_message(message: "Dm3Message", digest: str) -> None:
    from postroom.protocols.dm3.explain import shown_time

    metadata = message.metadata
    lines = {
        "from": metadata.sender,
        "to": metadata.to,
        "type": metadata.type_name,
        "about": metadata.reference_message_hash,
        "sent": shown_time(metadata.timestamp_ms),
        "hash": digest,
    }
    for name, value in lines.items():
        if value is not None:
            print_line(f"{name:<11} {value}")
    for attachment in message.attachments or ():
        print_line(f"attachment  {_shown(attachment)}")
    print_line()
    for line in (message.message or "").split("\n"):
        print_line(f"  {line}")
    print_line()


def _shown(attachment: "Attachment") -> str:
    name = f"{json.dumps(attachment.name, ensure_ascii=False)} " if attachment.name is not None else ""
    data = attachment.data
    shown = data if len(data) <= _LONGEST_SHOWN else f"{data[:_LONGEST_SHOWN]}… ({len(data)} characters; see --json)"
    return name + shown
