"""The option --since: how far back, or from when on."""

import re
import time
from datetime import UTC, datetime
from typing import Final

import typer

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGO: Final = re.compile(r"([0-9]{1,6})([smhd])")


def read_since(text: str) -> int:
    """Epoch milliseconds, of `10m`, `2h` or `1d` ago, or of a time such as 2026-11-26T09:30 (UTC if it has no zone).

    Not before the epoch, which CloudWatch Logs does not take.
    """
    if ago := _AGO.fullmatch(text):
        return max(0, int((time.time() - int(ago[1]) * _UNITS[ago[2]]) * 1000))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither 10m, 2h or 1d nor a time such as 2026-11-26T09:30") from None
    return max(0, int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))
