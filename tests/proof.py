"""The release tests (`make proof`): they run part by part, with progress and an estimate of the remaining time.

Without `--minutes` every part runs. With it, those that are expected to fit run, beginning at a part that depends on
the rotation number, so that successive days run different parts. The other parts are named at the end. Exit code 0:
every part that ran has passed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.rotation import TURNS
from tests.schedule import durations
from tests.tiers import Tier, todays_rotation

HERE = Path(__file__).parent
SECONDS = HERE / "proof.json"
"""The seconds that each part took in the run that wrote this file, on 2 cores."""
_UNKNOWN_SECONDS = 600.0
"""The expected seconds of a program that is not in the file."""
_TIMES_ALL = 3.0
"""The expected duration of tests that are not in the file, as a multiple of that in `make test-all`."""


@dataclass(frozen=True)
class Part:
    """A command that passes or fails. `seconds`: its expected duration."""

    name: str
    command: tuple[str, ...]
    seconds: float

    def plays(self) -> tuple[bool, float]:
        """Whether it passed, and the seconds it took."""
        begun = time.monotonic()
        passed = subprocess.run(self.command, cwd=HERE.parent, check=False).returncode == 0
        return passed, time.monotonic() - begun


def parts(rotation: int) -> list[Part]:
    """Every part of the proof. `rotation` chooses the seed of the soak."""
    known = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    named = dict(_commands(rotation))
    return [Part(name, command, known.get(name) or _expected(command)) for name, command in named.items()]


def _expected(command: Sequence[str]) -> float:
    """The expected seconds of a part, by those of its tests in `make test-all`, in two processes."""
    paths = [word for word in command if word.startswith("tests/")]
    seconds = [took[0] for path, took in durations().items() if any(Path(path).is_relative_to(one) for one in paths)]
    return sum(seconds) / 2 * _TIMES_ALL if paths else _UNKNOWN_SECONDS


def _commands(rotation: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    program = (sys.executable, "-m")
    test = (*program, "pytest", "--tier", Tier.PROOF, "--rotation", str(rotation), "-n", "2", "--dist", "loadgroup")
    for folder in sorted({path.parent.relative_to(HERE).parts[0] for path in HERE.glob("*/**/test_*.py")}):
        yield f"tests/{folder}", (*test, f"tests/{folder}")
    yield "tests/test_*.py", (*test, *(f"tests/{path.name}" for path in sorted(HERE.glob("test_*.py"))))
    for turn in range(TURNS):
        share = ("--tier", Tier.QUICK, "--rotation", str(turn))
        batch = (*program, "tests.faults", "--batch", "100", "--deaths", *share)
        yield f"faults: deaths in a batch of 100, quarter {turn + 1}", batch
    yield "soak: 20,000 messages", (*program, "tests.soak", "--messages", "20000", "--seed", str(rotation))


def chosen(every: Sequence[Part], rotation: int, minutes: float | None) -> list[Part]:
    """The parts that are expected to fit into `minutes`, or all, beginning with the part of this rotation."""
    first = rotation % len(every)
    ordered = [*every[first:], *every[:first]]
    if minutes is None:
        return ordered
    fitting, left = [], minutes * 60
    for part in ordered:
        if part.seconds <= left:
            fitting.append(part)
            left -= part.seconds
    return fitting


def main() -> int:
    """Run the parts, and print the remaining time before each."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, help="run only parts that are expected to fit into this number of minutes"
    )
    parser.add_argument("--rotation", type=int, default=todays_rotation(), help="default: today's number")
    parser.add_argument("--list", action="store_true", help="list the parts, and run none")
    parser.add_argument("--write", action="store_true", help=f"write the seconds of each part to {SECONDS.name}")
    given = parser.parse_args()
    every = parts(given.rotation)
    todo = chosen(every, given.rotation, given.minutes)
    _say(f"proof --rotation {given.rotation}: {len(todo)} of {len(every)} parts, {_about(todo)}")
    if given.list:
        for part in todo:
            _say(f"  {part.name}: {_about([part])}: {' '.join(part.command[1:])}")
        return 0
    failed, took = [], {}
    for number, part in enumerate(todo):
        _say(f"part {number + 1} of {len(todo)}: {part.name}; {_about(todo[number:])} left")
        passed, took[part.name] = part.plays()
        failed += [] if passed else [part]
        if given.write:
            known = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
            table = {**known, **{name: round(seconds) for name, seconds in took.items()}}
            SECONDS.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    for part in every:
        if part not in todo:
            _say(f"not run: {part.name}, {_about([part])}")
    for part in failed:
        _say(f"failed: {part.name}: {' '.join(part.command[1:])}")
    _say(f"{len(todo) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _about(some: Sequence[Part]) -> str:
    return f"about {sum(part.seconds for part in some) / 60:.0f} min"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
