"""The explicit-state model of the head of a partition: readers, workers that file late, an owner who acknowledges.

A head says where a pass begins, and names gaps: ranges in which no row is live. A reader reads the head, then the rows
that it does not pass over, one by one; behind each row, it may write what it has learned, if the generation is the one
that it has read. A worker files its row, reads the head, takes its row out of a gap, and counts the generation; if the
gaps are no longer those that it has read, it ends them all, because they hold for one generation only. A worker of the
previous release knows no gaps: it moves the position, and counts the generation.

One step is one call of AWS. Any actor may be overtaken by any other between two steps, and a worker may die there; its
claim is then settled anew. All schedules are explored. `Rules()` is the protocol; a variant changes one. Taken as
given: a row that is filed without a look at the head was there before any pass began that may pass over its place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tests.model.explore import BrokenError, Explored, explore

Gap = tuple[int, int]
"""A range of places, without its end."""


@dataclass(frozen=True)
class Rules:
    """What a variant may do otherwise."""

    raising: Literal["in its generation", "blindly"] = "in its generation"
    late: Literal["file, then cut", "cut, then file", "count only"] = "file, then cut"
    """What a worker does that files a late row: it may leave the gap as it is, and count the generation of both."""
    cutting: Literal["as it was read", "blindly"] = "as it was read"
    """Whether a worker writes its gaps only over those that it has read."""
    order: Literal["as it was read", "blindly"] = "as it was read"
    """Whether a worker that cuts writes only if the position is as it was read before its row, or not before it."""
    refused: Literal["end the gaps", "keep the gaps"] = "end the gaps"
    valid: Literal["in their generation", "always"] = "in their generation"
    """When gaps hold."""


@dataclass(frozen=True)
class Scope:
    """A case. `rows`: those that are there at the beginning: `L`, `G`, and `-` for a claim that a worker files late, or
    `o` for one that a worker of the previous release does."""

    name: str
    rows: str
    readers: int = 1
    passes: int = 2
    deaths: int = 0
    acknowledges: int = 0


class Head(NamedTuple):
    """The row of the head. `of`: the generation in which the gaps hold."""

    position: int = 0
    generation: int = 0
    gaps: frozenset[Gap] = frozenset()
    of: int = 0


NO_HEAD = Head()


class Pass(NamedTuple):
    """A reader at `place`, which has met no live row since `begins`; `first`: nor any before in this pass."""

    head: Head
    place: int
    begins: int
    first: bool = True


class Worker(NamedTuple):
    """What a worker does next with the claim of `place`, and the head that it has read."""

    place: int
    step: str
    head: Head = NO_HEAD


class State(NamedTuple):
    """All there is. `done`: places whose claims have left the queue."""

    rows: str
    head: Head
    workers: tuple[Worker, ...]
    readers: tuple[Pass | None, ...]
    passes: int
    deaths: int
    acknowledges: int
    done: frozenset[int] = frozenset()


Step = tuple[str, State]


class HeadModel:
    """The states and the steps of a case."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self._rules, self._scope = rules, scope
        self._old = frozenset(place for place, row in enumerate(scope.rows) if row == "o")
        self._begins = "read" if rules.late == "cut, then file" else "file"

    def explore(self) -> Explored:
        """Visit all states."""
        scope = self._scope
        late = [place for place, row in enumerate(scope.rows) if row in "-o"]
        workers = tuple(Worker(place, "file" if place in self._old else self._begins) for place in late)
        rows = scope.rows.replace("o", "-")
        readers: tuple[Pass | None, ...] = (None,) * scope.readers
        start = State(rows, NO_HEAD, workers, readers, scope.passes, scope.deaths, scope.acknowledges)
        return explore(start, self._check, self._following)

    def _check(self, state: State) -> None:
        passed_over = self._passed_over(state.head)
        for place, row in enumerate(state.rows):
            waits = all(worker.place != place for worker in state.workers)
            if row == "L" and waits and (place < state.head.position or any(b <= place < e for b, e in passed_over)):
                raise BrokenError(f"HIDDEN: no pass will show the row at {place}")

    def _passed_over(self, head: Head) -> frozenset[Gap]:
        return head.gaps if self._rules.valid == "always" or head.of == head.generation else frozenset()

    def _following(self, state: State) -> Iterable[Step]:
        for number in range(len(state.readers)):
            yield from self._reader(state, number)
        for worker in state.workers:
            yield from self._worker(state, worker)
        if state.acknowledges:
            for place, row in enumerate(state.rows):
                if row == "L":
                    yield (
                        f"{place} acknowledged",
                        _with_row(state, place, "G")._replace(acknowledges=state.acknowledges - 1),
                    )

    # --- a reader -----------------------------------------------------------------------------------------------------
    def _reader(self, state: State, number: int) -> Iterable[Step]:
        going = state.readers[number]

        def at(now: Pass | None) -> State:
            return state._replace(readers=(*state.readers[:number], now, *state.readers[number + 1 :]))

        if going is None:
            if state.passes:
                begins = state.head.position
                yield f"reader {number}: head", at(Pass(state.head, begins, begins))._replace(passes=state.passes - 1)
            return
        yield f"reader {number}: ends", at(None)
        if going.begins < going.place:
            learned = self._learned(state.head, going)
            now = going._replace(head=learned or going.head)
            yield f"reader {number}: learns", at(now)._replace(head=learned or state.head)
        if going.place == len(state.rows):
            return
        ends = [end for begin, end in self._passed_over(going.head) if begin <= going.place < end]
        if ends:
            yield f"reader {number}: passes over", at(going._replace(place=max(ends)))
        elif state.rows[going.place] == "L":
            yield (
                f"reader {number}: live at {going.place}",
                at(Pass(going.head, going.place + 1, going.place + 1, first=False)),
            )
        else:
            yield f"reader {number}: none at {going.place}", at(going._replace(place=going.place + 1))

    def _learned(self, head: Head, going: Pass) -> Head | None:
        """The head as this pass writes it; None: refused."""
        if head.generation != going.head.generation and self._rules.raising == "in its generation":
            return None
        if going.first:
            return head._replace(position=max(head.position, going.place))
        gaps = frozenset(
            gap for gap in self._passed_over(going.head) if not going.begins <= gap[0] <= gap[1] <= going.place
        )
        return head._replace(gaps=gaps | {(going.begins, going.place)}, of=head.generation)

    # --- a worker -----------------------------------------------------------------------------------------------------
    def _worker(self, state: State, worker: Worker) -> Iterable[Step]:
        place = worker.place
        others = tuple(each for each in state.workers if each != worker)

        def then(step: str, read: Head = NO_HEAD) -> State:
            return state._replace(workers=(*others, Worker(place, step, read)))

        if state.deaths and worker.step not in ("file", self._begins):
            yield f"worker of {place}: dies", then(self._begins)._replace(deaths=state.deaths - 1)
        match worker.step:
            case "file":
                follows = "bump" if place in self._old else "done" if self._begins == "read" else "read"
                row = "L" if state.rows[place] == "-" else state.rows[place]
                yield f"worker of {place}: files", _with_row(then(follows), place, row)
            case "read":
                yield f"worker of {place}: head", then("cut", state.head)
            case "cut":
                cut = self._cut(state.head, worker)
                done = "file" if self._begins == "read" else "done"
                follows = done if cut else "bump" if self._rules.refused == "end the gaps" else done
                yield f"worker of {place}: cuts {cut is not None}", then(follows)._replace(head=cut or state.head)
            case "bump":
                head = state.head._replace(
                    position=min(state.head.position, place), generation=state.head.generation + 1
                )
                follows = "file" if self._begins == "read" and place not in self._old else "done"
                yield f"worker of {place}: ends the gaps", then(follows)._replace(head=head)
            case "done":
                yield f"worker of {place}: is done", state._replace(workers=others)

    def _cut(self, head: Head, worker: Worker) -> Head | None:
        """The head without the worker's place in a gap, as it was read; None: refused."""
        place, read = worker.place, worker.head
        counted, is_before = head.generation + 1, read.position > place
        if self._rules.late == "count only":
            return head._replace(position=min(head.position, place), generation=counted, of=head.of + 1)
        gaps = self._passed_over(read)
        if not gaps:
            return head._replace(position=min(head.position, place), generation=counted)
        if head.gaps != read.gaps and self._rules.cutting == "as it was read":
            return None
        if (head.position > place) is not is_before and self._rules.order == "as it was read":
            return None
        position = place if is_before else head.position
        without = frozenset(part for gap in gaps for part in _without(gap, place))
        return Head(position, counted, without, head.of + 1)


def _without(gap: Gap, place: int) -> Iterable[Gap]:
    begin, end = gap
    if not begin <= place < end:
        yield gap
        return
    if begin < place:
        yield begin, place
    if place + 1 < end:
        yield place + 1, end


def _with_row(state: State, place: int, row: str) -> State:
    return state._replace(rows=state.rows[:place] + row + state.rows[place + 1 :])
