"""The outcome of sending a message to one receiver."""

from dataclasses import dataclass

from postroom.client.sending import SendOutcome


@dataclass(frozen=True, slots=True)
class SentTo:
    """What became of a message for one receiver. `reason` and `detail`: a machine code and a sentence, unless taken."""

    to: str
    outcome: SendOutcome
    reason: str = ""
    detail: str = ""
