"""The command line of the mutants (`python -m tests.mutants`): which bugs in copies of the library the tests find.

For each mutant, the tests of its module run first, then the rest of the tier, until one fails. The exit code is 1 if a
mutant is not found, or if a test also fails without it.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.mutants import page, results
from tests.mutants.listed import ROOT, Mutant, mutants
from tests.mutants.played import Copy, Result, UndecidedError, in_copies
from tests.tiers import Tier


def main(arguments: Sequence[str]) -> int:
    """Run the tests for the named mutants, or all."""
    known = {mutant.name: mutant for mutant in mutants()}
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="NAME", help="default: all")
    parser.add_argument("--tier", type=Tier, choices=list(Tier), default=Tier.QUICK, help="default: quick")
    parser.add_argument("--jobs", type=int, default=1, help="the number of mutants at the same time; default: 1")
    parser.add_argument(
        "--left", action="store_true", help="only those that no run of this tier, or of a smaller one, has found"
    )
    parser.add_argument("--write", action="store_true", help=f"write results down, and the table to {page.PAGE.name}")
    given = parser.parse_args(arguments)
    chosen = [known[name] for name in given.names] or list(known.values())
    if given.left:
        chosen = [each for each in chosen if not _was_found(each, given.tier)]

    def play(copy: Copy, mutant: Mutant) -> Result | None:
        try:
            result = copy.play(mutant, ["--tier", given.tier])
        except UndecidedError as error:
            print(f"undecided  {mutant.name}: {error}", flush=True)
            return None
        print(f"{result.seconds:7.1f} s  {mutant.name}: {result.by or 'NOT FOUND'}", flush=True)
        if given.write:
            results.note(mutant.name, given.tier, result)
        return result

    played = in_copies(ROOT, given.jobs, play, chosen)
    found = sum(bool(result and result.by) for result in played)
    print(f"{found} of {len(played)} found by {given.tier.command}")
    if given.write:
        page.write()
    return 0 if found == len(played) else 1


def _was_found(mutant: Mutant, tier: Tier) -> bool:
    result = results.found(results.read().get(mutant.name, {}), tier)
    return result is not None and bool(result.by)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
