"""A clock for tests."""


class FakeClock:
    """A clock that only changes when a test sets `now`, in seconds."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
