"""The representation of a message in programs and notebooks, without keys, tokens and the whole body."""

import warnings
from collections.abc import Iterable
from datetime import datetime
from html import escape
from typing import Any, Final

from msgspec import UNSET

from postroom.api import schemas
from postroom.client.mailbox.errors import UnreadableMessageWarning
from postroom.core.ijson import JsonValue
from postroom.core.shown_text import safe, shown

_LONGEST_EXCERPT: Final = 200


class ShownMessage:
    """What is known of a message without another request."""

    def __init__(self, message: schemas.Message) -> None:
        self._message = message
        self._envelope = None if message.envelope is UNSET else message.envelope

    @property
    def id(self) -> str:
        """The id of the message, which never changes."""
        return self._message.id

    @property
    def partner(self) -> str:
        """The sender, or `feedback:` and the Correlation of the message that a Feedback is about."""
        return self._message.conversation

    @property
    def received_at(self) -> datetime:
        """When the message was received, in UTC."""
        return datetime.fromisoformat(self._message.received_at)

    @property
    def receipt(self) -> dict[str, Any]:
        """How the post office verified the message."""
        return self._message.receipt

    @property
    def unverified(self) -> str | None:
        """Why the sender is unverified (docs/reference/reasons.md); None: it is verified.

        Only dm3 messages can be unverified.
        """
        reason = self._message.receipt.get("unverified")
        return None if reason is None else str(reason)

    def __repr__(self) -> str:
        doubt = f", not verified: {self.unverified}" if self.unverified else ""
        at = f"{self.received_at:%Y-%m-%d %H:%M:%S} UTC"
        return safe(f"<{type(self).__name__} {self.id} from {self.partner}{doubt}, {at}>")

    def _repr_html_(self) -> str:
        rows = {
            "From": self.partner + (f" (not verified: {self.unverified})" if self.unverified else ""),
            "Received": f"{self.received_at:%Y-%m-%d %H:%M:%S} UTC",
            "Verified by": str(self.receipt.get("key_fingerprint") or "nobody"),
            "Id": self.id,
            "Envelope": _excerpt(self._envelope),
        }
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
        return f"<table>{cells}</table>"


def header_of(envelope: JsonValue, member: str) -> str:
    """A text in the Header of an NLWeb envelope; empty if the envelope has none."""
    header = envelope.get("Header") if isinstance(envelope, dict) else None
    text = header.get(member) if isinstance(header, dict) else None
    return text if isinstance(text, str) else ""


def body_of(envelope: JsonValue) -> JsonValue:
    """The Body of an NLWeb envelope; None if there is none."""
    return envelope.get("Body") if isinstance(envelope, dict) else None


def warn_of(unreadable: Iterable[str]) -> None:
    """Warn of messages that cannot be read. The messages beside them have been stored before.

    So a program may turn these warnings into errors, and continue afterwards.
    """
    for message_id in unreadable:
        text = f"Message {shown(message_id)} cannot be read by its post office; its operators were told."
        warnings.warn(text, UnreadableMessageWarning, stacklevel=3)


def _excerpt(envelope: str | None) -> str:
    if envelope is None:
        return "not fetched yet"
    if len(envelope) <= _LONGEST_EXCERPT:
        return envelope
    return f"{envelope[:_LONGEST_EXCERPT]}… ({len(envelope):,} characters)"
