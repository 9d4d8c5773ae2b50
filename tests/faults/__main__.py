"""python -m tests.faults: every call of AWS that our functions make, and what can befall it.

Prints a table, and what was found wrong; the exit code is then 1. Nothing is sampled.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.faults.broken import VARIANTS
from tests.faults.clock import CLOCK
from tests.faults.harness import EachCall, See, Verdict
from tests.faults.kinds import ERRORS, denied
from tests.faults.office import Town
from tests.faults.suites import SUITES, Suite, dying_worker, worker
from tests.faults.world import World

from postroom.local.emulator import Emulator

PAGE = Path(__file__).parent.parent.parent / "docs" / "faults.md"
MARK = "<!-- written by python -m tests.faults --write -->\n"
HEAD = "| Flow | AWS calls | Runs | What befell each call | Wrong afterwards |\n|---|--:|--:|---|--:|\n"


def main(arguments: Sequence[str]) -> int:
    """Play the suites that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--batch", type=int, default=0, help="only the worker's batch of everything, of this size")
    parser.add_argument("--deaths", action="store_true", help="of that batch deaths only, no errors and no rivals")
    parser.add_argument("--broken", choices=VARIANTS, help="break this, and play what should find it")
    parser.add_argument("--places", action="store_true", help="play each flow once; print where our code calls AWS")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    given = parser.parse_args(arguments)
    suites = [SUITES[name] for name in given.suites or SUITES]
    if given.batch:
        suites = [Suite([dying_worker(given.batch) if given.deaths else worker(given.batch, *ERRORS, denied)])]
    if given.broken:
        variant = VARIANTS[given.broken]
        variant.breaks()
        suites = [Suite([variant.play], variant.settings)]
    if given.places:
        plays = [EachCall(play.flow) for suite in suites for play in suite.plays]
        suites = [Suite(plays, {name: value for suite in suites for name, value in suite.settings.items()})]
    verdicts: list[Verdict] = []
    with _functions_log() as (out, log):
        for suite in suites:
            for verdict in _played(suite, log, _shown_at(out)):
                print(*([HEAD] if not verdicts else []), row(verdict), sep="", end="", file=out, flush=True)
                verdicts.append(verdict)
        faults = [fault for verdict in verdicts for fault in verdict.faults]
        print(*faults, sep="\n", file=out)
        if given.places:
            print(*sorted(set().union(*(verdict.places for verdict in verdicts))), sep="\n", file=out)
    if given.write:
        text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(text + MARK + HEAD + "".join(map(row, verdicts)), encoding="utf-8")
    return 1 if faults else 0


def row(verdict: Verdict) -> str:
    """A line of the table."""
    befell = ", ".join(f"{what} {runs}" for what, runs in verdict.runs.items() if what != "undisturbed")
    calls = len(verdict.calls) or ""
    return f"| {verdict.flow} | {calls} | {sum(verdict.runs.values())} | {befell} | {len(verdict.faults)} |\n"


def _shown_at(out: TextIO) -> See:
    """Where somebody watches, the line that a flow's row will take says how far it is."""

    def see(said: str) -> None:
        if out.isatty():
            print(f"\r\x1b[K{said}", end="\r", file=out, flush=True)

    return see


def _played(suite: Suite, log: Path, see: See) -> Iterator[Verdict]:
    with (
        tempfile.TemporaryDirectory() as directory,
        World(Path(directory)) as world,
        Emulator() as emulator,
        CLOCK.installed(),
    ):
        town = Town.found(emulator.endpoint, world, log, suite.settings)
        for play in suite.plays:
            verdict = play.played(town, see)
            see("")
            yield verdict


@contextmanager
def _functions_log() -> Iterator[tuple[TextIO, Path]]:
    """The functions log to standard output, which goes to a file; what we have to say goes where that went."""
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.NamedTemporaryFile() as log, Path(log.name).open("ab") as end, os.fdopen(os.dup(1), "w") as out:
        for descriptor in (1, 2):
            # At its end, wherever that is: it is emptied before each run.
            os.dup2(end.fileno(), descriptor)
        try:
            yield out, Path(log.name)
        finally:
            for descriptor, was in zip((1, 2), kept, strict=True):
                os.dup2(was, descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
