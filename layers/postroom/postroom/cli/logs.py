"""`postroom logs`: what happened to messages, event by event."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.inputs import AsJson, mailbox_name, message_name
from postroom.cli.message_events.event import EventFilter, MessageEvent
from postroom.cli.output import note, print_json_line
from postroom.cli.since import read_since
from postroom.cli.terminal import print_line
from postroom.core.errors import NotNowError

if TYPE_CHECKING:
    from postroom.cli.message_events.event_log import EventLog

LOOK_SECONDS: Final = 2.0
"""Between two looks of --follow: CloudWatch allows five requests a second, and a look takes one of each function."""


def sender_name(text: str) -> str:
    """A host name or the UUID of a wallet, in lower case."""
    from postroom.core.errors import TheirError
    from postroom.protocols.nlweb.names import read_sender

    try:
        return read_sender(text)
    except TheirError:
        raise typer.BadParameter(f"{text!r} is neither a host name nor the UUID of a wallet") from None


def reason_code(text: str) -> str:
    """The code of a reason."""
    from postroom.reasons import reason_of

    try:
        return str(reason_of(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is none of the codes in docs/reference/reasons.md") from None


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    since: Annotated[
        int, typer.Option(metavar="WHEN", help="10m, 2h or 1d ago, or a time in ISO 8601.", parser=read_since)
    ] = "1h",  # type: ignore[assignment]  # parsed as one that is given
    mailbox: Annotated[
        str | None, typer.Option(metavar="NAME", help="Messages of this mailbox only.", parser=mailbox_name)
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="NLWeb messages of this sender only.", parser=sender_name),
    ] = None,
    correlation: Annotated[
        str | None,
        typer.Option(
            metavar="UUID", help="The message with this Correlation, or dm3 message hash, only.", parser=message_name
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="CODE", help="Events with this reason only.", parser=reason_code)
    ] = None,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Show what happened to messages, a line for each event.

    LogLevel of the deployment must be INFO or DEBUG. --json prints a JSON object on each line.
    """
    from postroom.cli.message_events.event_log import event_log_of

    opened = deployment.open()
    log = event_log_of(opened.outputs, opened.clients("logs"))
    wanted = EventFilter(mailbox or "", sender or "", (correlation or "").lower(), reason or "")
    found = False
    for event in _following(log, since, wanted) if follow else log.events(since, wanted):
        found = True
        print_event(event, as_json=as_json)
    if not found:
        note("no such event; --since 1d looks further back, and LogLevel must be INFO")


def _following(log: "EventLog", since_ms: int, wanted: EventFilter) -> Iterator[MessageEvent]:
    from postroom.cli.message_events.event_log import NewEvents

    new = NewEvents(log, since_ms, wanted)
    while True:
        try:
            yield from new.look(int(time.time() * 1000))
        except NotNowError as error:
            note(f"the logs could not be read now: {error}")
        time.sleep(LOOK_SECONDS)


def print_event(event: MessageEvent, *, as_json: bool = False) -> None:
    """Print an event, at once."""
    if as_json:
        print_json_line(event.as_json())
    else:
        print_line(event.as_line(), flush=True)
