"""docs/guarantees.md argues from the code: what it names is there."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
PAGE = (HERE / "docs" / "guarantees.md").read_text()
LIBRARY = HERE / "layers" / "postroom" / "postroom"
NAMED = sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`\s+`([A-Za-z_.]+)`", PAGE)))


def defined(module: Path) -> set[str]:
    """The functions of a module, and its classes' methods as `Class.method`."""
    names = set()
    for node in ast.parse(module.read_text()).body:
        names |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def test_the_page_names_code() -> None:
    assert len(NAMED) > 15


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_what_the_page_names_is_there(module: str, name: str) -> None:
    assert name in defined(LIBRARY / module)


@pytest.mark.parametrize("folder", sorted(set(re.findall(r"`(tests/[a-z_/.]+)`", PAGE))))
def test_the_tests_that_the_page_names_are_there(folder: str) -> None:
    assert (HERE / folder).exists()
