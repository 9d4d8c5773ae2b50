"""What became of a claim in one run of the worker."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from postroom.core.errors import NotNowError
from postroom.core.reason import Reason
from postroom.net.aws import stack_of
from postroom.pipeline.claims import Claim
from postroom.storage.mail.register import Row

R = TypeVar("R")
_log: Final = logging.getLogger(__name__)


class ClaimOutcome(StrEnum):
    """What became of a claim in one run of the worker."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    FORWARDED = "forwarded"
    DISCARDED = "discarded"
    RETRIED = "retried"
    STUCK = "stuck"
    """We are at fault: its neighbours go on, SQS hands it out again, and in the end to the dead letters."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of a claim, and the reason where it was discarded or has to wait.

    `listed_in`: the mailbox whose owner sees the message now; empty: nobody does.
    """

    claim: Claim
    fate: ClaimOutcome
    reason: Reason | None = None
    detail: str = ""
    correlation: str = ""
    listed_in: str = ""


def listed_in(row: Row | None) -> str:
    """The mailbox whose owner sees this row; empty: nobody does."""
    return row.key.mailbox if row and row.live else ""


def attempt(claim: Claim, step: Callable[[], R], correlation: str = "") -> "R | Outcome":
    """What `step` answers; where it fails, that is the outcome of this claim alone."""
    try:
        return step()
    except Exception as error:
        return failed(claim, error, correlation)


def failed(claim: Claim, error: Exception, correlation: str = "") -> Outcome:
    """The outcome of a claim that a step failed for: in passing (a retry), or because we are at fault."""
    if isinstance(error, NotNowError):
        return Outcome(claim, ClaimOutcome.RETRIED, error.reason, error.detail, correlation)
    _log.error("claim %s is stuck", claim.id, exc_info=stack_of(error))
    return Outcome(claim, ClaimOutcome.STUCK, detail=type(error).__name__, correlation=correlation)
