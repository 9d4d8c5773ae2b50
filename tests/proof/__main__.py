"""The proof (`make proof`): everything, part by part, with a record (`tests/proof.json`) of what is proven.

A part that passed is played again only if what it can reach has changed. What is due for longest is played first; with
`--minutes`, as much of it as is expected to fit. The record is written after each part, so that an interrupted run
loses one. Exit code 0: every part that ran has passed.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.proof import record
from tests.proof.inputs import ROOT, Checkout
from tests.proof.parts import Part, parts
from tests.proof.record import Entry

Play = Callable[[Part], bool]
"""Plays a part; returns whether it passed."""


class Proof:
    """The parts of a checkout, and the record of them in `file`."""

    def __init__(self, checkout: Checkout, every: Sequence[Part], file: Path = record.FILE) -> None:
        self._checkout, self.every, self._file = checkout, every, file

    def due(self, *, again: bool = False) -> dict[Part, str]:
        """Why each part is due, those that are due for longest first. `again`: also those that are proven."""
        known = self._known()
        why = {part: self._why_due(part, known) or ("it is played again" if again else "") for part in self.every}
        due = [part for part in self.every if why[part]]
        due.sort(key=lambda part: known[part.name].date if part.name in known else "")
        return {part: why[part] for part in due}

    def states(self) -> list[str]:
        """A line for each part: where it is proven, or why it is due."""
        known, due = self._known(), self.due()
        return [
            f"{part.name}: due, because {due[part]}; {about([self.expected(part)])}" if part in due
            else f"{part.name}: proven at {known[part.name].commit[:8]} on {known[part.name].date}"
            for part in self.every
        ]  # fmt: skip

    def expected(self, part: Part) -> float:
        """The seconds that a part takes: as many as it took, or an estimate."""
        known = self._known()
        return known[part.name].seconds if part.name in known else part.seconds

    def fitting(self, due: Sequence[Part], minutes: float | None) -> list[Part]:
        """The parts that are expected to fit into `minutes`, or all."""
        fitting, left = [], float("inf") if minutes is None else minutes * 60
        for part in due:
            if self.expected(part) <= left:
                fitting.append(part)
                left -= self.expected(part)
        return fitting

    def play(self, part: Part, play: Play) -> bool:
        """Play a part, and note how it ended. Raises ChangedError."""
        # Of uncommitted changes, nobody else could repeat what was played, and no later run could compare with it.
        if changes := self._checkout.changes():
            raise ChangedError(f"commit these first, because the record names a commit: {', '.join(changes)}")
        commit, inputs = self._checkout.commit(), Checkout(self._checkout.root).digest(part.starts)
        begun = time.monotonic()
        passed = play(part)
        seconds = round(time.monotonic() - begun)
        if inputs != Checkout(self._checkout.root).digest(part.starts):
            raise ChangedError(f"files changed while {part.name} was played, so nothing is recorded of it")
        date = f"{datetime.now(UTC):%Y-%m-%d}"
        entry = Entry(passed, commit, date, inputs, seconds)
        record.note(part.name, entry, {each.name for each in self.every}, self._file)
        return passed

    def _known(self) -> Mapping[str, Entry]:
        return record.read(self._file)

    def _why_due(self, part: Part, known: Mapping[str, Entry]) -> str:
        if part.name not in known:
            return part.lacks or "it was never played"
        why = known[part.name].why_due(self._checkout.digest(part.starts))
        return f"{why}, and {part.lacks}" if why and part.lacks else why


class ChangedError(Exception):
    """The files of the checkout are not those of a commit; the text has details."""


def main(proof: Proof, play: Play, arguments: Sequence[str]) -> int:
    """Play what is due."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these, whether they are due or not")
    parser.add_argument("--minutes", type=float, help="only what is expected to fit into this number of minutes")
    parser.add_argument("--again", action="store_true", help="also what is proven")
    parser.add_argument("--list", action="store_true", help="print what is proven and what is due, and play nothing")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - {part.name for part in proof.every}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; --list lists them")
    if given.list:
        print(*proof.states(), sep="\n")
        return 0
    due = proof.due(again=given.again or bool(given.parts))
    if given.parts:
        due = {part: why for part, why in due.items() if part.name in given.parts}
    todo = proof.fitting([part for part in due if not part.lacks], given.minutes)
    _say(f"{len(due)} of {len(proof.every)} parts are due; {len(todo)} of them run now, {_all(proof, todo)}")
    failed = []
    for number, part in enumerate(todo):
        _say(f"part {number + 1} of {len(todo)}: {part.name}, because {due[part]}; {_all(proof, todo[number:])} left")
        try:
            failed += [] if proof.play(part, play) else [part]
        except ChangedError as error:
            _say(str(error))
            return 1
    for part in failed:
        _say(f"failed: {part.name}: {' '.join(part.command)}")
    for part, why in due.items():
        if part not in todo:
            _say(f"still due: {part.name}, because {why}")
    _say(f"{len(todo) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def about(seconds: Sequence[float]) -> str:
    """A duration in words."""
    return f"about {max(1, round(sum(seconds) / 60))} min"


def _all(proof: Proof, some: Sequence[Part]) -> str:
    return about([proof.expected(part) for part in some]) if some else "nothing"


def _say(text: str) -> None:
    print(text, flush=True)


def _run(part: Part) -> bool:
    return subprocess.run(part.command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(Proof(Checkout(ROOT), parts()), _run, sys.argv[1:]))
