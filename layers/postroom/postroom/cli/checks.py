"""The output of `postroom doctor` and `postroom admin status`, and their exit codes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from postroom.cli.exits import Exit
from postroom.cli.output import console, styled

if TYPE_CHECKING:
    from postroom.doctor import CheckStatus, DoctorCheck


def print_check(check: "DoctorCheck") -> None:
    """A line with the finding, and one with what to do."""
    from postroom.doctor import CheckStatus

    marks = {CheckStatus.GOOD: ("✓", "green"), CheckStatus.WARNING: ("!", "yellow"), CheckStatus.BAD: ("✗", "bold red")}
    mark, style = marks.get(check.status, ("?", "yellow"))
    console().print(styled(f"{mark} ", style) + styled(check.name, "bold") + styled(f": {check.found}"))
    if check.next:
        console().print(styled(f"  → {check.next}"))


def shown(checks: Iterable["DoctorCheck"], *, quietly: bool) -> list["DoctorCheck"]:
    """All checks; each is printed as soon as it is made, unless `quietly`."""
    made = []
    for check in checks:
        made.append(check)
        if not quietly:
            print_check(check)
    return made


def exit_of(status: "CheckStatus") -> Exit:
    """0: good, or good with warnings; 1: something is bad; 3: nothing is bad, but something is unknown."""
    from postroom.doctor import CheckStatus

    return {CheckStatus.BAD: Exit.REFUSED, CheckStatus.NOT_CHECKED: Exit.UNAVAILABLE}.get(status, Exit.GOOD)
