"""The inputs of DCP's commands: keys, addresses, requests, cheques."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import mailbox_name, read_input, read_passphrase
from postroom.cli.options import OptionGroup
from postroom.core.errors import OurError, TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.crypto.ethereum import Address
    from postroom.crypto.ethereum_keys import EthereumKey

_MAX_DATA_BYTES: Final = 16 * 1024 * 1024

DcpKey = Annotated[
    Path,
    typer.Option(
        "--key",
        envvar="POSTROOM_KEY",
        metavar="FILE",
        help="Your private key of secp256k1: a keystore, PEM, or what `postroom dm3 keygen` writes.",
    ),
]


def load_dcp_key(path: Path) -> "EthereumKey":
    """The key in a file. Raises UsageFault, which does not show it, and OSError."""
    from postroom.client.dcp import load_ethereum_key

    try:
        return load_ethereum_key(path, lambda: read_passphrase(path))
    except OurError as error:
        raise UsageFault(str(error)) from None


def dcp_address(text: str) -> "Address":
    """An address, with or without 0x."""
    from postroom.crypto.ethereum import read_address

    try:
        return read_address(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from None


def operation_name(text: str) -> str:
    """The name of an operation: any text."""
    if not text or not text.isprintable():
        raise typer.BadParameter(f"{text!r} is not the name of an operation")
    return text


@dataclass(frozen=True, kw_only=True)
class RequestArguments(OptionGroup):
    """What is requested."""

    operation: Annotated[
        str,
        typer.Argument(
            metavar="OPERATION",
            help="What is requested; of a mailbox, an operationId of its API, such as messages.",
            parser=operation_name,
        ),
    ]
    data: Annotated[str | None, typer.Argument(metavar="[DATA|-]", help="Its data, as JSON; - is standard input.")] = (
        None
    )
    mailbox: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The mailbox; a member of the data.", parser=mailbox_name),
    ] = None

    def read_data(self) -> JsonValue:
        """The data; None: there is none. Raises UsageFault."""
        data = None if self.data is None else _read_json(self.data)
        if self.mailbox is None:
            return data
        members = {} if data is None else data
        if not isinstance(members, dict) or "mailbox" in members:
            raise UsageFault("--mailbox is a member of the data, which must be an object without it")
        return {"mailbox": self.mailbox, **members}


def _read_json(text: str) -> JsonValue:
    from postroom.core.ijson import parse

    data = read_input("-") if text == "-" else os.fsencode(text)
    try:
        return parse(data, max_bytes=_MAX_DATA_BYTES)
    except TheirError as error:
        raise UsageFault(f"the data is not JSON: {error}", hint="a text needs quotation marks") from None
