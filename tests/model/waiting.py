"""The explicit-state model of the counts of waiting claims: workers, the waiting queue and its function, and a clock.

Each claim waits for a silent zone of its own, and both zones are below one that is counted, too. A worker sends a claim
to the waiting queue, hidden for a while, and then writes the two counts. When the claim is visible, a run of the
waiting queue's function hides it again, and writes the counts of each period that this takes it into; or its zone has
answered, or its horizon has passed, and the run sends it to be judged and deletes it. Once it is judged, it may begin
to wait again.

One step is one call of AWS, or one of the clock. A run may be overtaken by any others between two steps, or end; the
claim is then handed out again, by whichever queue it is still in, and so there may be copies. All schedules are
explored. `Rules()` is the protocol; a variant changes one.

Beside the counts, a state has what an observer would know: which messages were in the queue in which period, and in
which they were not counted because a run ended.

Taken as given: a message is hidden for less than a period, and it is not late at the end of one period after the other:
what is received late each time is missing in the counts, and is in the length of the queue.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from tests.model.explore import BrokenError, Explored, explore

PERIOD: Final = 3
"""Steps of the clock."""
ABOVE: Final = "above"


@dataclass(frozen=True)
class Rules:
    """What a variant may do otherwise."""

    counted: Literal["in each period", "once", "each time"] = "in each period"
    """When a claim is counted: in each period in which it waits; when it begins to wait; or whenever it is hidden."""
    taken_off: Literal["never", "when it leaves"] = "never"
    answered: Literal["no change", "begins anew", "begins anew, above too"] = "no change"
    """What becomes of the counts of a zone that answers."""
    first: Literal["sent", "counted"] = "sent"
    """Which comes first, for a claim that begins to wait."""
    again: Literal["hidden", "counted"] = "hidden"
    """Which comes first, for a claim that waits on."""
    read: Literal["two periods", "one period", "all periods"] = "two periods"


@dataclass(frozen=True)
class Scope:
    """A case. `hidden`: how long a message may be hidden; `late`: how late a message, or a run, may be in all.

    `deaths`: how many runs may end; `returns`: how many claims begin to wait again; `last`: where the clock ends;
    `leave`: from when on each zone answers, or None: never.
    """

    name: str
    claims: int = 2
    hidden: tuple[int, ...] = (1, 2)
    late: int = 0
    deaths: int = 0
    returns: int = 0
    last: int = 4 * PERIOD
    leave: tuple[int | None, ...] = (None, 1)


class Place(NamedTuple):
    """A count of a row: of a zone, or of the one above, in a period."""

    row: str
    period: int


class Message(NamedTuple):
    """A message of the waiting queue. `number`: no other copy has it.

    `lost`: the periods in which it is not counted, because a run ended.
    """

    number: int
    claim: int
    until: int
    lost: frozenset[int] = frozenset()


class Queued(NamedTuple):
    """A claim in the worker's queues. `waited`: it was in the waiting queue, and may have been `lost` in its counts."""

    claim: int
    waited: bool = False
    lost: frozenset[int] = frozenset()


Change: TypeAlias = Callable[[Message], Message]


class Run(NamedTuple):
    """A run. `number`: of its message in the waiting queue; None: it is not there yet. `todo`: its calls.

    `until`: how long it hides the message.
    """

    who: Literal["worker", "waiting"]
    claim: int
    since: int
    todo: tuple[str | Place, ...]
    number: int | None = None
    until: int = 0
    begins: bool = False
    leaves: bool = False
    lost: frozenset[int] = frozenset()


class State(NamedTuple):
    time: int = 0
    queued: tuple[Queued, ...] = ()
    queue: tuple[Message, ...] = ()
    runs: tuple[Run, ...] = ()
    counts: tuple[tuple[Place, int], ...] = ()
    there: frozenset[tuple[Place, int]] = frozenset()
    """Which messages were in the waiting queue, for which row and period."""
    numbers: int = 0
    late: int = 0
    deaths: int = 0
    returns: int = 0


T = TypeVar("T")


def zone_of(claim: int) -> str:
    return f"zone {claim}"


def rows_of(claim: int) -> tuple[str, ...]:
    return zone_of(claim), ABOVE


def _sorted(values: Iterable[Run]) -> tuple[Run, ...]:
    return tuple(sorted(values, key=repr))


