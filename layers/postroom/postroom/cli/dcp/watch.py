"""`postroom dcp watch`: wait until a mailbox has messages."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from postroom.cli.dcp.target import DcpTargetOptions, TargetUrl, print_result
from postroom.cli.exits import UnavailableFault, UsageFault
from postroom.cli.inputs import AsJson, mailbox_name
from postroom.core.errors import SettingsError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.client.dcp import Connection
    from postroom.client.mailbox.dcp_waits import GuardianSocket
    from postroom.client.mailbox.over_dcp import OperationCall
    from postroom.crypto.ethereum_keys import EthereumKey

_TIMEOUT_SECONDS: Final = 30.0
_ATTEMPTS: Final = 3
"""Of a WebSocket by which nothing was listed yet."""
_PAUSE_SECONDS: Final = 2.0


def watch(
    url: TargetUrl,
    mailbox: Annotated[str, typer.Option("--mailbox", metavar="NAME", help="The mailbox.", parser=mailbox_name)],
    target: DcpTargetOptions,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Wait at most for so many seconds.", show_default="for ever")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Wait until a mailbox has messages, and list them.

    It waits over a WebSocket, and prints what the operation `messages` answers. The key is one of the mailbox. Exit
    code 0: the list, which is empty if none came in time; 1: refused; 3: not possible now.
    """
    key = target.load_key()
    socket = _find_socket(url, target)
    ends_at = math.inf if seconds is None else time.monotonic() + seconds
    opens = partial(target.open, socket.url, key, expect=socket.guardian, attempts=1, text_ping=socket.text_ping)
    page = _wait_for_page(opens, socket.most_wait, key, mailbox, ends_at)
    print_result(page, as_json=as_json)


def _wait_for_page(
    opens: "Callable[[], AbstractContextManager[Connection]]",
    most_wait: float,
    key: "EthereumKey",
    mailbox: str,
    ends_at: float,
) -> JsonValue:
    """The list of messages, when there are any, or a next page, or it is that time.

    A WebSocket that is lost is replaced by another.

    `most_wait`: how long one wait may take, in seconds.
    """
    from postroom.client.dcp import OutcomeUnknownError, RequestNotSentError
    from postroom.client.mailbox.dcp_waits import MailWaits
    from postroom.client.mailbox.over_dcp import OperationCall, ends_wait

    call, failed = OperationCall("messages", {"mailbox": mailbox}), 0
    while True:
        waits = MailWaits(key)
        with opens() as connection:
            try:
                while True:
                    left = max(0.0, min(most_wait, ends_at - time.monotonic()))
                    page = connection.run(partial(waits.page, call=call, seconds=left, list_now=_only_here))
                    if ends_wait(page) or time.monotonic() >= ends_at:
                        return page
            except (OutcomeUnknownError, RequestNotSentError):
                # A WebSocket that worked may be lost at any time, and lasts two hours at most.
                failed = 0 if waits.is_known else failed + 1
                if failed >= _ATTEMPTS:
                    raise
        time.sleep(_PAUSE_SECONDS)


async def _only_here(_: "OperationCall") -> JsonValue:
    raise UnavailableFault(
        "the list is too large for a WebSocket", hint="`postroom dcp send URL messages` reads it over HTTPS"
    )


def _find_socket(url: str, target: DcpTargetOptions) -> "GuardianSocket":
    """Where the guardian takes messages over WebSockets. Raises UsageFault, UnavailableFault."""
    import httpx

    from postroom.client.dcp import IdentityFile
    from postroom.client.mailbox.dcp_waits import GuardianSocket, socket_of
    from postroom.client.mailbox.exchange import MailboxRequest, NoAnswer
    from postroom.client.mailbox.http import choose_tls, read_address
    from postroom.client.mailbox.sync import fetch_answer

    parts = urlsplit(url)
    if parts.scheme == "wss":
        return GuardianSocket(url)
    stack, way = target.way()
    try:
        address = read_address(f"{parts.scheme}://{parts.netloc}", way.connect)
    except SettingsError as error:
        raise UsageFault(str(error)) from None
    with httpx.Client(verify=choose_tls(way.ca_file), trust_env=way.connect is None) as client:
        described = fetch_answer(client, address, MailboxRequest("GET", parts.path or "/"), _TIMEOUT_SECONDS)
    if isinstance(described, NoAnswer):
        raise UnavailableFault(described.detail)
    socket = socket_of(described)
    if socket is None:
        raise UsageFault(f"{url} names no WebSockets: it is no guardian of postroom, or one of an earlier release")
    # The target at this URL must have the address that it had before, as for the other commands.
    known = None if stack else IdentityFile().address_at(url)
    return replace(socket, guardian=known) if known else socket
