"""How many requests of the inbox may look a sender's key up at the same time.

A synchronous request whose sender's key is not cached holds a run of the function until DNS has answered. The other
runs are for what is only checked and queued.
"""

from typing import Final

KIND: Final = "lookups"
"""The prefix of the rows of look-ups in table `limits`."""
ONE_OF: Final = 5
"""The share of the runs: one of five."""
UNRESERVED_RUNS: Final = 10
"""The runs that are counted on if none are reserved: what a new account has for all functions together."""
HOLD_SECONDS: Final = 5
"""The time after which a look-up of a killed run no longer counts: more than any look-up takes."""


def most_look_ups(reserved: int) -> int:
    """The most look-ups in all, of the `reserved` runs. 0: none are reserved."""
    return max(1, (reserved or UNRESERVED_RUNS) // ONE_OF)
