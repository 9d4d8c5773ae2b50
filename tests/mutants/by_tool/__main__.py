"""The command line of the sample (`make mutants`): which faults that a tool puts into the library the tests find.

Without arguments it goes on with the committed record: the faults that were not played yet, and those that no test
found. For each, the tests that run its line are played until one fails. The exit code is 1 if fewer than 95 % are
found, or if one that is not found has no reason in the record.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from tests.mutants import page
from tests.mutants.by_tool import record
from tests.mutants.by_tool.covering import MEASURED, Covering, measure
from tests.mutants.by_tool.record import Fault, Record
from tests.mutants.by_tool.sample import check_operators, places, sample
from tests.mutants.listed import ROOT
from tests.mutants.played import Copy, UndecidedError, in_copies
from tests.tiers import Tier

_ENDLESS_SECONDS = 90
"""A test that takes longer has found a fault: no quick one takes a tenth of it, and some faults wait without end."""
_OPTIONS = (
    # Tests run in the order in which they are named: those that are most likely to find the fault come first.
    "-p", "no:tests.schedule", "--tier", Tier.QUICK, "--rotation", "0", "--hypothesis-seed", "0",
    "-o", f"faulthandler_timeout={_ENDLESS_SECONDS}", "-o", "faulthandler_exit_on_timeout=true",
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Play the faults of a new sample, or those that are left of the committed one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.by_tool")
    parser.add_argument("--seed", type=int, help="draw another sample, in the place of the committed one")
    parser.add_argument("--count", type=int, default=400, help="how many faults; default: 400")
    parser.add_argument("--measure", action="store_true", help="measure again which tests run which line")
    parser.add_argument("--jobs", type=int, default=1, help="the number of faults at the same time; default: 1")
    given = parser.parse_args(arguments)
    check_operators()
    if given.seed is not None:
        record.write(_drawn(given.seed, given.count))
    if given.measure or not MEASURED.exists():
        measure()
    _play([fault for fault in record.read().faults if not fault.is_found], given.jobs)
    page.write()
    played = record.read()
    print(f"{played.found} of {len(played.faults)} found; not found, without a reason: {len(played.open)}")
    return 1 if played.open or played.found < len(played.faults) * record.SHARE else 0


def _drawn(seed: int, count: int) -> Record:
    every = places()
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    return Record(seed, commit, sum(not place.is_text for place in every), sample(every, count, seed))


def _play(faults: Sequence[Fault], jobs: int) -> None:
    covering = Covering()

    def play(copy: Copy, fault: Fault) -> None:
        try:
            code = fault.apply((copy.root / fault.path).read_text(encoding="utf-8"))
            result = copy.play_code(fault.path, code, covering.runs(fault), _OPTIONS)
        except (LookupError, UndecidedError) as error:
            print(f"undecided  {fault.module}:{fault.line} {fault.operator}: {error}", flush=True)
        else:
            print(
                f"{result.seconds:7.1f} s  {fault.module}:{fault.line} {fault.operator}: {result.by or 'NOT FOUND'}",
                flush=True,
            )
            record.note(fault, result.by)

    in_copies(ROOT, jobs, play, faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
