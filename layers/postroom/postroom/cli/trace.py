"""`postroom trace`: the life of one message, from the inbox to its owner."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UnavailableFault, UsageFault
from postroom.cli.inputs import AsJson, mailbox_name, message_name
from postroom.cli.output import print_json
from postroom.cli.since import read_since
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.cli.message_events.event import MessageEvent
    from postroom.cli.message_events.life import MessageLife, MessageTrace, SentLife

_RESULTS = {"passed": "ok", "failed": "FAILED", "waits": "waits", "not reached": "-"}


def trace(
    message: Annotated[
        str,
        typer.Argument(
            metavar="CORRELATION|ID|FILE",
            help="The Correlation, the dm3 message hash, the id, or a file with the signed envelope.",
        ),
    ],
    mailbox: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The mailbox of the id, if the logs no longer say.", parser=mailbox_name),
    ] = None,
    since: Annotated[
        int,
        typer.Option(metavar="WHEN", help="How far back to read logs: 2h, 7d, or a time.", parser=read_since),
    ] = "7d",  # type: ignore[assignment]  # parsed as one that is given
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Show the life of one message, check by check.

    It has the message's row, Feedback, notifications and acknowledgement, too. --json prints the format that
    docs/operate/logs.md describes.
    """
    from postroom.cli.message_events.tracing import MessageTracer

    query = _correlation_in(Path(message)) if Path(message).is_file() else _id_or_correlation(message)
    traced = MessageTracer(deployment.open(), since).trace(query, mailbox or "")
    if not traced.messages and not traced.sent:
        if traced.unread:
            raise UnavailableFault(f"what is known of {query} could not be read: {'; '.join(traced.unread)}")
        raise NotFoundFault(
            f"nothing is known of {query}", hint="--since 30d looks further back; LogLevel must be INFO"
        )
    if as_json:
        print_json(traced.as_json())
    else:
        _print(traced)


def _id_or_correlation(text: str) -> str:
    from postroom.storage.mail.ids import claim_of

    if claim_of(text):
        return text
    try:
        return message_name(text)
    except typer.BadParameter:
        raise UsageFault(
            f"{text!r} is neither a Correlation, the hash of a dm3 message, the id of a message, nor a file"
        ) from None


def _correlation_in(file: Path) -> str:
    """The Correlation of the envelope in a file. Raises TheirError."""
    from postroom.cli.verdicts import identity_of

    return identity_of(file.read_bytes()).correlation


def _print(traced: "MessageTrace") -> None:
    for life in traced.messages:
        _print_life(life)
    for sent in traced.sent:
        _print_sent(sent)
    for what in traced.unread:
        print_line(f"could not be read: {what}")


def _print_life(life: "MessageLife") -> None:
    from postroom.cli.messages import print_proof

    print_line(
        f"message {life.id or life.claim or life.correlation} for {life.mailbox or 'an unknown mailbox'}: {life.state}"
    )
    _print_events("events", life.events)
    print_line("  checks")
    for check in life.checks:
        why = ": ".join(part for part in (check.reason, check.detail) if part)
        print_line(f"    {_RESULTS[check.result]:<7} {check.name}{f': {why}' if why else ''}")
    if life.receipt is not None:
        print_line(f"  verified by {life.receipt.get('key_fingerprint')}")
        print_proof(life.receipt)
    if life.row is not None:
        place = life.row.place
        where = f"{place.object}, byte {place.offset}, {place.length} bytes" if place else f"gone: {life.row.why}"
        print_line(f"  row {life.row.key.pk} {life.row.key.sk}: {where}")
    if life.feedback is not None:
        state = "finished" if life.feedback.sent else "not finished"
        print_line(f"  Feedback to {life.feedback.buffer or 'nobody'}: {state}")
    _print_events("notifications", life.notifications)


def _print_sent(sent: "SentLife") -> None:
    message, end = sent.message, sent.message.end
    why = ": ".join(part for part in (end.reason, end.detail) if part) if end else ""
    print_line(f"sent by {message.mailbox} to {message.receiver}: {message.state}{f': {why}' if why else ''}")
    _print_events("events", sent.events)
    if message.reported:
        print_line(f"  Feedback: {message.reported.code}: {message.reported.reason}")


def _print_events(title: str, events: "Sequence[MessageEvent]") -> None:
    if events:
        print_line(f"  {title}")
    for event in events:
        print_line(f"    {event.as_line()}")
