"""`postroom dcp cheque`: authorize somebody else to request something, once."""

import json
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from postroom.cli.dcp.inputs import RequestArguments, dcp_address
from postroom.cli.dcp.target import DcpTargetOptions, HexPrefix
from postroom.cli.durations import read_duration
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_either, print_json_line, write_new_private

if TYPE_CHECKING:
    from postroom.crypto.ethereum import Address
    from postroom.crypto.ethereum_keys import EthereumKey

_URL = "://"


def address_or_url(text: str) -> str:
    """An address, or a URL as it is."""
    return text if _URL in text else dcp_address(text)


def cheque(
    request: RequestArguments,
    to: Annotated[str, typer.Option(metavar="ADDRESS", help="Its holder, who may present it.", parser=dcp_address)],
    guardian: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS|URL",
            help="The target where it may be presented: its address, or the URL to ask for it.",
            parser=address_or_url,
        ),
    ],
    ttl: Annotated[
        int,
        typer.Option(
            metavar="DURATION", help="How long it counts: 15m, 2h, 7d; the target may allow less.", parser=read_duration
        ),
    ],
    target: DcpTargetOptions,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A new file for the cheque.", show_default="standard output")
    ] = None,
    hex_prefix: HexPrefix = False,
    as_json: AsJson = False,
) -> None:
    """Write a cheque: one operation, once, for its holder.

    The key is that of the mailbox or of another resource. Anybody may carry the cheque; only its holder can present it.
    """
    from postroom.core.timestamps import write_timestamp
    from postroom.protocols.dcp.cheques import write_cheque
    from postroom.protocols.dcp.messages import Allowance
    from postroom.protocols.dcp.payload import new_payload, with_validity

    data, signer = request.read_data(), target.load_key()
    there, now = _find_guardian(guardian, target, signer, hex_prefix=hex_prefix), int(time.time())
    allowance = Allowance(signer.address, there, cast("Address", to))
    payload = new_payload(request.operation, data, allow=[allowance], hex_prefix=hex_prefix)
    payload = with_validity(payload, time=now, ttl=ttl, stamp=secrets.token_urlsafe(16))
    written = write_cheque(payload, signer, hex_prefix=hex_prefix)
    if out is None:
        print_json_line(written)
        return
    write_new_private(out, json.dumps(written).encode() + b"\n", "name another with --out")
    until = write_timestamp((now + ttl) * 1000)
    line = f"{out}: 0x{to} may request {request.operation} of 0x{signer.address} at 0x{there}, once, until {until}"
    print_either(as_json, {"file": str(out), "until": until}, line)


def _find_guardian(guardian: str, target: DcpTargetOptions, key: "EthereumKey", *, hex_prefix: bool) -> "Address":
    """The address of a guardian, which it proves in a session if its URL is given."""
    if _URL not in guardian:
        return cast("Address", guardian)
    with target.open(guardian, key, hex_prefix=hex_prefix) as connection:
        return connection.connect()
