"""The value class of a reason: why a message or a request is refused, discarded, or has to wait."""

from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from functools import partial
from typing import Final


class Kind(StrEnum):
    """What a reason does to a message."""

    REFUSAL = "refusal"
    """Rejected in the HTTP response; nothing is stored; no Feedback follows."""
    DISCARD = "discard"
    """Decided by the worker, final; the sender's buffer gets one Feedback."""
    RETRY = "retry"
    """It could not be found out or done now; the message waits, or the client is asked to try again."""


class Audience(Flag):
    """Who sees a reason. Operators find every reason in logs and metrics."""

    NLWEB = auto()
    """Senders of NLWeb messages, in the HTTP response or in a Feedback."""
    DM3 = auto()
    """Callers of the dm3 delivery service, in the error object of JSON-RPC or, before that is read, in the HTTP
    response."""
    DCP = auto()
    """Peers of a DCP session, in the payload of a signed response or, where none can be signed, in the HTTP response.
    """
    OWNERS = auto()
    """Owners, and clients that claim to be one: in the mailbox API, in the outbox, or beside a message that it lists.
    """
    CLIENTS = auto()
    """Users of the client, about things that only the client can read: dm3 messages are encrypted to their receiver."""
    OPERATORS = auto()
    """Operators only."""


@dataclass(frozen=True, slots=True, eq=False)
class Reason:
    """A reason. `code` is the unique machine code in problem documents, Feedback, rows, logs and metrics.

    `status`: of an HTTP response. `sentence`: for people. `section`: where the rule is. `json_rpc`: the code of a
    JSON-RPC error (dm3 §2.4.3); None: the rules of dm3 give it none.
    """

    kind: Kind
    code: str
    status: int
    audience: Audience
    section: str
    sentence: str
    json_rpc: int | None = None

    def __str__(self) -> str:
        return self.code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and self.code == other.code

    def __hash__(self) -> int:
        return hash(self.code)


# For modules of reasons, in which each reason is a row.
NLWEB, DM3, DCP, OWNERS, CLIENTS, OPERATORS = Audience
refusal: Final = partial(Reason, Kind.REFUSAL)
discard: Final = partial(Reason, Kind.DISCARD)
retry: Final = partial(Reason, Kind.RETRY)
