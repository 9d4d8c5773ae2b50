"""The output of a scene, and the checks of what it shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from postroom.core.errors import OurError

Say: TypeAlias = Callable[[str], None]
"""Is handed each step as it happens."""


@dataclass(frozen=True)
class DemoRow:
    """One line of the table at the end: what was done, what the inbox answered, and the outcome."""

    scene: str
    what: str
    answer: str
    outcome: str


def expect(holds: bool, what: str, saw: object) -> None:
    """Raises OurError unless what the scene tells of holds."""
    if not holds:
        raise OurError(f"a step of the demo failed: expected that {what}, but saw {saw!r}")
