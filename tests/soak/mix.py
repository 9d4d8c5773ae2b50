"""The mix of messages and of requests over DCP: kinds and shares, in an order chosen by a seed.

Messages are from three loud and many quiet senders.
"""

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from postroom.api.reasons import NOT_THE_OWNER
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.reasons import DCP_AUTHORIZATION_REVOKED
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID, TIMESTAMP_TOO_NEW, TIMESTAMP_TOO_OLD


class Kind(StrEnum):
    """The kind of a message, which determines the expected outcome."""

    VALID = "valid"
    REPLAYED = "replayed"
    """A valid message that is sent again, at the same time or later."""
    FORGED = "forged"
    DM3 = "dm3"
    STALE = "stale"
    """Its Timestamp is outside of the time window."""
    SYNCHRONOUS = "synchronous"
    TOO_LARGE = "over the size limit"
    LARGE = "too large for the queue"
    """Its claim is stored in the bucket."""


SHARES: Final = {
    Kind.VALID: 0.80,
    Kind.REPLAYED: 0.06,
    Kind.FORGED: 0.05,
    Kind.DM3: 0.03,
    Kind.STALE: 0.03,
    Kind.SYNCHRONOUS: 0.025,
    Kind.TOO_LARGE: 0.004,
    Kind.LARGE: 0.001,
}
"""There are few large messages, because they have half a megabyte, and the embedded AWS keeps everything in memory."""

ENDS: Final = {
    Kind.VALID: "filed once",
    Kind.REPLAYED: "accepted, and filed once",
    Kind.FORGED: f"discarded: {SIGNATURE_INVALID}",
    Kind.DM3: "filed once",
    Kind.STALE: f"refused: {TIMESTAMP_TOO_OLD} or {TIMESTAMP_TOO_NEW}",
    Kind.SYNCHRONOUS: "answered in the response",
    Kind.TOO_LARGE: f"refused: {TOO_LARGE}",
    Kind.LARGE: "filed once",
}


class DcpKind(StrEnum):
    """The kind of what is done over DCP. Each has mailboxes of its own, which are signed out once or not at all."""

    REQUEST = "request of an owner"
    BATCH = "requests of an owner in a batch"
    CHEQUE = "cheque"
    CONTESTED = "cheque, presented twice at once"
    CARRIED = "cheque, presented by another first"
    REVOKED = "cheque, revoked before"
    CHANGED = "cheque, changed"


DCP_SHARE: Final = 0.03
"""Of what is done over DCP, for each message; kinds have equal shares."""

DCP_ENDS: Final = {
    DcpKind.REQUEST: "done once",
    DcpKind.BATCH: "each is done once",
    DcpKind.CHEQUE: "done once",
    DcpKind.CONTESTED: f"done once, and refused once: {ErrorCode.EDUP} or {DCP_AUTHORIZATION_REVOKED}",
    DcpKind.CARRIED: f"refused: {NOT_THE_OWNER}, then done once",
    DcpKind.REVOKED: f"refused: {ErrorCode.EDUP}",
    DcpKind.CHANGED: f"refused: {NOT_THE_OWNER}",
}

LOUD: Final = 3
QUIET: Final = 60
LOUD_SHARE: Final = 0.9
"""The share of all loud senders together."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A message to be sent. `sender`: its number; the loud senders have the first ones."""

    kind: Kind
    sender: int


def plan(messages: int, rng: Random) -> list[Planned]:
    """All messages of a run, in order; at least one of each kind."""
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(messages * share)))]
    rng.shuffle(kinds)
    return [Planned(kind, _sender(rng)) for kind in kinds]


def _sender(rng: Random) -> int:
    return rng.randrange(LOUD) if rng.random() < LOUD_SHARE else LOUD + rng.randrange(QUIET)


def over_dcp(messages: int, rng: Random) -> list[tuple[int, DcpKind]]:
    """What is done over DCP: (after how many messages, what), in order; at least one of each kind."""
    each = max(1, round(messages * DCP_SHARE / len(DcpKind)))
    return sorted((rng.randrange(messages), kind) for kind in DcpKind for _ in range(each))


def deaths(messages: int, hands: int, rng: Random) -> list[tuple[int, int]]:
    """The kills: (after how many messages, which process); two for a thousand messages, and at least one of each."""
    more = max(10, messages // 500) - hands
    victims = [*range(hands), *(rng.randrange(hands) for _ in range(more))]
    return sorted((rng.randrange(1, messages), victim) for victim in victims)
