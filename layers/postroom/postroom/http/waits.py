"""How many requests of the mailbox API may wait for a message at the same time.

A waiting request holds a run of the function. The other runs are for those who sign in, list and acknowledge.
"""

from typing import Final

UNRESERVED: Final = 5
"""Waits in all, if no concurrency is reserved: half of what a new account has for all functions together."""
HOLD_SECONDS: Final = 30
"""The time after which a wait of a killed run no longer counts; no run of the function takes longer."""


def most_waits(reserved: int) -> int:
    """The most waits in all: half of the `reserved` runs. 0: none are reserved."""
    return reserved // 2 if reserved else UNRESERVED
