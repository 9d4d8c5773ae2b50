"""The harness: a flow is run once, and then again for each of its calls of AWS and each thing that can befall it."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from tests.faults.flows import Flow, Run
from tests.faults.fork import BrokenError, Died, in_a_process
from tests.faults.judge import Judge
from tests.faults.kinds import Strike, at, taking, untouched
from tests.faults.office import Json, Town
from tests.faults.queues import Queues, event_of
from tests.faults.tap import Told

See = Callable[[str], None]
"""Is told what is played now."""


@dataclass
class Verdict:
    """What came of a flow. `calls`: those of a run without faults, in order. `runs`: how many, by what befell them.

    `places`: of our code, that those calls come through.
    """

    flow: str
    calls: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    runs: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rival:
    """A second worker that gets the victim's batch, while the victim waits before one of its calls.

    `keys`: whether senders' keys are published when it judges. `owner`: the owner acknowledges what it filed, before
    the victim goes on.
    """

    name: str
    keys: bool = True
    owner: bool = False

    def works(self, town: Town, flow: Flow, run: Run) -> None:
        """Meanwhile."""
        if self.keys == flow.keyless:
            town.world.publish(keys=self.keys)
        acknowledged = in_a_process(lambda: self._work(town, flow, run))
        if not self.keys:
            town.world.publish(keys=True)
        assert isinstance(acknowledged, set)
        run.acknowledged |= acknowledged

    def _work(self, town: Town, flow: Flow, run: Run) -> set[str]:
        flow.act(town, run)
        judge = Judge(town, Queues(town))
        if self.owner:
            judge.acknowledge_all()
        return judge.acknowledged


@dataclass(frozen=True)
class EachCall:
    """Run `flow` once; then again for each of its calls, with each of `strikes` and each of `rivals`."""

    flow: Flow
    strikes: Sequence[Strike] = ()
    rivals: Sequence[tuple[Strike, Rival]] = ()

    def played(self, town: Town, see: See) -> Verdict:
        """What came of it."""
        flow, verdict = self.flow, undisturbed(town, self.flow)
        partial = [call for call in verdict.calls if "Batch" in call]
        verdict.faults += [f"{flow.name}: {call} can succeed in part, which no kind of fault plays" for call in partial]
        for strike, rival in [*((strike, None) for strike in self.strikes), *self.rivals]:
            what = rival.name if rival else strike.__name__.replace("_", " ")
            for number in range(1, len(verdict.calls) + 1):
                see(f"{flow.name}: {what} {number} of {len(verdict.calls)}")
                _told(town, flow, verdict, what, strike, number, rival)
        return verdict


@dataclass(frozen=True)
class EachOrder:
    """Hand out the flow's batch one by one, each message twice, in every order there is; then delete it all."""

    flow: Flow

    def played(self, town: Town, see: See) -> Verdict:
        """What came of it."""
        verdict = Verdict(self.flow.name)
        for order in permutations(range(len(self.flow.make()))):
            see(f"{self.flow.name}: {order}")
            for late in range(len(order) + 1):
                # Each once in this order; then those from `late` on a second time, the other way round.
                _shuffled(town, self.flow, verdict, [*order, *reversed(order[late:])])
        return verdict


def undisturbed(town: Town, flow: Flow) -> Verdict:
    """Run `flow` once, and nothing befalls it."""
    verdict = Verdict(flow.name)
    told = _told(town, flow, verdict, "undisturbed")
    verdict.calls = [each.call for each in told]
    verdict.places = {place for each in told for place in each.places}
    return verdict


def _shuffled(town: Town, flow: Flow, verdict: Verdict, order: list[int]) -> None:
    run = in_a_process(lambda: flow.prepare(town))
    assert isinstance(run, Run)
    in_a_process(lambda: [town.call(flow.function, event_of(flow.queue, [run.batch[place]])) for place in order])
    _settle(town, flow, verdict, "shuffled", f"shuffled {order}", run, [{"batchItemFailures": []}])


def _told(
    town: Town,
    flow: Flow,
    verdict: Verdict,
    what: str,
    strike: Strike = untouched,
    number: int = 0,
    rival: Rival | None = None,
) -> list[Told]:
    """One run: the calls that the victim made. What is wrong afterwards goes to the verdict."""
    run = in_a_process(lambda: flow.prepare(town))
    assert isinstance(run, Run)
    where = f"{what} {number}. {verdict.calls[number - 1]}" if number else what
    # A pipe would be full before anybody reads it.
    with tempfile.TemporaryFile() as told:

        def act() -> list[Json]:
            town.tap.begin(taking(flow.seconds_a_call, at(number, strike)), told.fileno())
            return flow.act(town, run)

        try:
            answers = in_a_process(act, lambda: rival.works(town, flow, run) if rival else None)
        except BrokenError as error:
            verdict.faults.append(f"{flow.name}, {where}: the function failed: {error}")
            answers = Died()
        told.seek(0)
        calls = [Told(*json.loads(line)) for line in told]
    if len(calls) < number:
        verdict.faults.append(f"{flow.name}, {where}: the run went another way, and never came to this call")
    said = [] if isinstance(answers, Died) else answers
    # What befalls one call befalls one message, its neighbours go on; a segment alone holds those of a whole batch.
    undone = sum(len(answer.get("batchItemFailures", ())) for answer in said)
    if undone > (1 if number else 0) and not where.endswith("PutObject"):
        verdict.faults.append(f"{flow.name}, {where}: {undone} messages are to be handed out again")
    _settle(town, flow, verdict, what, where, run, said)
    return calls


def _settle(town: Town, flow: Flow, verdict: Verdict, what: str, where: str, run: Run, answers: list[Json]) -> None:
    try:
        faults = in_a_process(lambda: flow.settle(town, run, answers))
    except BrokenError as error:
        faults = [f"it cannot be settled: {error}"]
    assert isinstance(faults, list)
    verdict.faults += [f"{flow.name}, {where}: {fault}" for fault in faults]
    verdict.runs[what] = verdict.runs.get(what, 0) + 1
