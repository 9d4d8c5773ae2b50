"""The checks of one message, as people see them: each with what was found and what was expected."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind, Reason
from postroom.core.shown_text import shown

T = TypeVar("T")

_VERDICTS: Final = {Kind.REFUSAL: "refused", Kind.DISCARD: "discarded", Kind.RETRY: "retry"}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it found, what it expected, the section of the specification; `reason` if it failed."""

    name: str
    ok: bool
    saw: str
    expected: str
    section: str
    reason: Reason | None = None


@dataclass(slots=True)
class Explanation:
    """The checks that could be made, and the verdict: that of the first that failed."""

    checks: list[Check] = field(default_factory=list)

    @property
    def reason(self) -> Reason | None:
        """The reason of the first failed check; None: the message is accepted."""
        return next((check.reason for check in self.checks if not check.ok), None)

    @property
    def verdict(self) -> str:
        """`accepted`, `refused`, `discarded` or `retry`."""
        return _VERDICTS[self.reason.kind] if self.reason else "accepted"

    def as_json(self) -> dict[str, JsonValue]:
        """`{verdict, reason, checks: [{name, ok, saw, expected, section}]}`."""
        return {
            "verdict": self.verdict,
            "reason": str(self.reason) if self.reason else None,
            "checks": [
                {"name": c.name, "ok": c.ok, "saw": c.saw, "expected": c.expected, "section": c.section}
                for c in self.checks
            ],
        }

    def look(self, name: str, section: str, expected: str, saw: str, rule: Callable[[], T]) -> T | None:
        """Apply one rule and record the outcome; None if it failed."""
        try:
            value = rule()
        except (TheirError, NotNowError) as error:
            shown = f"{saw} ({error.detail})" if error.detail and saw else error.detail or saw
            self.checks.append(Check(name, False, shown, expected, section, error.reason))
            return None
        self.checks.append(Check(name, True, saw, expected, section))
        return value


def shown_json(value: JsonValue) -> str:
    """A stranger's value as a check shows it: its JSON."""
    return shown(json.dumps(value, ensure_ascii=False))
