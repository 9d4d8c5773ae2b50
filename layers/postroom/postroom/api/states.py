"""The states in the mailbox API: of messages that were sent, and of notification targets."""

from enum import StrEnum


class State(StrEnum):
    """The state of a message."""

    QUEUED = "queued"
    DELIVERED = "delivered"
    REFUSED = "refused"
    GIVEN_UP = "given up"


class TargetState(StrEnum):
    """The state of a notification target."""

    UNVERIFIED = "unverified"
    """No code was returned yet: the target is sent nothing but codes."""
    ACTIVE = "active"
    PAUSED = "paused"
