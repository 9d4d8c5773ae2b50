"""`Timestamp`: RFC 3339 in UTC (decision "Timestamps"), and the window for it (decision "Time window")."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from postroom.core.errors import TheirError
from postroom.core.timestamps import write_timestamp
from postroom.protocols.nlweb.reasons import TIMESTAMP_TOO_NEW, TIMESTAMP_TOO_OLD, WRONG_SHAPE

# Hours to 23: later Pythons read 24:00 as midnight, which RFC 3339 §5.6 does not allow.
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|\+00:00)",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def read_timestamp(text: str) -> int:
    """Milliseconds since the epoch; further digits are cut off.

    Raises TheirError(WRONG_SHAPE) for everything but RFC 3339 with `Z` or `+00:00` and 0 to 9 fraction digits. A leap
    second is refused, because clocks that count seconds since the epoch cannot represent it.
    """
    if _FORM.fullmatch(text):
        try:
            return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
        except ValueError:
            pass
    raise TheirError(
        WRONG_SHAPE,
        "Header.Timestamp is not an RFC 3339 time in UTC such as 2026-11-21T09:30:00.000Z",
    )


@dataclass(frozen=True, slots=True)
class TimestampWindow:
    """How far a Timestamp may be from the inbox's clock, in seconds, both ends included."""

    max_age_seconds: int = 24 * 3600
    max_skew_seconds: int = 120

    def check(self, timestamp_ms: int, received_at_ms: int) -> None:
        """Check that a Timestamp is in the window. Raises TheirError(TIMESTAMP_TOO_OLD | TIMESTAMP_TOO_NEW)."""
        age_ms = received_at_ms - timestamp_ms
        if age_ms > self.max_age_seconds * 1000:
            earliest_ms = received_at_ms - self.max_age_seconds * 1000
            raise TheirError(
                TIMESTAMP_TOO_OLD,
                f"Header.Timestamp is {age_ms // 1000} s ago; none before {write_timestamp(earliest_ms)} is accepted",
            )
        if age_ms < -self.max_skew_seconds * 1000:
            raise TheirError(
                TIMESTAMP_TOO_NEW,
                f"Header.Timestamp is {-age_ms // 1000} s ahead; at most {self.max_skew_seconds} s are accepted",
            )
