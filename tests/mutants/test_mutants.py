"""The mutants do not rot: each patch fits the library as it is, and its table tells the truth of it."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.mutants import page, results
from tests.mutants.listed import AREAS, FOLDER, ROOT, Mutant, mutants
from tests.mutants.played import LIBRARY, Result
from tests.tiers import Tier

MUTANTS = mutants()


def test_there_are_enough_in_every_area() -> None:
    areas = Counter(mutant.area for mutant in MUTANTS)
    assert len(MUTANTS) >= 90
    assert set(areas) == set(AREAS)
    assert min(areas.values()) >= 6


def test_every_patch_stands_in_the_table_under_the_next_number() -> None:
    assert {mutant.patch for mutant in MUTANTS} == {*FOLDER.glob("*.patch")}
    numbers = [f"{number:02d}" for number in range(1, len(MUTANTS) + 1)]
    assert sorted((mutant.name.partition("-")[0] for mutant in MUTANTS), key=int) == numbers


def test_every_patch_still_applies() -> None:
    wrong = {}
    for mutant in MUTANTS:
        done = subprocess.run(
            ["git", "apply", "--check", mutant.patch], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            wrong[mutant.name] = done.stderr
    assert not wrong


def test_every_patch_changes_the_library_and_says_what_it_breaks_and_who_is_hurt() -> None:
    wrong = [
        mutant.name
        for mutant in MUTANTS
        if not mutant.patched
        or not all(Path(path).is_relative_to(LIBRARY) for path in mutant.patched)
        or not mutant.breaks.endswith(".")
        or not mutant.patch.read_text(encoding="utf-8").split("\n")[1].startswith("Hurt: ")
    ]
    assert not wrong


def test_every_mutant_names_tests_of_its_module_that_are_there() -> None:
    assert not [mutant.name for mutant in MUTANTS if not mutant.tests]
    assert not {test for mutant in MUTANTS for test in mutant.tests if not (ROOT / test).exists()}


def test_the_page_is_as_the_results_say() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.written(), (
        "run `python -m tests.mutants NAME --write` for any of them"
    )


def test_results_are_of_mutants_that_there_are() -> None:
    assert set(results.read()) <= {mutant.name for mutant in MUTANTS}


@pytest.mark.parametrize(
    ("its", "run", "expected"),
    [
        ({Tier.QUICK: Result("t", 1)}, Tier.ALL, Result("t", 1)),
        ({Tier.QUICK: Result("", 1), Tier.ALL: Result("u", 2)}, Tier.ALL, Result("u", 2)),
        ({Tier.QUICK: Result("", 1), Tier.ALL: Result("u", 2)}, Tier.QUICK, Result("", 1)),
        ({Tier.QUICK: Result("", 1)}, Tier.ALL, None),
        ({Tier.QUICK: Result("t", 1)}, results.BEFORE, None),
    ],
)
def test_what_a_smaller_tier_finds_is_found_by_the_larger(
    its: dict[str, Result], run: str, expected: Result | None
) -> None:
    assert results.found(its, run) == expected


def test_a_row_says_which_test_found_a_mutant_and_which_tier_found_none() -> None:
    mutant = Mutant(MUTANTS[0].name, AREAS[0], ())
    missed = {mutant.name: {results.BEFORE: Result("tests/a.py::test_b[c]", 1.6), Tier.QUICK: Result("", 300.0)}}
    said = page.table([mutant], missed)
    assert said.startswith("1 mutants. Found: before 1 of 1; by `make test` 0 of 1.\n")
    assert "| 2 s | **not found** |  | `tests/a.py::test_b` |" in said
