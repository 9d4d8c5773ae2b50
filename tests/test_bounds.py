"""Every bound has a reason, a precedent and a test; `python -m tests.test_bounds` writes docs/bounds.md."""

import ast
import re
from pathlib import Path

import pytest
from tests.bounds import Bound, sections

from postroom.reasons import Reason

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parent / "docs" / "bounds.md"
SECTIONS = sections()
ROWS = [row for rows in SECTIONS.values() for row in rows]
EACH = pytest.mark.parametrize("bound", ROWS, ids=lambda row: row.what)
HEAD = ("What", "At most", "Because", "Beyond", "Precedent", "Test")
REASONS = {str(reason) for reason in Reason}


def document() -> str:
    """docs/bounds.md as it follows from the code."""
    lines = [
        "# Bounds",
        "",
        "What others send, publish or answer costs us time, memory, requests and storage. Here stands how much of",
        "each we take, why, what becomes of more, who else draws such a line, and the test (below `tests/`) that holds",
        "it. The figures are read from the code, from the settings' defaults and from the template; the reasons are",
        "those of [reasons.md](reasons.md).",
        "",
        "Not here is what AWS refuses before us (API Gateway takes 10,240 bytes of headers), and what operators write",
        "themselves: rules, mailboxes, wallets. One thing has no bound yet: how much a sender whose signature holds",
        "may have filed in a mailbox, but for the requests a second at the door.",
    ]
    for section, rows in SECTIONS.items():
        lines += ["", f"## {section}", "", f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join((*row[:-1], f'`{row.test}`'))} |" for row in rows]
    return "\n".join(lines) + "\n"


@EACH
def test_every_bound_is_held_by_a_test_that_exists(bound: Bound) -> None:
    file, _, function = bound.test.partition("::")
    tree = ast.parse((TESTS / file).read_text())
    assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@EACH
def test_every_bound_says_all_there_is_to_say(bound: Bound) -> None:
    assert all(cell and "|" not in cell and cell == cell.strip() for cell in bound)


@EACH
def test_a_code_beyond_a_bound_is_one_of_the_vocabulary(bound: Bound) -> None:
    assert set(re.findall(r"`(\w+)`", bound.beyond)) <= REASONS


def test_no_two_bounds_of_a_section_are_of_the_same() -> None:
    for rows in SECTIONS.values():
        assert len({row.what for row in rows}) == len(rows)


def test_the_document_is_what_the_code_says() -> None:
    assert DOCUMENT.read_text() == document(), "write it anew: python -m tests.test_bounds"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
