"""The states that the mailbox API tells of: of messages that were sent, and of notification targets."""

from enum import StrEnum


class State(StrEnum):
    """Of a message."""

    QUEUED = "queued"
    DELIVERED = "delivered"
    REFUSED = "refused"
    GIVEN_UP = "given up"


class TargetState(StrEnum):
    """Of a target."""

    UNVERIFIED = "unverified"
    """Nobody who reads there has said yes: it is told nothing but a code."""
    ACTIVE = "active"
    PAUSED = "paused"
