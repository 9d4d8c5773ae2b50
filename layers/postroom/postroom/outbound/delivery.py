"""The result of an attempt of the courier to deliver Feedback or a message of the outbox."""

from enum import StrEnum


class Delivery(StrEnum):
    """The result of one attempt to deliver Feedback or a message of the outbox."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    NOBODY = "nobody to tell"
    SILENT = "nothing to tell"
    SUMMARY = "summary"
    WITHHELD = "withheld"
    WAITING = "waiting"
    GIVEN_UP = "given up"
    UNREACHABLE = "unreachable"
