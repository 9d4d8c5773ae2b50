"""`postroom dcp present`: present a cheque at its guardian."""

from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.dcp.target import DcpTargetOptions, HexPrefix, TargetUrl, print_result
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input, shown_input
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from postroom.crypto.ethereum import Address
    from postroom.protocols.dcp.messages import Request


def present(
    url: TargetUrl,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The cheque; - is standard input.")],
    target: DcpTargetOptions,
    hex_prefix: HexPrefix = False,
    as_json: AsJson = False,
) -> None:
    """Present a cheque as its holder, and print the result as JSON.

    It counts once: a second time, the target refuses it as EDUP. Exit code 0: it was performed; 1: refused; 3: not
    known, or not possible now.
    """
    from postroom.protocols.dcp.cheques import request_of

    cheque, key = read_cheque_file(file), target.load_key()
    with target.open(url, key, hint=_hint(cheque, key.address), hex_prefix=hex_prefix) as connection:
        print_result(connection.present(request_of(cheque)), as_json=as_json)


def read_cheque_file(name: str) -> "Request":
    """The request in a cheque. Raises UsageFault, OSError."""
    from postroom.core.ijson import parse
    from postroom.protocols.dcp.cheques import read_cheque

    data = read_input(name)
    try:
        return read_cheque(parse(data, max_bytes=len(data), half_pairs=True))
    except TheirError as error:
        raise UsageFault(
            f"{shown_input(name)} is not a cheque: {error}", hint="`postroom dcp inspect` shows each check"
        ) from None


def _hint(cheque: "Request", own: "Address") -> str:
    """What to say if the cheque is refused."""
    holders = [f"0x{each.accessor}" for each in cheque.payload.allow]
    if f"0x{own}" in holders:
        return ""
    return f"the cheque is for {', '.join(holders) or 'nobody'}, and your key is that of 0x{own}"
