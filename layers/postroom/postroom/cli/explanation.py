"""The output of an explanation: every check with what was found, what was expected, and its section."""

from typing import TYPE_CHECKING, Final

from postroom.cli.exits import Exit
from postroom.cli.output import console, is_terminal, styled
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.core.explanation import Explanation

_EXITS: Final = {"accepted": Exit.GOOD, "refused": Exit.REFUSED, "discarded": Exit.REFUSED}


def exit_of(explanation: "Explanation") -> Exit:
    """The exit code of a verdict."""
    return _EXITS.get(explanation.verdict, Exit.UNAVAILABLE)


def print_explanation(explanation: "Explanation") -> None:
    """The checks, then the verdict."""
    if is_terminal():
        _print_blocks(explanation)
    else:
        for check in explanation.checks:
            print_line(f"{'ok   ' if check.ok else 'FAIL '} {check.name}: {check.saw}; expected {check.expected}; "
                       f"{check.section}")  # fmt: skip
    reason = explanation.reason
    if reason is None:
        console().print(styled("accepted", "bold green"))
    else:
        console().print(styled(f"{explanation.verdict}: {reason}. {reason.sentence}", "bold red"))


def _print_blocks(explanation: "Explanation") -> None:
    """What was found and expected, and the section, on lines of their own, because they are long."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in explanation.checks:
        table.add_row(
            styled("ok", "green") if check.ok else styled("FAILED", "bold red"),
            styled(check.name, "bold"),
            Text("\n").join([
                styled(check.saw),
                styled(f"expected: {check.expected}", "dim" if check.ok else ""),
                styled(check.section, "dim italic"),
            ]),
        )  # fmt: skip
    console().print(table)
