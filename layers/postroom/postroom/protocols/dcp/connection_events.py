"""What happens on a connection, as its initiator and its target tell it."""

from dataclasses import dataclass
from typing import TypeAlias

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.receiving import Admitted


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """There is a session with this peer."""

    dcpsid: str
    peer: Address


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """The peer requests something, which must be responded to."""

    admitted: Admitted


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A request was answered with success. `result` None: there is no payload."""

    id: str
    result: JsonValue


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request was answered with an error."""

    id: str
    error: ErrorPayload


@dataclass(frozen=True, slots=True)
class RequestUnanswered:
    """A request will not be answered any more. `was_sent`: it may have taken effect, or not.

    `refusal`: of the message that it was sent in, or of a copy of it after the request was performed.
    """

    id: str
    was_sent: bool
    refusal: ErrorPayload | None = None


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session is over for good. `error` None: it was closed by one of its ends."""

    error: ErrorPayload | None = None


ConnectionEvent: TypeAlias = (
    SessionOpened | RequestReceived | RequestAnswered | RequestFailed | RequestUnanswered | SessionEnded
)
