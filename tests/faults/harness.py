"""The harness of the fault tests: it runs a flow once, and then again for each of its AWS calls and each fault."""

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TypeVar

from tests.faults.deaths import Death, Moment, deaths
from tests.faults.flows import Flow, Run
from tests.faults.fork import BrokenError, Died, in_a_process
from tests.faults.judge import Judge
from tests.faults.kinds import Strike, at, die_after, die_before, taking, untouched
from tests.faults.left import Watcher, alike
from tests.faults.queues import Queues, event_of
from tests.faults.rotation import Share
from tests.faults.stack import FaultStack, Json
from tests.faults.tap import CallRecord, Look

T = TypeVar("T")
See = Callable[[str], None]
"""Is called with a description of the current run."""
DIE = "die"


@dataclass
class Verdict:
    """The result of a flow. `calls`: of a run without faults, in order. `dropped`: deaths that are equal to others.

    `runs`: the number of possible runs, by kind of fault; `played`: those that were run. `places`: where our code makes
    the calls.
    """

    flow: str
    calls: list[CallRecord] = field(default_factory=list)
    dropped: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    played: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def places(self) -> set[str]:
        return {place for record in self.calls for place in record.places}


@dataclass(frozen=True)
class Rival:
    """A second worker that gets the same batch while the victim waits before one of its calls.

    `keys`: whether senders' keys are published for it. `owner`: the owner acknowledges what it filed, before the victim
    continues.
    """

    name: str
    keys: bool = True
    owner: bool = False

    def works(self, stack: FaultStack, flow: Flow, run: Run) -> None:
        """Run the second worker while the victim waits."""
        if self.keys == flow.keyless:
            stack.internet.publish(keys=self.keys)
        acknowledged = in_a_process(lambda: self._work(stack, flow, run))
        if not self.keys:
            stack.internet.publish(keys=True)
        assert isinstance(acknowledged, set)
        run.acknowledged |= acknowledged

    def _work(self, stack: FaultStack, flow: Flow, run: Run) -> set[str]:
        flow.overtake(stack, run)
        judge = Judge(stack, Queues(stack))
        if self.owner:
            judge.acknowledge_all()
        return judge.acknowledged


@dataclass(frozen=True)
class Planned:
    """A run with the fault `strike` at call `number` (0: no fault). `rival`: a second worker."""

    what: str
    strike: Strike = untouched
    number: int = 0
    rival: Rival | None = None

    def where(self, calls: Sequence[CallRecord]) -> str:
        """The run in words."""
        said = f"{self.strike.__name__.replace('_', ' ')}" if self.what == DIE else self.what
        return f"{said} {self.number}. {calls[self.number - 1].call}" if self.number else said


@dataclass(frozen=True)
class EachCall:
    """Run `flow` once; then again for each of its calls, with each of `errors` and each of `rivals`.

    `dies`: and once more for each different death. `longer`: a share of it takes so many times the turns, because each
    run of a large batch takes long.
    """

    flow: Flow
    errors: Sequence[Strike] = ()
    rivals: Sequence[tuple[Strike, Rival]] = ()
    dies: bool = True
    longer: int = 1

    def played(self, stack: FaultStack, see: See, share: Share) -> Verdict:
        """What came of it."""
        flow, verdict = self.flow, undisturbed(stack, self.flow)
        # If only some messages are hidden, the others come after the visibility time-out, as if none had been.
        calls = [record.call for record in verdict.calls]
        partial = [call for call in calls if "Batch" in call and "ChangeMessageVisibilityBatch" not in call]
        verdict.faults += [f"{flow.name}: {call} can succeed in part, which no kind of fault plays" for call in partial]
        dying = deaths(verdict.calls) if self.dies else []
        verdict.dropped = sum(len(death.same) for death in dying)
        deadly, others = [_dying(death.moment) for death in dying], list(self._others(len(verdict.calls)))
        verdict.runs.update(planned.what for planned in [*deadly, *others])
        for planned in share.of(deadly, others, longer=self.longer):
            see(f"{flow.name}: {planned.where(verdict.calls)}, of {len(verdict.calls)}")
            _told(stack, flow, verdict, planned)
        return verdict

    def _others(self, calls: int) -> list[Planned]:
        """All that is no death, numbered for ever by kind and call."""
        kinds = [*((strike, None) for strike in self.errors), *self.rivals]
        return [
            Planned(rival.name if rival else strike.__name__.replace("_", " "), strike, number, rival)
            for strike, rival in kinds for number in range(1, calls + 1)
        ]  # fmt: skip


@dataclass(frozen=True)
class EachOrder:
    """Deliver the messages of a flow one by one, each twice, in every possible order; then delete them all."""

    flow: Flow

    def played(self, stack: FaultStack, see: See, share: Share) -> Verdict:
        """What came of it."""
        verdict = Verdict(self.flow.name)
        orders = list(permutations(range(len(self.flow.make()))))
        # Each once in this order; then those from `late` on a second time, in reverse order.
        every = [[*order, *reversed(order[late:])] for order in orders for late in range(len(order) + 1)]
        verdict.runs["shuffled"] = len(every)
        for order in share.of([], every):
            see(f"{self.flow.name}: {order}")
            _shuffled(stack, self.flow, verdict, order)
        return verdict


