"""The result of sending a chat message, as a command prints it, and its exit code."""

from typing import TYPE_CHECKING

from postroom.cli.exits import Exit
from postroom.cli.output import note, print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.client.chat import SentChatMessage, SentTo
    from postroom.core.ijson import JsonValue


def delivery_as_json(sent: "SentTo") -> "dict[str, JsonValue]":
    """The outcome for one receiver, for programs; a reason and a detail are null if there is none."""
    return {"to": sent.to, "fate": str(sent.outcome), **why_as_json(sent)}


def why_as_json(sent: "SentTo") -> "dict[str, JsonValue]":
    """Why a message was not taken."""
    return {"reason": sent.reason or None, "detail": sent.detail or None}


def print_delivery(sent: "SentTo") -> None:
    """Print the outcome for one receiver."""
    print_line(": ".join(part for part in (str(sent.outcome), sent.to, sent.reason, sent.detail) if part), flush=True)


def print_sent(sent: "SentChatMessage", *, as_json: bool) -> Exit:
    """Print the message's ID and what became of it for each receiver; the exit code of the command.

    Exit code 0: everybody has it; 1: somebody's delivery service refused it; 3: it is sent again later.
    """
    from postroom.client.sending import SendOutcome

    if as_json:
        print_json({
            "id": sent.id,
            "deliveries": [delivery_as_json(each) for each in sent.deliveries],
            "unreached": list(sent.unreached),
        })  # fmt: skip
    else:
        for each in sent.deliveries:
            print_delivery(each)
        print_line(f"message {sent.id}")
    for key in sent.unreached:
        note(f"not reached: no name of {key} to write to is known")
    outcomes = {each.outcome for each in sent.deliveries}
    if SendOutcome.REFUSED in outcomes:
        return Exit.REFUSED
    return Exit.UNAVAILABLE if SendOutcome.NOT_NOW in outcomes or sent.unreached else Exit.GOOD
