"""The command line of the mutants (`python -m tests.mutants`): which bugs in copies of the library the tests find.

For each mutant, the tests of its module run first, then the rest of the tier, until one fails. The exit code is 1 if a
mutant is not found, or if a test also fails without it.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue

from tests.mutants import page, results
from tests.mutants.listed import ROOT, Mutant, mutants
from tests.mutants.played import Copy, Result, UndecidedError, copy_of
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
    copies: SimpleQueue[Copy] = SimpleQueue()

    def play(mutant: Mutant) -> Result | None:
        copy = copies.get()
        try:
            result = copy.play(mutant, ["--tier", given.tier])
        except UndecidedError as error:
            print(f"undecided  {mutant.name}: {error}", flush=True)
            return None
        finally:
            copies.put(copy)
        print(f"{result.seconds:7.1f} s  {mutant.name}: {result.by or 'NOT FOUND'}", flush=True)
        if given.write:
            results.note(mutant.name, given.tier, result)
        return result

    with ExitStack() as stack:
        for _ in range(given.jobs):
            copies.put(stack.enter_context(copy_of(ROOT)))
        pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
        played = list(pool.map(play, chosen))
    found = sum(bool(result and result.by) for result in played)
    print(f"{found} of {len(played)} found by {given.tier.command}")
    if given.write:
        page.PAGE.write_text(page.written(list(known.values()), results.read()), encoding="utf-8")
    return 0 if found == len(played) else 1


def _was_found(mutant: Mutant, tier: Tier) -> bool:
    result = results.found(results.read().get(mutant.name, {}), tier)
    return result is not None and bool(result.by)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
