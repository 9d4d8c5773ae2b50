"""`postroom send --via`: send a message through the outbox of a mailbox, whose post office signs it."""

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, TypeVar

import typer

from postroom.cli.exits import Exit, UnavailableFault, UsageFault
from postroom.cli.inputs import domain_name
from postroom.cli.options import OptionGroup
from postroom.cli.output import print_json
from postroom.cli.owner import Way, load_owners_key, open_mailbox
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.api.schemas import SentMessage
    from postroom.api.states import State
    from postroom.client import Mailbox

T = TypeVar("T")
DialectName: TypeAlias = Literal["nlweb", "pollyweb"]

_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class OutboxOptions(OptionGroup):
    """A message for a post office to sign and send."""

    via: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Let the post office of --as sign and send it; the next options describe the message."
        ),
    ] = None
    mailbox: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The domain that sends.", parser=domain_name)
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(envvar="POSTROOM_KEY", metavar="FILE", help="The private key (PEM) of its mailbox's owner."),
    ] = None
    to: Annotated[str | None, typer.Option(help="The receiving domain.", parser=domain_name)] = None
    subject: Annotated[str | None, typer.Option(help="The method, such as Hello@Host.")] = None
    correlation: Annotated[
        str | None,
        typer.Option(help="The Correlation (a UUID) of the message that it replies to.", show_default="a fresh one"),
    ] = None
    dialect: Annotated[DialectName, typer.Option(help="The dialect of the message.")] = "nlweb"
    token: Annotated[
        str | None,
        typer.Option(
            help="An id of your own: with the same token, a message is sent only once.", show_default="a fresh one"
        ),
    ] = None


def send_via(url: str, message: OutboxOptions, body: JsonValue, way: Way, *, wait: float, as_json: bool) -> Exit:
    """Send it, and print the result, or its state after `wait` seconds.

    Raises UsageFault, RefusalFault, UnavailableFault.
    """
    from msgspec import to_builtins

    to, subject = _needed("--to", message.to), _needed("--subject", message.subject)
    name, key = _needed("--as", message.mailbox), load_owners_key(_needed("--key", message.key))
    token = message.token or str(uuid.uuid4())
    try:
        with open_mailbox(url, name, key, way) as mailbox:
            sent = mailbox.send(
                to, subject, body, token=token, correlation=message.correlation or "",
                dialect=message.dialect,
            )  # fmt: skip
            became = _wait(mailbox, sent.correlation, wait)
    except UnavailableFault as error:
        raise UnavailableFault(
            str(error), hint=f"repeat it with --token {token}; it will be sent only once", reason=error.reason
        ) from None
    shown: dict[str, JsonValue] = {"token": token, **to_builtins(became or sent)}
    if as_json:
        print_json(shown)
    else:
        print_line(str(shown.pop("state")))
        for member, value in shown.items():
            print_line(f"  {member}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return _exit_of((became or sent).state, waited=wait > 0)


def _wait(mailbox: "Mailbox", correlation: str, seconds: float) -> "SentMessage | None":
    """The state of a message, when it is final or after so many seconds. Raises MailboxError."""
    from postroom.api.states import State

    if not seconds:
        return None
    until = time.monotonic() + seconds
    while True:
        time.sleep(_LOOK_SECONDS)
        found = mailbox.sent_one(correlation)
        if found.state is not State.QUEUED or time.monotonic() > until:
            return found


def _exit_of(state: "State", *, waited: bool) -> Exit:
    from postroom.api.states import State

    match state:
        case State.DELIVERED:
            return Exit.GOOD
        case State.REFUSED:
            return Exit.REFUSED
        case State.QUEUED if not waited:
            return Exit.GOOD
    return Exit.UNAVAILABLE


def _needed(option: str, value: T | None) -> T:
    if value is None:
        raise UsageFault(f"--via signs in as the sending mailbox: use {option}, too")
    return value