def _without(values: tuple[T, ...], value: T) -> tuple[T, ...]:
    """Without one of them that is equal."""
    index = values.index(value)
    return (*values[:index], *values[index + 1 :])


def entered(time: int, until: int, *, begins: bool) -> range:
    """The periods in which a claim is counted that is hidden from `time` until `until`."""
    return range(time // PERIOD + (0 if begins else 1), until // PERIOD + 1)


class Waiting:
    """The protocol under `rules`, in one case."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules, self.scope = rules, scope

    def explore(self) -> Explored:
        claims = tuple(map(Queued, range(self.scope.claims)))
        scope = self.scope
        start = State(queued=claims, late=scope.late, deaths=scope.deaths, returns=scope.returns)
        return explore(start, self.check, self.following)

    # ---- what must hold --------------------------------------------------------------------------------------
    def read(self, s: State, row: str) -> int:
        """The claims that the inbox takes to wait."""
        current = s.time // PERIOD
        counts = {place.period: count for place, count in s.counts if place.row == row}
        match self.rules.read:
            case "two periods":
                return max(counts.get(current, 0), counts.get(current - 1, 0))
            case "one period":
                return counts.get(current, 0)
            case "all periods":
                return max(counts.values(), default=0)

    def check(self, s: State) -> None:
        current = s.time // PERIOD
        for place, count in s.counts:
            if count < 0:
                raise BrokenError(f"NEGATIVE: the count of {place}")
            if place.period <= current and count > sum(there == place for there, _ in s.there):
                raise BrokenError(f"EXTRA: {place} counts what did not wait")
        for row in (*map(zone_of, range(self.scope.claims)), ABOVE):
            lately = {
                number for place, number in s.there if place.row == row and current - 1 <= place.period <= current
            }
            if self.read(s, row) > len(lately):
                raise BrokenError(f"KEPT: {row} counts what left two periods ago")
            wait = [each for each in s.queue if row in rows_of(each.claim) and self._is_known(s, each)]
            # A message that was late is in the count of this period, or of the last one.
            if len(wait) > self.read(s, row) * (2 if self.scope.late else 1):
                raise BrokenError(f"MISSING: {row} does not count what waits")

    def _is_known(self, s: State, message: Message) -> bool:
        """Whether a message must be counted: no run is at it, and none ended that had to count it."""
        period = s.time // PERIOD
        is_lost = period in message.lost or (self.scope.late and period - 1 in message.lost)
        return not is_lost and not self._is_at(s, message)

    # ---- all steps -------------------------------------------------------------------------------------------
    def following(self, s: State) -> Iterator[tuple[str, State]]:
        yield from self._time(s)
        for queued in dict.fromkeys(s.queued):
            yield from self._judge(s, queued)
        for message in s.queue:
            if message.until <= s.time and not self._is_at(s, message):
                yield from self._look(s, message)
        for run in s.runs:
            yield f"{run.who}, claim {run.claim}: {run.todo[0]}", self._step(s, run)
            if s.deaths:
                yield f"{run.who}, claim {run.claim}: ends", self._ended(s, run)

    def _time(self, s: State) -> Iterator[tuple[str, State]]:
        late = sum(each.until <= s.time and not self._is_at(s, each) for each in s.queue)
        late += len(s.runs) + sum(each.waited for each in s.queued)
        if s.time < self.scope.last and late <= s.late:
            time = s.time + 1
            there = {(Place(row, time // PERIOD), each.number) for each in s.queue for row in rows_of(each.claim)}
            yield "time goes on", s._replace(time=time, late=s.late - late, there=s.there | there)

    def _is_at(self, s: State, message: Message) -> bool:
        """Whether a run is at a message."""
        return any(run.number == message.number for run in s.runs)

    def _answers(self, s: State, claim: int) -> bool:
        leaves_at = self.scope.leave[claim]
        return leaves_at is not None and leaves_at <= s.time

    def _places(self, s: State, claim: int, until: int, *, begins: bool) -> tuple[Place, ...]:
        match self.rules.counted:
            case "in each period":
                periods = entered(s.time, until, begins=begins)
            case "once":
                periods = range(s.time // PERIOD, s.time // PERIOD + begins)
            case "each time":
                periods = range(s.time // PERIOD, until // PERIOD + 1)
        return tuple(Place(row, period) for period in periods for row in rows_of(claim))

    def _judge(self, s: State, queued: Queued) -> Iterator[tuple[str, State]]:
        """A worker finds that the zone is silent; or it judges a claim that waited, whose zone has answered."""
        claim, waited, lost = queued
        left = s._replace(queued=_without(s.queued, queued))
        if waited:
            yield f"worker: claim {claim} is judged", left
            if not s.returns:
                return
        for hidden in self.scope.hidden:
            until = s.time + hidden
            places = self._places(s, claim, until, begins=not waited)
            todo = (*places, "send") if self.rules.first == "counted" else ("send", *places)
            run = Run("worker", claim, s.time, (*todo, "done"), until=until, begins=not waited, lost=lost)
            runs = _sorted([*s.runs, run])
            yield f"worker: claim {claim} waits until {until}", left._replace(runs=runs, returns=s.returns - waited)

    def _look(self, s: State, message: Message) -> Iterator[tuple[str, State]]:
        """A run of the waiting queue's function receives a message that is visible."""
        claim, number = message.claim, message.number
        if self._answers(s, claim):
            off = [f"take off {row}" for row in rows_of(claim)] if self.rules.taken_off == "when it leaves" else []
            anew = {
                "no change": [],
                "begins anew": [f"clear {zone_of(claim)}"],
                "begins anew, above too": [f"clear {zone_of(claim)}", f"clear {ABOVE}"],
            }
            todo = (*anew[self.rules.answered], "send on", *off, "done")
            run = Run("waiting", claim, s.time, todo, number, leaves=True, lost=message.lost)
            yield f"waiting: claim {claim} leaves", s._replace(runs=_sorted([*s.runs, run]))
            return
        for hidden in self.scope.hidden:
            until = s.time + hidden
            places = self._places(s, claim, until, begins=False)
            todo = (*places, "hide") if self.rules.again == "counted" else ("hide", *places)
            run = Run("waiting", claim, s.time, (*todo, "done"), number, until)
            yield f"waiting: claim {claim} waits until {until}", s._replace(runs=_sorted([*s.runs, run]))

    # ---- one step of a run -----------------------------------------------------------------------------------
    def _step(self, s: State, run: Run) -> State:
        call, *rest = run.todo
        runs = _without(s.runs, run)
        after = run._replace(todo=tuple(rest))
        if isinstance(call, Place):
            s = self._add(s, call, 1)
        elif call == "send":
            s = self._sent(s, run)
            after = after._replace(number=s.numbers)
        elif call == "hide":
            s = self._changed(s, run, lambda each: each._replace(until=run.until))
        elif call == "send on":
            s = s._replace(queued=(*s.queued, Queued(run.claim, True, run.lost)))
        elif call.startswith("take off "):
            s = self._add(s, Place(call.removeprefix("take off "), s.time // PERIOD), -1)
        elif call.startswith("clear "):
            s = s._replace(counts=tuple(each for each in s.counts if each[0].row != call.removeprefix("clear ")))
        elif run.leaves:
            s = s._replace(queue=tuple(each for each in s.queue if each.number != run.number))
        return s._replace(runs=_sorted([*runs, after] if rest else runs))

    def _sent(self, s: State, run: Run) -> State:
        number = s.numbers + 1
        periods = {run.since // PERIOD, s.time // PERIOD}
        there = {(Place(row, period), number) for row in rows_of(run.claim) for period in periods}
        sent = Message(number, run.claim, run.until, run.lost)
        return s._replace(queue=(*s.queue, sent), numbers=number, there=s.there | there)

    def _changed(self, s: State, run: Run, change: Change) -> State:
        return s._replace(queue=tuple(change(each) if each.number == run.number else each for each in s.queue))

    def _add(self, s: State, place: Place, claims: int) -> State:
        counts = dict(s.counts)
        counts[place] = counts.get(place, 0) + claims
        return s._replace(counts=tuple(sorted(counts.items())))

    def _ended(self, s: State, run: Run) -> State:
        """A run ends. The worker's claim is handed out again; a message of the waiting queue is still there."""
        runs = _without(s.runs, run)
        again = (Queued(run.claim, not run.begins, run.lost),) if run.who == "worker" else ()
        lost = {each.period for each in run.todo if isinstance(each, Place)}
        if run.leaves and "send on" not in run.todo:  # there are two copies from now on, which were counted as one
            lost = {s.time // PERIOD}
        s = self._changed(s, run, lambda each: each._replace(lost=each.lost | lost))
        return s._replace(runs=_sorted(runs), queued=(*s.queued, *again), deaths=s.deaths - 1)
