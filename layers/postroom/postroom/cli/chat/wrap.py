"""`postroom chat wrap`: make a signed message of Status from JSON."""

import sys
from base64 import b64encode
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import load_author_key, payload_type
from postroom.cli.dm3.inputs import KeyFile
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input, shown_input
from postroom.cli.output import is_terminal, print_json
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from postroom.protocols.status.enums import PayloadType
    from postroom.protocols.status.messages import StatusMessage

MAX_JSON_BYTES = 4_000_000
"""Of a message with a sound of 1 MiB in base64."""


def wrap(
    named: Annotated[str, typer.Option("--type", metavar="NAME", help="The type, such as CHAT_MESSAGE.")],
    key: KeyFile,
    file: Annotated[str, typer.Argument(help="The message, as JSON; - is standard input.", metavar="[FILE|-]")] = "-",
    untyped: Annotated[
        bool, typer.Option("--untyped", help="Use the older wrapper, which does not say the type.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sign a message, and write its wrapper.

    Members are named as the fields; enums are names or numbers, bytes are base64. The wrapper is written as bytes, or
    with --json as {"wrapper": base64, "id", "author"}.
    """
    from postroom.protocols.status.codec import write_payload
    from postroom.protocols.status.ids import message_id
    from postroom.protocols.status.wrapper import write_wrapper

    if not as_json and is_terminal():
        raise UsageFault("a wrapper is bytes: write it to a file (> wrapper.bin), or use --json")
    type_ = payload_type(named)
    author = load_author_key(key)
    message = _read(type_, read_input(file), shown_input(file))
    try:
        payload = write_payload(message)
        wrapper = write_wrapper(payload, author.sign(payload), type_, typed=not untyped)
    except TheirError as error:
        raise UsageFault(f"{shown_input(file)}: {error.detail}", reason=str(error.reason)) from None
    except ValueError as error:
        raise UsageFault(str(error), hint="use --untyped") from None
    if as_json:
        print_json({
            "wrapper": b64encode(wrapper).decode(),
            "id": message_id(author.public, wrapper),
            "author": author.public,
        })  # fmt: skip
    else:
        sys.stdout.buffer.write(wrapper)


def _read(type_: "PayloadType", data: bytes, source: str) -> "StatusMessage":
    from postroom.core.ijson import parse
    from postroom.protocols.status.json_form import message_from_json

    try:
        return message_from_json(type_, parse(data, max_bytes=MAX_JSON_BYTES, all_integers=True))
    except TheirError as error:
        raise UsageFault(f"{source}: {error.detail or error.reason.sentence}", reason=str(error.reason)) from None
    except ValueError as error:
        raise UsageFault(f"{source}: {error}") from None
