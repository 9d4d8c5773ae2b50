"""Times as this library writes them: RFC 3339, in UTC, with milliseconds."""

from datetime import UTC, datetime


def write_timestamp(at_ms: int) -> str:
    """The form that we send: UTC, milliseconds, `Z`."""
    # Not strftime: its %Y pads years before 1000 on some platforms only.
    moment = datetime.fromtimestamp(at_ms // 1000, tz=UTC).replace(tzinfo=None)
    return f"{moment.isoformat()}.{at_ms % 1000:03d}Z"
