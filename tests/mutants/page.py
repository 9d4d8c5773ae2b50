"""The page docs/evidence/mutants.md: the table of mutants, the tests that found them, and the sample by a tool."""

from collections import Counter
from collections.abc import Callable, Sequence

from tests.contents import with_contents
from tests.mutants.by_tool import record
from tests.mutants.by_tool.record import Fault, Record
from tests.mutants.listed import AREAS, ROOT, Mutant, mutants
from tests.mutants.results import BEFORE, Results, found, read
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


def by_tool(sample: Record) -> str:
    """The sample in Markdown: how many of its faults were found by package and by operator, and those that were not."""
    left = "".join(map(_left, (fault for fault in sample.faults if not fault.is_found)))
    return (
        f"\n## By a tool\n\n{len(sample.faults)} faults at {sample.places:,} places, seed {sample.seed}, drawn at"
        f" `{sample.commit}`; {sample.found} found, which are {sample.found / len(sample.faults):.1%}.\n\n"
        f"{_shares('Package', sample, lambda fault: fault.package)}\n"
        f"{_shares('Operator', sample, lambda fault: fault.operator.partition('_')[0])}"
        f"\nNot found:\n\n| Where | Fault | Why no test finds it |\n|---|---|---|\n{left}"
    )


def _shares(head: str, sample: Record, of: Callable[[Fault], str]) -> str:
    counts = Counter(map(of, sample.faults))
    found_ = Counter(of(fault) for fault in sample.faults if fault.is_found)
    rows = "".join(f"| `{each}` | {counts[each]} | {found_[each]} |\n" for each in sorted(counts))
    return f"| {head} | Faults | Found |\n|---|--:|--:|\n{rows}"


def _left(fault: Fault) -> str:
    before, after = (f"`{' '.join(line.strip() for line in lines)}`" for lines in (fault.before, fault.after))
    change = f"{before} → {after}".replace("|", "\\|")
    return f"| [{fault.module}:{fault.line}](../../{fault.path}) | {change} | {fault.reason or '**open**'} |\n"


def written() -> str:
    """The page with the current results."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return with_contents(before + MARK + "\n" + table(mutants(), read()) + by_tool(record.read()))


def write() -> None:
    """Replace the committed page."""
    PAGE.write_text(written(), encoding="utf-8")


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
