"""The findings of an examination, and their overall result."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.errors import NotNowError, detail_with_causes
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason

LONGEST_QUOTED: Final = 200
"""The characters shown of a stranger's text."""


class CheckStatus(StrEnum):
    """The result of one check, or of all."""

    GOOD = "good"
    WARNING = "warning"
    """It works, but not for long any more, or not for everybody."""
    BAD = "bad"
    NOT_CHECKED = "not checked"
    """It could not be found out now (then there is a reason), or it depends on something that is not good."""


_WORST_FIRST: Final = (CheckStatus.BAD, CheckStatus.NOT_CHECKED, CheckStatus.WARNING)


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check.

    `found` and `next` (what to do; empty if it is good) are sentences for people, with names from strangers in them.
    `reason`: the reason that receivers or senders would give for their failure.
    """

    name: str
    status: CheckStatus
    found: str
    next: str = ""
    reason: Reason | None = None

    @property
    def is_good(self) -> bool:
        """Whether checks that depend on this one can be made."""
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
    """A check that is good."""
    return DoctorCheck(name, CheckStatus.GOOD, found)


def warning(name: str, found: str, todo: str) -> DoctorCheck:
    """A check that is good for now."""
    return DoctorCheck(name, CheckStatus.WARNING, found, todo)


def bad(name: str, reason: Reason | None, found: str, todo: str) -> DoctorCheck:
    """A check that failed."""
    return DoctorCheck(name, CheckStatus.BAD, found, todo, reason)


def not_found_out(name: str, error: NotNowError) -> DoctorCheck:
    """A check without a result: there was no answer in time."""
    found = f"unknown: {detail_with_causes(error)}"
    return DoctorCheck(name, CheckStatus.NOT_CHECKED, found, "try again later", error.reason)


def skipped(name: str, because: str) -> DoctorCheck:
    """A check that depends on one that is not good, or not known."""
    return DoctorCheck(name, CheckStatus.NOT_CHECKED, f"not checked: {because}")


def overall(checks: Iterable[DoctorCheck]) -> CheckStatus:
    """The worst result of all; bad is worse than unknown."""
    there = {check.status for check in checks}
    return next((status for status in _WORST_FIRST if status in there), CheckStatus.GOOD)


def quoted(text: str) -> str:
    """A stranger's text, cut to a readable length."""
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}…"
