"""The share of a run: each strike is played in one of some successive rotations, and each flow, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.tiers import Tier

T = TypeVar("T")
TURNS = {Tier.QUICK: 8, Tier.ALL: 4, Tier.PROOF: 1}
"""In so many successive rotations, a tier plays everything of what it rotates."""


def part(every: Sequence[T], turns: int, rotation: int, count: int = 1) -> list[T]:
    """The items of `count` rotations from this one on, in their order; but at least one, if there are any."""
    chosen = {(rotation + each) % turns for each in range(count)}
    return [item for number, item in enumerate(every) if number % turns in chosen] or list(
        every[rotation % len(every) :][:1] if every else ()
    )


@dataclass(frozen=True)
class Share:
    """What a run plays: in `quick` an eighth of the flows, and an eighth of their strikes; in `all` every flow and a
    quarter of the strikes, or `quarters` of them; in `proof` everything. Of each flow it plays at least one death, if
    there are any, and something else.
    """

    tier: Tier = Tier.PROOF
    rotation: int = 0
    quarters: int = 1

    def flows(self, every: Sequence[T]) -> list[T]:
        """The flows of this run."""
        return part(every, TURNS[Tier.QUICK], self.rotation) if self.tier is Tier.QUICK else list(every)

    def of(self, deaths: Sequence[T], others: Sequence[T], *, longer: int = 1) -> list[T]:
        """The strikes of a flow. `others`: errors, clocks, rivals, orders. `longer`: takes so many times the turns."""
        if self.quarters >= TURNS[self.tier]:
            return [*deaths, *others]
        turns, rotation = TURNS[self.tier] * longer, self.rotation
        if self.tier is Tier.QUICK:
            # A flow is played in one rotation of eight, and then its next share.
            rotation //= TURNS[Tier.QUICK]
        return [strike for strikes in (deaths, others) for strike in part(strikes, turns, rotation, self.quarters)]
