"""How long a deployment retries claims (the horizon), and remembers messages (store protocol, Times)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetentionPeriods:
    """How long things are waited for and remembered, in seconds."""

    horizon_seconds: int
    retain_seconds: int
    max_age_seconds: int

    def is_past_horizon(self, received_at_ms: int, now: float) -> bool:
        """Whether a claim that was received then is too old to be filed at `now` (epoch seconds)."""
        return now * 1000 - received_at_ms > self.horizon_seconds * 1000
