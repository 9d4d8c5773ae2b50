"""The outcome of a claim in one run of the worker."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from postroom.core.errors import NotNowError
from postroom.core.reason import Reason
from postroom.net.aws_errors import stack_of
from postroom.pipeline.claims import Claim
from postroom.pipeline.silence import Silence
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import Row

R = TypeVar("R")
_log: Final = logging.getLogger(__name__)


class ClaimOutcome(StrEnum):
    """The outcome of a claim in one run of the worker."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    FORWARDED = "forwarded"
    DISCARDED = "discarded"
    RETRIED = "retried"
    STUCK = "stuck"
    """The fault is ours: the other claims continue, and SQS delivers this one again, and in the end to the dead
    letters."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a claim, with the reason if it was discarded or has to wait.

    `row`: the row that decides it, the claim's own or that of another claim; None: no row does. `listed_in`: the
    mailbox that now lists the message; empty: none. `silence`: the silent zone that it waits for.
    """

    claim: Claim
    fate: ClaimOutcome
    reason: Reason | None = None
    detail: str = ""
    correlation: str = ""
    row: RowKey | None = None
    listed_in: str = ""
    silence: Silence | None = None

    @property
    def is_decided(self) -> bool:
        """Whether the claim is done, and leaves the queue for good."""
        return self.fate not in (ClaimOutcome.RETRIED, ClaimOutcome.STUCK)


def listed_in(row: Row | None) -> str:
    """The mailbox that lists this row; empty: none."""
    return row.key.mailbox if row and row.live else ""


def attempt(claim: Claim, step: Callable[[], R], correlation: str = "") -> "R | Outcome":
    """The result of `step`; if it fails, the failure is the outcome of this claim only."""
    try:
        return step()
    except Exception as error:
        return failed(claim, error, correlation)


def failed(claim: Claim, error: Exception, correlation: str = "") -> Outcome:
    """The outcome of a claim for which a step failed: temporarily (a retry), or because the fault is ours."""
    if isinstance(error, NotNowError):
        return Outcome(claim, ClaimOutcome.RETRIED, error.reason, error.detail, correlation)
    _log.error("claim %s is stuck", claim.id, exc_info=stack_of(error))
    return Outcome(claim, ClaimOutcome.STUCK, detail=type(error).__name__, correlation=correlation)
