"""An owner's message in the courier's queue. The queue has all of it; no other copy is stored."""

from dataclasses import dataclass
from typing import ClassVar, Final

from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members
from postroom.outbound.queue_form import CourierMessage
from postroom.protocols.nlweb.schema import DIALECTS
from postroom.protocols.nlweb.sign import Draft
from postroom.storage.layout import outgoing_group

_DIALECTS: Final = {dialect.authority: dialect for dialect in DIALECTS}


@dataclass(frozen=True, slots=True)
class Outgoing(CourierMessage):
    """A message to send. Every attempt has the draft's Header and Body, and so, with the same key, the same Hash.

    `carrier`: the mark of this queue message, and of the retries that follow it.
    """

    draft: Draft
    carrier: str

    kind: ClassVar = "outgoing"

    @classmethod
    def read(cls, members: Members) -> "Outgoing":
        """Read it from the members of a queue message. Raises ValueError."""
        message = members.inner("outgoing")
        authority = message.text("dialect")
        if authority not in _DIALECTS:
            raise ValueError(f"dialect must be one of {', '.join(_DIALECTS)}")
        has_body = "body" in message
        draft = Draft(
            message.text("from"), message.text("to"), message.text("subject"), message.text("correlation"),
            message.whole("at"), message.any("body") if has_body else None, has_body=has_body,
            dialect=_DIALECTS[authority],
        )  # fmt: skip
        return cls(draft, members.text("carrier"), tries=members.whole("tries"))

    @property
    def correlation(self) -> str:
        """Its Correlation in lower case, as in the outbox; the draft has it as the owner wrote it."""
        return self.draft.correlation.lower()

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return outgoing_group(self.draft.sender)

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
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
        return {"outgoing": message, "carrier": self.carrier}
