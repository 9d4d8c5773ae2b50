"""The states of a connection, and their diagrams: `python -m tests.protocols.dcp.test_states` draws them."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from postroom.protocols.dcp.states import INITIATOR, TARGET, ConnectionState, ConnectionStep, Table

PAGE = Path(__file__).parents[3] / "docs" / "design" / "dcp.md"
TABLES: Mapping[str, Table] = {"initiator": INITIATOR, "target": TARGET}


def diagram(name: str) -> str:
    """The diagram of a table, as it stands on the page."""
    steps = [f"    {before} --> {after}: {step}" for (before, step), after in TABLES[name].items()]
    lines = ["stateDiagram-v2", f"    [*] --> {ConnectionState.NEW}", *steps, f"    {ConnectionState.CLOSED} --> [*]"]
    return "\n".join([f"<!-- {name} -->", "```mermaid", *lines, "```"]) + "\n"


def page(text: str) -> str:
    """The page with the diagrams of the tables."""
    for name in TABLES:
        text = re.sub(
            rf"<!-- {name} -->\n(?:```mermaid\n.*?```\n)?", lambda _, name=name: diagram(name), text, flags=re.S
        )
    return text


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_state_is_reached_and_can_be_left_but_the_last(table: Table) -> None:
    reached = {ConnectionState.NEW}
    while more := {after for (before, _), after in table.items() if before in reached} - reached:
        reached |= more
    assert reached >= {ConnectionState.NEW, ConnectionState.OPEN, ConnectionState.CLOSING, ConnectionState.CLOSED}
    assert {before for before, _ in table} == reached - {ConnectionState.CLOSED}
    for state in reached - {ConnectionState.CLOSED}:
        assert table[state, ConnectionStep.BROKEN] is ConnectionState.CLOSED


def test_every_step_is_taken_by_one_of_the_ends() -> None:
    assert {step for table in TABLES.values() for _, step in table} == set(ConnectionStep)


def test_the_diagrams_are_those_of_the_tables() -> None:
    text = PAGE.read_text()
    assert text == page(text)
    assert text.count("stateDiagram-v2") == len(TABLES)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
