"""What is sent: kinds and their shares, in an order that a seed decides; three loud senders, many quiet ones."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from postroom.core.reasons import TOO_LARGE
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID, TIMESTAMP_TOO_NEW, TIMESTAMP_TOO_OLD


class Kind(StrEnum):
    """What a message is, and so how it must end."""

    VALID = "valid"
    REPLAYED = "replayed"
    """One of the valid ones, sent once more, at the same time or later."""
    FORGED = "forged"
    DM3 = "dm3"
    STALE = "stale"
    """Its Timestamp lies outside the window."""
    SYNCHRONOUS = "synchronous"
    TOO_LARGE = "beyond the limit"
    LARGE = "too large for the queue"
    """Its claim goes to the bucket."""


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
"""Half a megabyte each: of the large there are few, because the embedded AWS keeps everything in memory."""

ENDS: Final = {
    Kind.VALID: "filed once",
    Kind.REPLAYED: "accepted, and filed once",
    Kind.FORGED: f"discarded: {SIGNATURE_INVALID}",
    Kind.DM3: "filed once",
    Kind.STALE: f"refused: {TIMESTAMP_TOO_OLD} or {TIMESTAMP_TOO_NEW}",
    Kind.SYNCHRONOUS: "answered at once",
    Kind.TOO_LARGE: f"refused: {TOO_LARGE}",
    Kind.LARGE: "filed once",
}

LOUD: Final = 3
QUIET: Final = 60
LOUD_SHARE: Final = 0.9
"""Of all messages, the loud ones together."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One message to be sent. `sender`: its number, the loud ones first."""

    kind: Kind
    sender: int


def plan(messages: int, rng: Random) -> list[Planned]:
    """All messages of a run in their order; at least one of each kind."""
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(messages * share)))]
    rng.shuffle(kinds)
    return [Planned(kind, _sender(rng)) for kind in kinds]


def _sender(rng: Random) -> int:
    return rng.randrange(LOUD) if rng.random() < LOUD_SHARE else LOUD + rng.randrange(QUIET)


def deaths(messages: int, hands: int, rng: Random) -> list[tuple[int, int]]:
    """When (after how many messages) which of the hands is killed: two in a thousand, and ten at least."""
    count = max(10, messages // 500)
    return sorted((rng.randrange(1, messages), rng.randrange(hands)) for _ in range(count))
