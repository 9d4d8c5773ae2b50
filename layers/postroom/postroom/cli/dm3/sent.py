"""The result of sending a dm3 message, as a command prints it, and its exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from postroom.cli.exits import Exit, NotFoundFault
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.client.dm3 import Attempt, Dm3Sent


@contextmanager
def sending_to(receiver: str) -> Iterator[None]:
    """Names the receiver in an error. Raises NotFoundFault if there is no profile at the name."""
    from postroom.protocols.dm3.reasons import PROFILE_UNKNOWN

    try:
        yield
    except TheirError as error:
        if error.reason != PROFILE_UNKNOWN:
            raise
        raise NotFoundFault(f"{receiver}: {error}", reason=str(error.reason)) from None


def print_sent(sent: "Dm3Sent", *, as_json: bool) -> None:
    """Print each delivery service that was asked, and the hash of an accepted message."""
    from postroom.client import SendOutcome

    if as_json:
        print_json({
            "fate": str(sent.fate),
            "message_hash": sent.message_hash or None,
            "attempts": [_describe(each) for each in sent.attempts],
        })  # fmt: skip
        return
    for each in sent.attempts:
        said = ", ".join(str(part) for part in (each.code, each.reason) if part)
        why = ": ".join(part for part in (said, each.detail) if part)
        print_line(f"{each.fate}: {each.service}{f' at {each.url}' if each.url else ''}{f': {why}' if why else ''}")
    if sent.fate is SendOutcome.TAKEN:
        print_line(f"message hash {sent.message_hash}")


def _describe(attempt: "Attempt") -> dict[str, JsonValue]:
    return {
        "service": attempt.service,
        "url": attempt.url or None,
        "fate": str(attempt.fate),
        "code": attempt.code,
        "reason": attempt.reason or None,
        "detail": attempt.detail or None,
    }


def exit_of(sent: "Dm3Sent") -> Exit:
    """The exit code of a command that sent a message."""
    from postroom.client import SendOutcome

    exits = {SendOutcome.TAKEN: Exit.GOOD, SendOutcome.REFUSED: Exit.REFUSED, SendOutcome.NOT_NOW: Exit.UNAVAILABLE}
    return exits[sent.fate]
