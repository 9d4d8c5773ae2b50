"""The target of a DCP session, as commands open one, and the errors that end them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from postroom.cli.dcp.inputs import DcpKey, dcp_address, load_dcp_key
from postroom.cli.exits import CommandFault, RefusalFault, UnavailableFault, UsageFault
from postroom.cli.local_stack import LocalOptions
from postroom.cli.network import CaFile
from postroom.cli.options import OptionGroup
from postroom.cli.output import print_json
from postroom.cli.owner import ATTEMPTS, Way, way_through
from postroom.cli.terminal import print_line
from postroom.core.errors import OurError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.client.dcp import Connection, DcpError, TextPing
    from postroom.crypto.ethereum import Address
    from postroom.crypto.ethereum_keys import EthereumKey

TargetUrl = Annotated[
    str,
    typer.Argument(
        metavar="URL", help="The target: https:// or wss://, a host and a path, which is /dcp at a post office."
    ),
]

HexPrefix = Annotated[
    bool,
    typer.Option(
        "--hex-prefix", help="Write it as JavaScript peers (dcp-client) need it: addresses with 0x, and always a ttl."
    ),
]
_TTL_SECONDS: Final = 60
"""Of requests to JavaScript peers, which refuse those without ttl."""


@dataclass(frozen=True, kw_only=True)
class DcpTargetOptions(OptionGroup):
    """Your key, and how the target is reached and known."""

    key: DcpKey
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="The target's address.", show_default="the one it had before", parser=dcp_address
        ),
    ] = None
    ca_file: CaFile = None
    local: LocalOptions

    def load_key(self) -> "EthereumKey":
        """Your key. Raises UsageFault, which does not show it, and OSError."""
        return load_dcp_key(self.key)

    def way(self) -> tuple[Path | None, Way]:
        """The local stack, if there is one, and how the target is reached. Raises UsageFault."""
        stack = self.local.stack(elsewhere=self.ca_file is not None)
        return stack, way_through(stack, self.ca_file)

    @contextmanager
    def open(
        self,
        url: str,
        key: "EthereumKey",
        *,
        hint: str = "",
        hex_prefix: bool = False,
        expect: "Address | None" = None,
        attempts: int = ATTEMPTS,
        text_ping: "TextPing | None" = None,
    ) -> "Iterator[Connection]":
        """A connection to the target at a URL, until the block ends; its errors end the command.

        `hint`: for a request that the target refuses; `hex_prefix`: as HexPrefix; `expect`: the target's address,
        unless --expect names it; `attempts`: of a message; `text_ping`: what keeps a WebSocket open. Raises
        RefusalFault, UnavailableFault, UsageFault.
        """
        from postroom.client.dcp import Connection, DcpError, IdentityMemory, SendOptions
        from postroom.client.dcp.connection import ANSWER_SECONDS
        from postroom.client.mailbox.dcp_waits import WATCH_SECONDS
        from postroom.client.mailbox.session import Retries

        stack, way = self.way()
        try:
            with Connection(
                url,
                key,
                expect=cast("Address | None", self.expect) or expect,
                # A local stack has another identity each time that it is made.
                identities=IdentityMemory() if stack else None,
                ca_file=way.ca_file,
                connect=way.connect,
                retries=Retries(attempts),
                text_ping=text_ping,
                answer_timeout=WATCH_SECONDS if text_ping else ANSWER_SECONDS,
                options=SendOptions(ttl=_TTL_SECONDS, hex_prefix=True) if hex_prefix else SendOptions(),
            ) as connection:
                yield connection
        except DcpError as error:
            raise _fault(error, hint) from None
        except OurError as error:
            raise UsageFault(str(error)) from None


def print_result(result: JsonValue, *, as_json: bool) -> None:
    """Print what a request was answered, as JSON; for people, a word if there is no result."""
    if result is None and not as_json:
        print_line("done")
    else:
        print_json(result)


def _fault(error: "DcpError", hint: str) -> CommandFault:
    """How an error of a connection ends a command."""
    from postroom.client.dcp import MessageRefusedError, NotConnectedError, OutcomeUnknownError, RequestFailedError
    from postroom.protocols.dcp.error_payload import ErrorCode

    match error:
        case RequestFailedError(code=code):
            failed = UnavailableFault if _passes(code or "") else RefusalFault
            return failed(str(error), hint=hint, reason=code or "")
        case MessageRefusedError(reason=reason):
            return RefusalFault(str(error), reason=reason)
        case NotConnectedError(code=ErrorCode.EADDRCHANGE, detail=detail):
            hint = "if that is right, name the new one by --expect, or delete ~/.dcp/identity-cache.json"
            return RefusalFault(f"{ErrorCode.EADDRCHANGE}: {detail}", hint=hint, reason=ErrorCode.EADDRCHANGE)
        case NotConnectedError(code=str(code)):
            return RefusalFault(str(error), reason=code)
        case OutcomeUnknownError():
            return UnavailableFault(str(error), hint="what was requested may have been done, or not")
        case _:
            return UnavailableFault(str(error))


def _passes(code: str) -> bool:
    """Whether an error may be over later, by its code."""
    from postroom.core.reason import Kind
    from postroom.reasons import reason_of

    try:
        return reason_of(code).kind is Kind.RETRY
    except ValueError:
        return False
