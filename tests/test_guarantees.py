"""docs/guarantees.md argues from the code, and names the tests of each promise: what it names is there.

That every call of AWS in the code is struck, tests/faults/test_places.py shows, and that every crash point is played.
"""

import ast
import re
from functools import cache
from pathlib import Path

from tests.faults.places import sites
from tests.faults.test_places import excuse

HERE = Path(__file__).parent.parent
LIBRARY = HERE / "layers" / "postroom" / "postroom"
PAGE = (HERE / "docs" / "guarantees.md").read_text(encoding="utf-8")
WRITES = {
    "delete_item", "delete_message", "delete_object", "invoke", "post", "put_events", "put_item", "put_object",
    "put_secret_value", "send", "send_message", "transact_write_items", "update_item",
}  # fmt: skip
"""Calls that change something outside: of AWS's clients, of a queue, of other hosts."""


@cache
def defined(module: Path) -> set[str]:
    """The functions and classes of a module, and its classes' methods as `Class.method`."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        names |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


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
        if not is_there(HERE / path, name)
    ]


def test_every_promise_has_tests_that_are_there() -> None:
    assert len(by_promise(PAGE)) == 10
    assert gone(PAGE) == []


def test_a_promise_without_its_test_would_be_found() -> None:
    kept = "tests/pipeline/test_dead_letters.py::test_letters_near_the_horizon_are_undeliverable_and_the_sender_is_told"
    assert gone(PAGE.replace(kept, f"{kept}_not")) == [f"P1: there is no {kept}_not"]
    assert gone(PAGE.replace("- **P7 ", "- **P70 ")) == ["P7 names no test"]


def test_the_code_that_the_page_names_is_there() -> None:
    named = sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`\s+`([A-Za-z_.]+)`", PAGE)))
    assert len(named) > 15
    places = {module: (HERE if module.startswith("functions/") else LIBRARY) / module for module, _ in named}
    assert [f"{module} has no {name}" for module, name in named if not is_there(places[module], name)] == []


def test_the_folders_and_files_of_tests_that_the_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[a-z_/.]+)`", PAGE)
    assert named
    assert [path for path in named if not (HERE / path).exists()] == []


def test_every_function_that_changes_something_outside_stands_among_the_crash_points() -> None:
    """Or the methods that call it do, where it is private; what is spared of strikes is spared here, too."""
    [table] = re.findall(r"## Every crash point\n(.*?)\n## ", PAGE, re.DOTALL)
    steps = set(re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_.]+)`", table))
    classes = {(module, name.partition(".")[0]) for module, name in steps}
    writing = [site for site in sites() if site.text.rpartition(".")[2] in WRITES and not excuse(site)]
    assert writing
    missed = [
        str(site)
        for site in writing
        if (site.path, site.name) not in steps
        and ("._" not in site.name or (site.path, site.name.partition(".")[0]) not in classes)
    ]
    assert missed == []
