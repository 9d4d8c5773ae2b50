"""The option --since: how far back, or from when on."""

import time
from datetime import UTC, datetime

import typer

from postroom.cli.durations import seconds_in


def read_since(text: str) -> int:
    """Epoch milliseconds, of `10m`, `2h` or `1d` ago, or of a time such as 2026-11-26T09:30 (UTC if it has no zone).

    Not before the epoch, which CloudWatch Logs does not take.
    """
    if (ago := seconds_in(text)) is not None:
        return max(0, int((time.time() - ago) * 1000))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither 10m, 2h or 1d nor a time such as 2026-11-26T09:30") from None
    return max(0, int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))
