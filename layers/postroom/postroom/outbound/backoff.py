"""The delay before the courier tries again what failed: twice as long each time, with jitter."""

from typing import Final

from postroom.storage.aws.queue import LONGEST_DELAY_SECONDS

FIRST_DELAY_SECONDS: Final = 10


def backoff(tries: int, jitter: float) -> int:
    """Seconds until the next attempt; 0 ≤ `jitter` < 1."""
    longest = min(FIRST_DELAY_SECONDS * 2 ** min(tries, 10), LONGEST_DELAY_SECONDS)
    return int(longest * (0.5 + 0.5 * jitter))
