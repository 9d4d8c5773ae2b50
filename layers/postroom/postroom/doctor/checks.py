"""The findings of an examination, and their overall result."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason

LONGEST_QUOTED: Final = 200
"""Characters shown of what a stranger's host says."""


class CheckStatus(StrEnum):
    """How it stands with one thing, or with all of them."""

    GOOD = "good"
    WARNING = "warning"
    """It works; but not for long any more, or not for everybody."""
    BAD = "bad"
    NOT_CHECKED = "not checked"
    """It could not be found out just now (then there is a reason), or rests on something that is not good itself."""


_WORST_FIRST: Final = (CheckStatus.BAD, CheckStatus.NOT_CHECKED, CheckStatus.WARNING)


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that was looked at.

    `found` and `next` (what to do; empty where it is good) are sentences for people, with names from strangers in
    them. `reason`: what receivers or senders would say that they do not get along with the domain for.
    """

    name: str
    status: CheckStatus
    found: str
    next: str = ""
    reason: Reason | None = None

    @property
    def is_good(self) -> bool:
        """Whether what rests on it can be checked."""
        return self.status in (CheckStatus.GOOD, CheckStatus.WARNING)

    def as_json(self) -> dict[str, JsonValue]:
        """`{name, status, found, next, reason}`."""
        return {
            "name": self.name,
            "status": str(self.status),
            "found": self.found,
            "next": self.next or None,
            "reason": str(self.reason) if self.reason else None,
        }


def good(name: str, found: str) -> DoctorCheck:
    """It is as it must be."""
    return DoctorCheck(name, CheckStatus.GOOD, found)


def warning(name: str, found: str, todo: str) -> DoctorCheck:
    """It is, for now."""
    return DoctorCheck(name, CheckStatus.WARNING, found, todo)


def bad(name: str, reason: Reason | None, found: str, todo: str) -> DoctorCheck:
    """It is not as it must be."""
    return DoctorCheck(name, CheckStatus.BAD, found, todo, reason)


def not_found_out(name: str, error: NotNowError) -> DoctorCheck:
    """Nobody answered, or not in time: nothing is known of it."""
    return DoctorCheck(
        name, CheckStatus.NOT_CHECKED, f"could not be found out: {error.detail}", "try again later", error.reason
    )


def skipped(name: str, because: str) -> DoctorCheck:
    """It rests on something that is not good, or not known."""
    return DoctorCheck(name, CheckStatus.NOT_CHECKED, f"not checked: {because}")


def overall(checks: Iterable[DoctorCheck]) -> CheckStatus:
    """The worst of all; something bad is worse than something that is not known."""
    there = {check.status for check in checks}
    return next((status for status in _WORST_FIRST if status in there), CheckStatus.GOOD)


def quoted(text: str) -> str:
    """What a stranger says, cut to what one reads."""
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}…"
