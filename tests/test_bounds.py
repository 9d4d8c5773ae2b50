"""Every bound has a reason, a precedent and a test; `python -m tests.test_bounds` writes docs/reference/bounds.md."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.bounds import Bound, page, sections
from tests.contents import with_contents

from postroom.core.reason import Reason
from postroom.protocols.status import reasons as status_reasons
from postroom.reasons import REASONS

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parent / "docs" / "reference" / "bounds.md"
SECTIONS = sections()
ROWS = [(section, row) for section, rows in SECTIONS.items() for row in rows]
OF_CHATS = [value for value in vars(status_reasons).values() if isinstance(value, Reason)]
CODES = {reason.code for reason in (*REASONS, *OF_CHATS)}


def document() -> str:
    """docs/reference/bounds.md as it follows from the table and the code."""
    return with_contents(page())


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
