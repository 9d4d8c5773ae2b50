"""The command line of the fault tests (`python -m tests.faults`): each AWS call of the functions with each fault.

It prints a table, and the problems found; with problems, the exit code is 1. Without a tier, everything runs. A tier
runs a share, which differs in the next rotation.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from typing import NamedTuple, TextIO

from tests.faults.broken import VARIANTS
from tests.faults.clock import CLOCK
from tests.faults.fake_internet import FakeInternet
from tests.faults.harness import DIE, EachCall, EachDropped, See, Verdict
from tests.faults.kinds import ERRORS, denied
from tests.faults.rotation import Share
from tests.faults.stack import FaultStack
from tests.faults.suites import SUITES, Suite, dying_worker, worker
from tests.functions.stack import ACCOUNT
from tests.tiers import Tier

from postroom.local.emulator import Emulator

PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence" / "faults.md"
MARK = "<!-- written by python -m tests.faults --write -->\n"
HEAD = "| Flow | AWS calls | Runs | Faults at each call | Problems |"
RULE = "|---|--:|--:|---|--:|"
DROPPED_TURNS = 20
"""With a tier, one of so many flows is played by `--dropped`, another one in the next rotation."""
NOW = " Run now |"
"""An additional column of the printed table."""


class _Group(NamedTuple):
    """A suite to run, and the code that is broken while it runs."""

    name: str
    suite: Suite
    broken: AbstractContextManager[None] = nullcontext()


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments select."""
    given = _given(arguments)
    verdicts: list[Verdict] = []
    faulty: list[str] = []
    with _functions_log() as (out, log), _started(log) as stack:
        print(f"{HEAD}{NOW}", f"{RULE}---|", sep="\n", file=out)
        for name, suite, broken in _groups(given):
            faults: list[str] = []
            stack.settle_by(suite.settings)
            share = Share(given.tier or Tier.PROOF, given.rotation, given.quarters.get(name, 1))
            with broken:
                for play in suite.plays:
                    verdict = play.played(stack, _shown_at(out), share)
                    _shown_at(out)("")
                    print(f"{row(verdict)} {_befell(verdict.played)} |", file=out, flush=True)
                    verdicts.append(verdict)
                    faults += verdict.faults
            print(*(f"{name}: {fault}" for fault in faults), sep="\n", end="\n" if faults else "", file=out)
            faulty += [name] if faults else []
        if given.places:
            print(*sorted(set().union(*(verdict.places for verdict in verdicts))), sep="\n", file=out)
        if faulty and not given.broken and not given.batch:
            print("again:", _again(given, faulty), file=out)
    if given.write:
        text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        rows = "".join(f"{row(verdict)}\n" for verdict in verdicts)
        PAGE.write_text(f"{text}{MARK}{HEAD}\n{RULE}\n{rows}", encoding="utf-8")
    return 1 if faulty else 0


