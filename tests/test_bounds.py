"""Every bound has a reason, a precedent and a test; `python -m tests.test_bounds` writes docs/reference/bounds.md."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.bounds import Bound, sections
from tests.contents import with_contents

from postroom.core.reason import Reason
from postroom.protocols.status import reasons as status_reasons
from postroom.reasons import REASONS

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parent / "docs" / "reference" / "bounds.md"
SECTIONS = sections()
ROWS = [(section, row) for section, rows in SECTIONS.items() for row in rows]
HEAD = ("What", "Limit", "Why", "Beyond it", "Precedent", "Test")
OF_CHATS = [value for value in vars(status_reasons).values() if isinstance(value, Reason)]
CODES = {reason.code for reason in (*REASONS, *OF_CHATS)}


def document() -> str:
    """docs/reference/bounds.md as it follows from the code."""
    lines = [
        "# Bounds",
        "",
        "Every limit on what strangers and owners can make larger, for reviewers and operators. What others send,",
        "publish or answer costs time, memory, requests and storage. The tables show how much of each is accepted,",
        "why, what happens beyond it, who else has such a limit, and the test (below `tests/`) that holds it. The",
        "figures are read from the code, the settings' defaults and the template; the reasons are those of",
        "[reasons.md](reasons.md).",
        "",
        "Not listed are the limits that AWS applies before us (API Gateway accepts 10,240 bytes of headers), and what",
        "operators write themselves: rules, mailboxes, wallets. One thing has no limit yet: how much a verified sender",
        "may have stored in a mailbox, except for the requests per second at the inbox.",
    ]
    for section, rows in SECTIONS.items():
        lines += ["", f"## {section}", "", f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join((*row[:-1], f'`{row.test}`'))} |" for row in rows]
    return with_contents("\n".join(lines) + "\n")


@cache
def functions(file: Path) -> set[str]:
    """The functions of a module and of its classes."""
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def has_a_test(bound: Bound) -> bool:
    file, _, function = bound.test.partition("::")
    return (TESTS / file).is_file() and function in functions(TESTS / file)


def test_every_bound_is_held_by_a_test_that_exists() -> None:
    misses = [f"{section}: {row.what}: there is no {row.test}" for section, row in ROWS if not has_a_test(row)]
    assert misses == []


def test_every_bound_has_all_columns() -> None:
    misses = [
        f"{section}: {row.what}: {column} is {cell!r}"
        for section, row in ROWS
        for column, cell in row._asdict().items()
        if not cell or "|" in cell or cell != cell.strip()
    ]
    assert misses == []


def test_a_code_beyond_a_bound_is_one_of_the_vocabulary() -> None:
    misses = [
        f"{section}: {row.what}: {code} is no reason"
        for section, row in ROWS
        for code in re.findall(r"`(\w+)`", row.beyond)
        if code not in CODES
    ]
    assert misses == []


def test_no_section_has_a_bound_twice() -> None:
    for rows in SECTIONS.values():
        assert len({row.what for row in rows}) == len(rows)


def test_the_page_is_generated_from_the_code() -> None:
    assert DOCUMENT.read_text() == document(), "write it anew: python -m tests.test_bounds"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
