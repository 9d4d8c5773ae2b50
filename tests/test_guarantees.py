"""docs/design/guarantees.md argues from the code, and names the tests of each promise: what it names is there.

That every call of AWS in the code is struck, tests/faults/test_places.py shows, and that every crash point is played.
"""

import ast
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent.parent
LIBRARY = HERE / "layers" / "postroom" / "postroom"
PAGE = (HERE / "docs" / "design" / "guarantees.md").read_text(encoding="utf-8")


@cache
def defined(module: Path) -> set[str]:
    """The functions and classes of a module, and its classes' methods as `Class.method`."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        names |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


@cache
def skipped(module: Path) -> set[str]:
    """The tests of a module that are never played, or not before a merge."""
    return {
        node.name
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any(re.search(r"\bmark\.(skip|xfail|proof)", ast.unparse(each)) for each in node.decorator_list)
    }


def is_there(module: Path, name: str) -> bool:
    return module.is_file() and name in defined(module)


def by_promise(page: str) -> dict[str, list[tuple[str, str]]]:
    """The tests of each promise, as path and name; a promise that names none has none."""
    [promises] = re.findall(r"## The promises\n(.*?)\n## ", page, re.DOTALL)
    [held] = re.findall(r"## The tests that hold each promise\n(.*?)\n## ", page, re.DOTALL)
    tests = {
        promise: re.findall(r"`(tests/[a-z_0-9/]+\.py)::(test_\w+)`", listed)
        for promise, listed in re.findall(r"^- \*\*(P\d+)[^\n]*\n((?:  - .*\n)*)", held, re.MULTILINE)
    }
    return {promise: tests.get(promise, []) for promise in re.findall(r"^\*\*(P\d+) ", promises, re.MULTILINE)}


def gone(page: str) -> list[str]:
    """The promises that no test holds, and the tests that are named and not there."""
    held = by_promise(page)
    return [f"{promise} names no test" for promise, tests in held.items() if not tests] + [
        f"{promise}: there is no {path}::{name}"
        for promise, tests in held.items()
        for path, name in tests
        if not is_there(HERE / path, name) or name in skipped(HERE / path)
    ]


def test_every_promise_has_tests_that_are_there() -> None:
    assert len(by_promise(PAGE)) == 13
    assert gone(PAGE) == []


def test_a_promise_without_its_test_would_be_found() -> None:
    test = "test_dead_letters_near_the_horizon_are_undeliverable_and_the_sender_is_told"
    kept = f"tests/pipeline/test_dead_letters.py::{test}"
    assert gone(PAGE.replace(kept, f"{kept}_not")) == [f"P1: there is no {kept}_not"]
    assert gone(PAGE.replace("- **P7 ", "- **P70 ")) == ["P7 names no test"]


def test_a_promise_whose_test_is_skipped_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "test_some.py"
    module.write_text(
        "@pytest.mark.skip(reason='later')\ndef test_a(): ...\n@pytest.mark.proof\ndef test_b(): ...\n"
        "@pytest.mark.stack\ndef test_c(): ...\n"
    )
    assert skipped(module) == {"test_a", "test_b"}


def test_the_code_that_the_page_names_is_there() -> None:
    named = sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`\s+`([A-Za-z_.]+)`", PAGE)))
    assert len(named) > 15
    places = {module: (HERE if module.startswith("functions/") else LIBRARY) / module for module, _ in named}
    assert [f"{module} has no {name}" for module, name in named if not is_there(places[module], name)] == []


def test_the_folders_and_files_of_tests_that_the_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[a-z_/.]+)`", PAGE)
    assert named
    assert [path for path in named if not (HERE / path).exists()] == []
