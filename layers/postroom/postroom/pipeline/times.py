"""How long a deployment waits and remembers (store protocol, Times)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Times:
    """How long things are remembered and waited for, in seconds."""

    horizon_seconds: int
    retain_seconds: int
    max_age_seconds: int

    def is_past_horizon(self, received_at_ms: int, now: float) -> bool:
        """Whether no worker files a claim of that time any more, at `now` (epoch seconds)."""
        return now * 1000 - received_at_ms > self.horizon_seconds * 1000
