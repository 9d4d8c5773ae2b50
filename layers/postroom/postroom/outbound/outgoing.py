"""An owner's message in the courier's queue: complete, so that it is stored nowhere else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.core.ijson import JsonValue
from postroom.protocols.nlweb.schema import DIALECTS
from postroom.protocols.nlweb.sign import Draft
from postroom.storage.keys import outgoing_group

OUTGOING: Final = "outgoing"
"""The member by which it is told from the notices in the same queue."""
_FORM: Final = 1
_TEXTS: Final = ("from", "to", "subject", "correlation")
_DIALECTS: Final = {dialect.authority: dialect for dialect in DIALECTS}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is to be sent: every try has the draft's Header and Body, and so, by the same key, the same Hash.

    `carrier`: the mark of this queue message, and of those that follow it for later tries.
    """

    draft: Draft
    carrier: str
    tries: int = 0

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return outgoing_group(self.draft.sender)

    def again(self) -> "Outgoing":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        draft = self.draft
        message: dict[str, JsonValue] = {
            "from": draft.sender,
            "to": draft.receiver,
            "subject": draft.subject,
            "correlation": draft.correlation,
            "at": draft.timestamp_ms,
            "dialect": draft.dialect.authority,
            **({"body": draft.body} if draft.has_body else {}),
        }
        return json.dumps({"form": _FORM, OUTGOING: message, "carrier": self.carrier, "tries": self.tries})


def read_outgoing(value: Mapping[str, Any]) -> Outgoing:
    """The same from the queue message's JSON. Raises ValueError, KeyError or TypeError: it is none of ours."""
    if value["form"] != _FORM:
        raise ValueError(f"an outgoing message of form {value['form']}; this release reads form {_FORM}")
    message = value[OUTGOING]
    if type(value["tries"]) is not int or type(message["at"]) is not int:
        raise TypeError("an outgoing message in which something else stands where a whole number should")
    if not all(isinstance(text, str) for text in (value["carrier"], *(message[name] for name in _TEXTS))):
        raise TypeError("an outgoing message in which something else stands where a text should")
    sender, receiver, subject, correlation = (message[name] for name in _TEXTS)
    draft = Draft(
        sender, receiver, subject, correlation, message["at"], message.get("body"), has_body="body" in message,
        dialect=_DIALECTS[message["dialect"]],
    )  # fmt: skip
    return Outgoing(draft, value["carrier"], value["tries"])
