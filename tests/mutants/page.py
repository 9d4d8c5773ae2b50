"""The page docs/evidence/mutants.md: the table of mutants, and the tests that found them."""

from collections.abc import Sequence

from tests.contents import with_contents
from tests.mutants.listed import AREAS, ROOT, Mutant
from tests.mutants.results import BEFORE, Results, found
from tests.tiers import Tier

PAGE = ROOT / "docs" / "evidence" / "mutants.md"
MARK = "<!-- written by python -m tests.mutants --write -->\n"
_RUNS = (BEFORE, Tier.QUICK, Tier.ALL)
_HEAD = (
    "| Mutant | What it breaks | Who is hurt | Before | `make test` | `make test-all` | By |\n"
    "|---|---|---|--:|--:|--:|---|\n"
)


def table(mutants: Sequence[Mutant], results: Results) -> str:
    """The results in Markdown: how many mutants were found, and a table for each area."""
    counts = []
    for run in _RUNS:
        its = [result for mutant in mutants if (result := found(results.get(mutant.name, {}), run))]
        if its:
            counts.append(f"{_called(run)} {sum(bool(result.by) for result in its)} of {len(its)}")
    said = f"{len(mutants)} mutants. Found: {'; '.join(counts)}.\n"
    areas = (_area(area, [it for it in mutants if it.area == area], results) for area in AREAS)
    return said + "".join(areas)


def written(mutants: Sequence[Mutant], results: Results) -> str:
    """The page with the current results."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return with_contents(before + MARK + "\n" + table(mutants, results))


def _called(run: str) -> str:
    return run if run == BEFORE else f"by `{Tier(run).command}`"


def _area(area: str, mutants: Sequence[Mutant], results: Results) -> str:
    return f"\n## {area.capitalize()}\n\n{_HEAD}" + "".join(_row(it, results) for it in mutants)


def _row(mutant: Mutant, results: Results) -> str:
    its = results.get(mutant.name, {})
    cells, by = [], ""
    for run in _RUNS:
        result = found(its, run)
        cells.append("" if result is None else f"{result.seconds:.0f} s" if result.by else "**not found**")
        by = (result.by if result else "") or by
    said = f"{mutant.breaks} | {mutant.hurt[:1].upper()}{mutant.hurt[1:]}"
    return f"| [{mutant.name}]({_link(mutant)}) | {said} | {' | '.join(cells)} | {_test(by)} |\n"


def _link(mutant: Mutant) -> str:
    return f"../../{mutant.patch.relative_to(ROOT)}"


def _test(nodeid: str) -> str:
    """A test without its parameters, which may be long and have any characters."""
    return f"`{nodeid.partition('[')[0]}`" if nodeid else ""