def _given(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--tier", type=Tier, choices=list(Tier), help="run the share of this tier")
    parser.add_argument("--rotation", type=int, default=0, help="which share to run; default: 0")
    parser.add_argument(
        "--quarters", nargs="+", default=[], metavar="SUITE=N", help="of these suites so many quarters, with --tier all"
    )
    parser.add_argument("--batch", type=int, default=0, help="only the worker's batch of everything, of this size")
    parser.add_argument("--deaths", action="store_true", help="of that batch deaths only, no errors and no rivals")
    parser.add_argument(
        "--broken", nargs="+", choices=VARIANTS, metavar="NAME",
        help=f"break this, and play what should find it: {', '.join(VARIANTS)}",
    )  # fmt: skip
    parser.add_argument("--dropped", action="store_true", help="play the deaths that are dropped, beside their like")
    parser.add_argument("--places", action="store_true", help="print where our code calls AWS; without a tier, of a "
                        "single run of each flow")  # fmt: skip
    parser.add_argument(
        "--write", action="store_true", help=f"write the table to {PAGE.name}, from a run of everything"
    )
    given = parser.parse_args(arguments)
    given.quarters = {name: int(number) for name, number in (each.split("=") for each in given.quarters)}
    if given.write and len(arguments) > 1:
        parser.error("--write is for a run of everything")
    return given


def _groups(given: argparse.Namespace) -> Iterator[_Group]:
    if given.broken:
        for variant in (VARIANTS[name] for name in given.broken):
            yield _Group(variant.name, Suite([variant.play], variant.settings), variant.broken())
        return
    if given.batch:
        yield _Group(
            "batch", Suite([dying_worker(given.batch) if given.deaths else worker(given.batch, *ERRORS, denied)])
        )
        return
    numbers = count()
    names = given.suites or list(SUITES)
    # Over all suites: they differ much in length.
    every = [play for name in names for play in SUITES[name].plays]
    turn = Share(given.tier or Tier.PROOF, given.rotation).flows(every)
    for name in names:
        suite = SUITES[name]
        if given.dropped:
            flows = [each.flow for each in suite.plays if isinstance(each, EachCall) and each.dies]
            turns = [not given.tier or next(numbers) % DROPPED_TURNS == given.rotation % DROPPED_TURNS for _ in flows]
            suite = Suite([EachDropped(flow) for flow, turn in zip(flows, turns, strict=True) if turn], suite.settings)
        elif given.places and not given.tier:
            suite = Suite([EachCall(each.flow, dies=False) for each in suite.plays], suite.settings)
        else:
            suite = Suite([play for play in suite.plays if any(play is each for each in turn)], suite.settings)
        yield _Group(name, suite)


def _again(given: argparse.Namespace, suites: Sequence[str]) -> str:
    """The command that repeats the same run."""
    tier = f" --tier {given.tier} --rotation {given.rotation}" if given.tier else ""
    quarters = [f"{name}={number}" for name, number in given.quarters.items() if name in suites]
    tier += f" --quarters {' '.join(quarters)} --" if quarters else ""
    return f"python -m tests.faults{tier}{' --dropped' if given.dropped else ''} {' '.join(suites)}"


def row(verdict: Verdict) -> str:
    """A row of the table."""
    befell = _befell(verdict.runs)
    if verdict.dropped:
        kept = verdict.runs[DIE]
        said = f"{DIE} {kept} (of {kept + verdict.dropped}; {verdict.dropped} are the same)"
        befell = befell.replace(f"{DIE} {kept}", said, 1)
    calls = len(verdict.calls) or ""
    return f"| {verdict.flow} | {calls} | {sum(verdict.runs.values())} | {befell} | {len(verdict.faults)} |"


def _befell(runs: dict[str, int]) -> str:
    return ", ".join(f"{what} {number}" for what, number in runs.items() if what != "undisturbed")


def _shown_at(out: TextIO) -> See:
    """On a terminal, show the progress of a flow in the line that its row will take."""

    def see(said: str) -> None:
        if out.isatty():
            print(f"\r\x1b[K{said}", end="\r", file=out, flush=True)

    return see


@contextmanager
def _started(log: Path) -> Iterator[FaultStack]:
    with (
        tempfile.TemporaryDirectory() as directory,
        FakeInternet(Path(directory)) as internet,
        Emulator() as emulator,
        CLOCK.installed(),
    ):
        yield FaultStack.create(emulator.clients(ACCOUNT).at, internet, log)


@contextmanager
def _functions_log() -> Iterator[tuple[TextIO, Path]]:
    """Redirect standard output, to which the functions log, to a file; yields the original, and the file."""
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.NamedTemporaryFile() as log, Path(log.name).open("ab") as end, os.fdopen(os.dup(1), "w") as out:
        # What a function logs counts as soon as it is logged, also where the output is a pipe.
        assert isinstance(sys.stdout, TextIOWrapper)
        sys.stdout.reconfigure(line_buffering=True)
        for descriptor in (1, 2):
            # In append mode, because the file is emptied before each run.
            os.dup2(end.fileno(), descriptor)
        try:
            yield out, Path(log.name)
        finally:
            for descriptor, was in zip((1, 2), kept, strict=True):
                os.dup2(was, descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