@dataclass(frozen=True)
class EachDropped:
    """Run the deaths that are equal to others: each must leave the same state, except for ids and times."""

    flow: Flow

    def played(self, stack: FaultStack, see: See, share: Share) -> Verdict:
        """The result, which does not depend on the rotation."""
        del share
        flow, verdict = self.flow, undisturbed(stack, self.flow)
        kept = []
        for death in deaths(verdict.calls):
            kept.append(_left(stack, flow, verdict, death, death.moment))
            for moment in death.same:
                see(f"{flow.name}: {moment}")
                if _left(stack, flow, verdict, death, moment) != kept[-1]:
                    verdict.faults.append(f"{flow.name}, {moment}: it leaves something else than {death.moment}")
        if len(kept) > 1 and all(each == kept[0] for each in kept):
            verdict.faults.append(f"{flow.name}: all deaths leave the same, so nothing is seen of them")
        return verdict


def undisturbed(stack: FaultStack, flow: Flow) -> Verdict:
    """Run `flow` once without faults, and record its calls."""
    verdict = Verdict(flow.name, runs=Counter(["undisturbed"]))
    stack.sweep()
    _told(stack, flow, verdict, Planned("undisturbed"))
    return verdict


def _dying(moment: Moment) -> Planned:
    return Planned(DIE, die_after if moment.after else die_before, moment.number)


def _cold(stack: FaultStack, run: Callable[[], T], **settings: str) -> T:
    """The result of `run` in this process, after a cold start. Raises BrokenError."""
    stack.start_cold(**settings)
    try:
        return run()
    except Exception as error:
        raise BrokenError(traceback.format_exc()) from error


def _shuffled(stack: FaultStack, flow: Flow, verdict: Verdict, order: list[int]) -> None:
    run = _cold(stack, lambda: flow.prepare(stack))
    _cold(stack, lambda: [stack.call(flow.function, event_of(flow.queue, [run.batch[place]])) for place in order])
    _settle(stack, flow, verdict, Planned("shuffled"), f"shuffled {order}", run, [{"batchItemFailures": []}])


def _told(stack: FaultStack, flow: Flow, verdict: Verdict, planned: Planned) -> None:
    """One run; its problems are added to the verdict."""
    run = _cold(stack, lambda: flow.prepare(stack))
    where = planned.where(verdict.calls)
    try:
        answers, came = _acted(stack, flow, verdict, planned, run)
    except BrokenError as error:
        verdict.faults.append(f"{flow.name}, {where}: the function failed: {error}")
        answers, came = Died(), True
    if not came:
        verdict.faults.append(f"{flow.name}, {where}: the run went another way, and never came to this call")
    said = [] if isinstance(answers, Died) else answers
    # A fault at one call affects one message, not the others; only a segment has the messages of a whole batch.
    undone = sum(len(answer.get("batchItemFailures", ())) for answer in said)
    undone -= flow.stays
    if undone > (1 if planned.number else 0) and not where.endswith("PutObject"):
        verdict.faults.append(f"{flow.name}, {where}: {undone} messages are to be handed out again")
    _settle(stack, flow, verdict, planned, where, run, said)


def _acted(
    stack: FaultStack, flow: Flow, verdict: Verdict, planned: Planned, run: Run
) -> tuple[list[Json] | Died, bool]:
    """The answers of the victim, and whether it reached the call with the fault. Raises BrokenError."""
    fault = taking(flow.seconds_a_call, at(planned.number, planned.strike))
    tap = stack.tap
    tap.failed = []

    def act(look: Look | None = None) -> list[Json]:
        tap.begin(fault, look)
        return flow.act(stack, run)

    if planned.rival or planned.what == DIE:
        met: list[object] = []

        def meanwhile() -> None:
            met.append(planned)
            assert planned.rival
            planned.rival.works(stack, flow, run)

        # A cold start: no connections and nothing cached from before.
        stack.start_cold(**flow.settings)
        answers = in_a_process(act, meanwhile)
        return answers, bool(met) if planned.rival else isinstance(answers, Died)
    try:
        if planned.number:
            return _cold(stack, act, **flow.settings), tap.calls >= planned.number
        answers = _cold(stack, lambda: act(Watcher(stack)), **flow.settings)
        verdict.calls = tap.records
        return answers, True
    finally:
        tap.end()


def _left(stack: FaultStack, flow: Flow, verdict: Verdict, death: Death, moment: Moment) -> list[str]:
    """The state after a death."""
    stack.sweep()
    run = _cold(stack, lambda: flow.prepare(stack))
    answers, _ = _acted(stack, flow, verdict, _dying(moment), run)
    if not isinstance(answers, Died):
        verdict.faults.append(f"{flow.name}, {moment}: the run went another way, and never came to this call")
    left = alike(stack)
    verdict.played["the same" if moment in death.same else "kept"] += 1
    stack.internet.publish(keys=True)
    flow.leave(stack)
    stack.purge()
    return left


def _settle(
    stack: FaultStack, flow: Flow, verdict: Verdict, planned: Planned, where: str, run: Run, answers: list[Json]
) -> None:
    try:
        faults = _cold(stack, lambda: flow.settle(stack, run, answers))
    except BrokenError as error:
        faults = [f"it cannot be settled: {error}"]
        stack.purge()
    verdict.faults += [f"{flow.name}, {where}: {fault}" for fault in faults]
    verdict.played[planned.what] += 1
