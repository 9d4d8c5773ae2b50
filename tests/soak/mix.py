"""The mix of messages: kinds and shares, in an order chosen by a seed, from three loud and many quiet senders."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from postroom.core.reasons import TOO_LARGE
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


def deaths(messages: int, hands: int, rng: Random) -> list[tuple[int, int]]:
    """The kills: (after how many messages, which process); two for a thousand messages, and at least one of each."""
    more = max(10, messages // 500) - hands
    victims = [*range(hands), *(rng.randrange(hands) for _ in range(more))]
    return sorted((rng.randrange(1, messages), victim) for victim in victims)
