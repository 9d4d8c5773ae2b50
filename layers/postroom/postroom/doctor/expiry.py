"""Expiry dates: of signatures and certificates."""

from typing import Final, NamedTuple

DAY_SECONDS: Final = 86_400
_SHARE: Final = 4


class Term(NamedTuple):
    """The validity of something, from begin to end, in epoch seconds."""

    begins: float
    ends: float


def runs_out(term: Term, now: float, few_days: int) -> bool:
    """Whether it ends within a few days, and less than a quarter of its time is left.

    Both conditions, because some zones are signed for each answer, for a day or two, and some certificates are valid
    for six days.
    """
    left = term.ends - now
    return left < few_days * DAY_SECONDS and left * _SHARE < term.ends - term.begins


def time_left(term: Term, now: float) -> str:
    """The time left, such as `29 days` or `31 hours`."""
    left = max(0.0, term.ends - now)
    return f"{left // DAY_SECONDS:.0f} days" if left >= 2 * DAY_SECONDS else f"{left // 3600:.0f} hours"
