"""The output of a scene, and the check of what a scene shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from postroom.core.errors import OurError

Say: TypeAlias = Callable[[str], None]
"""Receives a line for each step, as it happens."""


@dataclass(frozen=True)
class DemoRow:
    """One row of the final table: what was done, what the inbox answered, and the outcome."""

    scene: str
    what: str
    answer: str
    outcome: str


def expect(holds: bool, what: str, saw: object) -> None:
    """Raise OurError unless a statement holds. `what`: the statement; `saw`: what was found instead."""
    if not holds:
        raise OurError(f"a step of the demo failed: expected that {what}, but saw {saw!r}")
