"""The result of sending a chat message, as a command prints it, and its exit code."""

from typing import TYPE_CHECKING

from postroom.cli.exits import Exit
from postroom.cli.output import note, print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.client.chat import SentChatMessage


def print_sent(sent: "SentChatMessage", *, as_json: bool) -> Exit:
    """Print the message's ID and what became of it for each receiver; the exit code of the command.

    Exit code 0: everybody has it; 1: somebody's delivery service refused it; 3: it is sent again later.
    """
    from postroom.client.sending import SendOutcome

    if as_json:
        print_json({
            "id": sent.id,
            "deliveries": [
                {
                    "to": each.to, "fate": str(each.outcome), "reason": each.reason or None,
                    "detail": each.detail or None,
                }
                for each in sent.deliveries
            ],
            "unreached": list(sent.unreached),
        })  # fmt: skip
    else:
        for each in sent.deliveries:
            why = ": ".join(part for part in (each.reason, each.detail) if part)
            print_line(f"{each.outcome}: {each.to}{f': {why}' if why else ''}")
        print_line(f"message {sent.id}")
    for key in sent.unreached:
        note(f"not reached: no name of {key} to write to is known")
    outcomes = {each.outcome for each in sent.deliveries}
    if SendOutcome.REFUSED in outcomes:
        return Exit.REFUSED
    return Exit.UNAVAILABLE if SendOutcome.NOT_NOW in outcomes or sent.unreached else Exit.GOOD
