"""Feedback: the message to a sender's buffer about a discarded message (decisions "Feedback" and "Buffer")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.timestamps import write_timestamp
from postroom.protocols.nlweb.names import is_host_name, read_host_name, read_uuid
from postroom.protocols.nlweb.reasons import WRONG_SHAPE
from postroom.protocols.nlweb.subjects import FEEDBACK

DISCARDED: Final = "Discarded"


MAX_CODE: Final = 64
MAX_SENTENCE: Final = 300
"""The characters that are kept of others' sentences about our messages."""


@dataclass(frozen=True, slots=True)
class ReceivedFeedback:
    """A Feedback as received. `correlation` is None in a summary of several discards.

    `sender`: whose message it is about; None: it does not say, as in the form of the specification. `code`, `reason`:
    as returned by `line_of`; may be empty.
    """

    sender: str | None
    correlation: str | None
    code: str = ""
    reason: str = ""


def is_due(subject: str, sender: str) -> bool:
    """Whether a discard needs Feedback: never one of a Feedback; and a wallet has no manifest that names a buffer."""
    return subject != FEEDBACK and is_host_name(sender)


def body_of(sender: str, correlation: str, reason: Reason) -> dict[str, JsonValue]:
    """The Body about one discarded message."""
    return {
        "Sender": sender,
        "Correlation": correlation,
        "Status": DISCARDED,
        "Reason": reason.sentence,
        "Code": str(reason),
    }


def summary_of(sender: str, since_ms: int, until_ms: int, codes: Mapping[str, int]) -> dict[str, JsonValue]:
    """The Body about all discards above an hour's limit. `codes`: machine code → count."""
    return {
        "Sender": sender,
        "Status": DISCARDED,
        "Count": sum(codes.values()),
        "Since": write_timestamp(since_ms),
        "Until": write_timestamp(until_ms),
        "Codes": dict(sorted(codes.items())),
    }


def conversation_about(correlation: str | None) -> str:
    """The conversation in which Feedback is filed: about one message, or (None) of summaries."""
    return f"feedback:{correlation or 'summary'}"


def read_feedback(body: JsonValue) -> ReceivedFeedback:
    """The Sender and Correlation of a Feedback; a summary needs a Sender. Raises TheirError(WRONG_SHAPE)."""
    if not isinstance(body, dict):
        raise TheirError(WRONG_SHAPE, "the Body of a Feedback is not a JSON object")
    sender = read_host_name(body.get("Sender"))
    if sender is None and "Sender" in body:
        raise TheirError(WRONG_SHAPE, "Body.Sender of a Feedback is not a host name")
    if sender is not None and "Correlation" not in body and "Count" in body:
        return ReceivedFeedback(sender, None)
    correlation = read_uuid(body.get("Correlation"))
    if correlation is None:
        raise TheirError(WRONG_SHAPE, "Body.Correlation of a Feedback is not a UUID")
    return ReceivedFeedback(
        sender, correlation, line_of(body.get("Code"), MAX_CODE), line_of(body.get("Reason"), MAX_SENTENCE)
    )


def read_refusal(value: JsonValue) -> tuple[str, str]:
    """The code and sentence of a problem document (RFC 9457), if it has them."""
    if not isinstance(value, dict):
        return "", ""
    sentence = line_of(value.get("detail"), MAX_SENTENCE) or line_of(value.get("title"), MAX_SENTENCE)
    return line_of(value.get("reason"), MAX_CODE), sentence


def line_of(value: JsonValue, most: int) -> str:
    """A stranger's text in printable form, cut to the maximum length; otherwise empty."""
    return "".join(filter(str.isprintable, value))[:most] if isinstance(value, str) else ""
