"""The share of runs in a tier: each run takes place in one of four successive rotations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.tiers import Tier

T = TypeVar("T")
TURNS = 4


def quarter(every: Sequence[T], rotation: int) -> list[T]:
    """The items of this rotation; at least one, if there are any."""
    return list(every[rotation % TURNS :: TURNS] or every[rotation % len(every) :][:1] if every else ())


@dataclass(frozen=True)
class Share:
    """The share of each flow: in `quick` a quarter of the deaths; in `all` all deaths, and a quarter of the other runs.

    A flow without deaths has a quarter of its other runs in `quick`, too.
    """

    tier: Tier = Tier.PROOF
    rotation: int = 0

    def of(self, deaths: Sequence[T], others: Sequence[T]) -> list[T]:
        """`others`: errors, clocks, rivals, orders."""
        if self.tier is Tier.PROOF:
            return [*deaths, *others]
        some = quarter(others, self.rotation)
        if self.tier is Tier.ALL:
            return [*deaths, *some]
        return quarter(deaths, self.rotation) or some
