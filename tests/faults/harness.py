"""The harness: a flow is run once, and then once more for each of its calls of AWS and each thing that can befall it."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.clock import CLOCK
from tests.faults.flows import Flow, Run
from tests.faults.fork import Died, in_a_process
from tests.faults.kinds import Strike, at
from tests.faults.office import Json, Town


@dataclass
class Verdict:
    """What came of a flow. `calls`: what a run without faults calls, in order. `runs`: by what befell it."""

    flow: str
    calls: list[str] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def play(town: Town, flow: Flow, strikes: Sequence[Strike], meanwhile: Callable[[Run], object] | None = None) -> Verdict:
    """Run `flow` once, then for each of its calls and each of `strikes` again."""
    verdict = Verdict(flow.name)
    verdict.calls = _Story(town, flow, verdict).told("undisturbed", None, 0)
    for strike in strikes:
        for number in range(1, len(verdict.calls) + 1):
            _Story(town, flow, verdict).told(strike.__name__.replace("_", " "), strike, number)
    return verdict


@dataclass
class _Story:
    """One run."""

    town: Town
    flow: Flow
    verdict: Verdict

    def told(self, what: str, strike: Strike | None, number: int) -> list[str]:
        """The calls that the victim made. What is wrong afterwards goes to the verdict."""
        run = in_a_process(lambda: self.flow.prepare(self.town))
        assert isinstance(run, Run)
        ours, theirs = os.pipe()
        answers = in_a_process(lambda: self._act(run, strike, number, theirs))
        os.close(theirs)
        with os.fdopen(ours) as told:
            calls = told.read().splitlines()
        faults = in_a_process(
            lambda: self.flow.settle(self.town, run, [] if isinstance(answers, Died) else answers)
        )
        assert isinstance(faults, list)
        if len(calls) < number:
            faults.append("the run went another way, and never came to this call")
        where = f"{what} {number}. {self.verdict.calls[number - 1]}" if number else what
        self.verdict.faults += [f"{self.flow.name}, {where}: {fault}" for fault in faults]
        self.verdict.runs[what] = self.verdict.runs.get(what, 0) + 1
        return calls

    def _act(self, run: Run, strike: Strike | None, number: int, told: int) -> list[Json]:
        self.town.tap.begin(at(number, strike) if strike else None, told)
        return self.flow.act(self.town, run)
