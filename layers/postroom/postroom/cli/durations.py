"""Durations on the command line: 90s, 10m, 2h, 1d."""

import re
from typing import Final

import typer

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"([0-9]{1,6})([smhd])")


def seconds_in(text: str) -> int | None:
    """The seconds of a duration; None: the text is none."""
    found = _DURATION.fullmatch(text)
    return int(found[1]) * _UNITS[found[2]] if found else None


def read_duration(text: str) -> int:
    """The seconds of a duration. Raises BadParameter."""
    seconds = seconds_in(text)
    if seconds is None:
        raise typer.BadParameter(f"{text!r} is not a duration such as 90s, 10m, 2h or 1d")
    return seconds
