"""`postroom dcp send`: send one request."""

from pathlib import Path
from typing import Annotated

from postroom.cli.dcp.inputs import RequestArguments, load_dcp_key
from postroom.cli.dcp.target import DcpTargetOptions, HexPrefix, TargetUrl, print_result
from postroom.cli.inputs import AsJson
from postroom.cli.options import repeatable


def send(
    url: TargetUrl,
    request: RequestArguments,
    target: DcpTargetOptions,
    authorize: Annotated[
        list[Path] | None,
        repeatable(
            "The private key of the mailbox or of another resource", "--authorize", metavar="FILE", show_default="--key"
        ),
    ] = None,
    hex_prefix: HexPrefix = False,
    as_json: AsJson = False,
) -> None:
    """Send a request, and print its result as JSON.

    It is authorized by the key of the mailbox or of another resource: --key, unless --authorize names others. Exit
    code 0: it was performed; 1: refused; 3: not known, or not possible now.
    """
    data, key = request.read_data(), target.load_key()
    resources = [load_dcp_key(file) for file in authorize or ()] or [key]
    with target.open(url, key, hex_prefix=hex_prefix) as connection:
        print_result(connection.request(request.operation, data).send(*resources), as_json=as_json)
