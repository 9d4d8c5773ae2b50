"""Expiry dates: of signatures and certificates."""

from typing import Final, NamedTuple

DAY_SECONDS: Final = 86_400
_SHARE: Final = 4


class Term(NamedTuple):
    """When something begins and ends to hold, in epoch seconds."""

    begins: float
    ends: float


def runs_out(term: Term, now: float, few_days: int) -> bool:
    """Whether it ends within a few days, and less than a quarter of its time is left.

    Both, because some sign anew for each answer, for a day or two, and some certificates live for six days.
    """
    left = term.ends - now
    return left < few_days * DAY_SECONDS and left * _SHARE < term.ends - term.begins


def time_left(term: Term, now: float) -> str:
    """As in `29 days` or `31 hours`."""
    left = max(0.0, term.ends - now)
    return f"{left // DAY_SECONDS:.0f} days" if left >= 2 * DAY_SECONDS else f"{left // 3600:.0f} hours"
