"""The explicit-state model of the flow: inbox, queue, workers, dead-letter handler, courier, owner.

One step of an actor is one AWS call (item operations of DynamoDB and object operations of S3 are atomic, nothing else
is), or one Feedback sent. Between two of its steps, an actor may be overtaken by any others, or die. SQS may deliver a
message again at any time, also to two workers at the same time, also after it was deleted. All schedules are explored.

`Rules()` is the protocol: each default is what docs/design/store-protocol.md says; a variant changes one. Messages
are numbered by the time at which the inbox mints their claims. Taken as given: of a message whose every claim is past
its horizon, and of which no copy is left, none comes any more (RETAIN is the horizon and a copy's longest life). Left
out: compaction, the head hint, the summaries of withheld Feedback; the queues of retries and suspects, which are one
queue here (a copy may come at any time); the times in the waiting queue, in which a claim is for as long as its
sender's zone is silent; the deletion of an object that fails (it leaves an object that nobody needs); forwarding, and
requests that are answered at once; dm3, which takes the same steps. The model knows nothing of the code: that the code
takes these steps, tests/pipeline/test_interleavings.py and tests/faults show.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import BrokenError, Explored, explore

REUSED, BAD, LATE, ACKED, COPY = "CorrelationReused", "SignatureInvalid", "TooLate", "acked", "duplicate"


@dataclass(frozen=True)
class Rules:
    """What a variant may do otherwise."""

    inbox: Literal["queue, then answer", "answer, then queue"] = "queue, then answer"
    large: Literal["store, then queue", "queue, then store"] = "store, then queue"
    known: Literal["help", "drop"] = "help"
    reuse: Literal["discard", "adopt"] = "discard"
    segment: Literal["whole", "empty"] = "whole"
    file: Literal["if absent", "always"] = "if absent"
    discard: Literal["register", "only tell"] = "register"
    done: Literal["after telling", "before telling"] = "after telling"
    home: Literal["asked", "not asked"] = "asked"
    told: Literal["noted before", "noted after", "noted always"] = "noted before"
    sent: Literal["after sending", "before sending"] = "after sending"
    shards: Literal["read anew", "remembered"] = "read anew"
    acked: Literal["tombstone", "row deleted"] = "tombstone"
    memory: Literal["outlives all copies", "short"] = "outlives all copies"
    moved: Literal["sent, then deleted", "deleted, then sent"] = "sent, then deleted"
    object: Literal["deleted last", "deleted before its row", "deleted while it waits", "kept"] = "deleted last"
    copy: Literal["row marked", "no row"] = "row marked"
    gone: Literal["row decides", "row decides, not told again", "done", "fails"] = "row decides"


@dataclass(frozen=True)
class Message:
    """What is posted. `key`: To, From and Correlation; `text`: what its Hash is of; `good`: the signature holds."""

    key: int
    text: int = 0
    good: bool = True
    large: bool = False
    shard: int = 0


@dataclass(frozen=True)
class Scope:
    """A case. `deliveries`: of each claim by SQS; `notices`: of each notice. `flips`: two judgements may differ.

    `silent`: the sender's zone may be silent when a claim is first judged. (A second time would take the same steps.)
    `loses`: somebody else may delete the object of a large claim.
    """

    name: str
    messages: tuple[Message, ...]
    deliveries: int = 2
    notices: int = 1
    workers: int = 2
    couriers: int = 1
    flips: bool = False
    ages: bool = False
    acks: bool = True
    passes: int = 0
    silent: bool = False
    loses: bool = False


class Row(NamedTuple):
    """A register: live at a segment, or gone, with what was told of it."""

    segment: int | None = None
    why: str = ""
    told: int = 0
    sent: bool = False


class Worker(NamedTuple):
    """`batch`: the claims that it reports as done at the end. `known`: those of them that their rows decided."""

    phase: str
    batch: tuple[int, ...]
    homes: tuple[int, ...] = ()
    bad: tuple[tuple[int, str], ...] = ()
    i: int = 0
    segment: int = 0
    again: bool = False
    """The batch is one claim that was sent on from the waiting queue."""
    late: tuple[int, ...] = ()
    """Claims of the batch whose sender's zone is silent."""
    known: tuple[int, ...] = ()
    forces: bool = False
    """This one judges the message bad, whatever it is: no key is published yet, or the dead-letter handler gives up."""


class Courier(NamedTuple):
    phase: str
    row: int
    innocent: bool
    """The message had been accepted, by another claim, before this courier began."""
    identity: int = 0


class Pass(NamedTuple):
    shards: int
    must: frozenset[int]
    shown: frozenset[int] = frozenset()
    next: int = 0


class State(NamedTuple):
    inboxes: tuple[str, ...]
    stored: frozenset[int]
    """The large claims whose objects are there."""
    queue: tuple[tuple[int, bool], ...]
    waiting: tuple[tuple[int, bool], ...]
    woken: tuple[tuple[int, bool], ...]
    seen: tuple[tuple[int, int] | None, ...]
    rows: tuple[Row | None, ...]
    segments: tuple[frozenset[int], ...]
    notices: tuple[tuple[int, bool], ...]
    workers: tuple[Worker, ...] = ()
    couriers: tuple[Courier, ...] = ()
    reading: tuple[Pass, ...] = ()
    passes: int = 0
    shards: int = 1
    noticed: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    heard: frozenset[tuple[int, int]] = frozenset()
    minted: int = 0
    acked: frozenset[tuple[int, int]] = frozenset()
    old: frozenset[int] = frozenset()
    forgotten: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    """The large claims whose objects somebody else deleted."""


Steps = Iterator[tuple[str, State]]


T = TypeVar("T")


def at(items: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*items[:index], value, *items[index + 1 :])


def without(items: tuple[T, ...], index: int) -> tuple[T, ...]:
    return items[:index] + items[index + 1 :]


def crowd(actors: tuple[T, ...]) -> tuple[T, ...]:
    """Actors of one kind are interchangeable: keep them in one order."""
    return tuple(sorted(actors, key=repr))


def _with(s: State, worker: Worker) -> State:
    return s._replace(workers=crowd((*s.workers, worker)))


class Flow:
    """The protocol under `rules`, in one case."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules, self.scope, self.messages = rules, scope, scope.messages
        self.claims = range(len(scope.messages))
        self.phases = ["read", "judge", "segment", "file", "discard", "mark", "remove", "wait", "delete"]
        if rules.done == "before telling":
            self._delay("discard")
        if rules.moved == "deleted, then sent":
            self._delay("wait")
        if rules.object == "deleted before its row":
            self.phases.remove("remove")
            self.phases.insert(self.phases.index("segment"), "remove")

    def _delay(self, phase: str) -> None:
        self.phases.remove(phase)
        self.phases.append(phase)

    def explore(self) -> Explored:
        nothing, many = (0, False), len(self.messages)
        keys = max(message.key for message in self.messages) + 1
        start = State(
            inboxes=("new",) * many, stored=frozenset(), queue=(nothing,) * many, waiting=(nothing,) * many,
            woken=(nothing,) * many, seen=(None,) * keys, rows=(None,) * many, segments=(), notices=(nothing,) * many,
            passes=self.scope.passes,
        )  # fmt: skip
        return explore(start, self.check, self.following)

    def is_accepted(self, row: Row | None) -> bool:
        return row is not None and (row.segment is not None or row.why == ACKED)

    def is_discarded(self, row: Row | None) -> bool:
        return row is not None and row.why not in ("", ACKED, COPY)

    def _queued(self, s: State, *claims: int) -> list[tuple[int, bool]]:
        return [queue[claim] for queue in (s.queue, s.waiting, s.woken) for claim in claims or self.claims]

    def who(self, claim: int) -> tuple[int, int]:
        return self.messages[claim].key, self.messages[claim].text

    # ---- what must be true of every state --------------------------------------------------------------------
    def check(self, s: State) -> None:
        listed = [claim for claim, row in enumerate(s.rows) if row and row.segment is not None]
        names = [self.who(claim) for claim in listed]
        if len(set(names)) < len(names):
            raise BrokenError("DOUBLED: one message is listed twice")
        if s.acked.intersection(names):
            raise BrokenError("RESURRECTED: an acknowledged message is listed again")
        if len({key for key, _ in {*names, *s.acked}}) < len({*names, *s.acked}):
            raise BrokenError("REUSED: two texts were accepted under one Correlation")
        for claim in listed:
            row = s.rows[claim]
            if row is None or row.segment is None or claim not in s.segments[row.segment]:
                raise BrokenError("DANGLING: a listed message has no bytes")
        for claim in self.claims:
            self._check_claim(s, claim)
        if not (s.workers or s.couriers or any(left or there for left, there in (*self._queued(s), *s.notices))):
            self._check_told(s)

    def _check_claim(self, s: State, claim: int) -> None:
        queued, row = self._queued(s, claim), s.rows[claim]
        if self.messages[claim].large:
            self._check_object(s, claim)
        owed = s.inboxes[claim] == "answered" and claim not in s.forgotten
        if owed and not any(there for _, there in queued) and not self._is_settled(s, claim):
            raise BrokenError(
                "LOST: answered 200, out of the queue, neither accepted nor discarded and the courier asked"
            )
        heard = {identity for about, identity in s.heard if about == claim}
        if len(heard) > 1:
            raise BrokenError("TOLD TWICE: two Feedbacks about one claim")
        if heard and self.is_accepted(row):
            raise BrokenError("BOTH: one claim was accepted, and its sender told that it was discarded")

    def _check_object(self, s: State, claim: int) -> None:
        queued, there = any(map(any, self._queued(s, claim))), claim in s.stored
        if queued and not there and s.rows[claim] is None and claim not in s.lost | s.forgotten:
            raise BrokenError("WITHOUT BYTES: a claim is queued, and neither its object nor its row is there")
        if there and s.inboxes[claim] in ("queued", "answered") and not (queued or s.workers):
            raise BrokenError("LEFT: no copy of a claim comes any more, and its object is still there")

    def _is_settled(self, s: State, claim: int) -> bool:
        """Accepted, or discarded; as itself or by the row it has as its home."""
        known = s.seen[self.messages[claim].key]
        same = known is not None and known[1] == self.messages[claim].text
        rows = {claim} | ({known[0]} if known is not None and same else set())
        listed = any(self.is_accepted(s.rows[each]) and self.who(each) == self.who(claim) for each in rows)
        accepted = listed or self.who(claim) in s.acked
        discarded = any(self.is_discarded(s.rows[each]) and each in s.noticed for each in rows)
        # Past its horizon a home is nobody's to finish for another; its own copy ends it.
        waits = known is not None and same and known[0] in s.old and s.queue[known[0]][1]
        return accepted or discarded or waits

    def _check_told(self, s: State) -> None:
        for claim, row in enumerate(s.rows):
            if row and self.is_discarded(row) and not row.sent and claim not in s.silent:
                raise BrokenError(
                    "UNTOLD: everything is at rest, and a discard was neither told nor rightly kept silent"
                )
            if row and row.sent and not any(about == claim for about, _ in s.heard):
                raise BrokenError("UNTOLD: noted as sent, and nobody heard of it")

    # ---- what may happen next --------------------------------------------------------------------------------
    def following(self, s: State) -> Steps:
        for claim in self.claims:
            yield from self._inbox(s, claim)
        yield from self._queues(s)
        yield from self._waiting(s)
        for i, worker in enumerate(s.workers):
            rest = without(s.workers, i)
            yield f"worker dies at {worker.phase}", s._replace(workers=rest)
            for label, after, new in getattr(self, f"_{worker.phase}")(s, worker):
                yield label, after._replace(workers=crowd(rest + new))
        for i, courier in enumerate(s.couriers):
            others = without(s.couriers, i)
            yield f"courier dies at {courier.phase}", s._replace(couriers=others)
            label, after, on = self._courier(s, courier)
            yield label, after._replace(couriers=crowd(others + on))
        yield from self._owner(s)
        yield from self._reader(s)
        for claim in s.stored if self.scope.loses else ():
            yield (
                f"somebody deletes the object of {claim}",
                s._replace(stored=s.stored - {claim}, lost=s.lost | {claim}),
            )
        if self.scope.passes and s.shards == 1:
            yield "the mailbox gets a second shard", s._replace(shards=2)

    # ---- the inbox: may stop at any step, which is its death --------------------------------------------------
    def _inbox(self, s: State, claim: int) -> Steps:
        message = self.messages[claim]
        order = ["queued", "answered"] if self.rules.inbox == "queue, then answer" else ["answered", "queued"]
        if message.large:
            order.insert(order.index("queued") + (self.rules.large == "queue, then store"), "stored")
        done = order.index(s.inboxes[claim]) + 1 if s.inboxes[claim] in order else 0
        if done == len(order) or message.shard >= s.shards:
            return
        step = order[done]
        after = s._replace(inboxes=at(s.inboxes, claim, step))
        if step == "queued":
            after = after._replace(queue=at(s.queue, claim, (self.scope.deliveries, True)))
        elif step == "stored":
            after = after._replace(stored=s.stored | {claim})
        yield f"inbox: {claim} {step}", after

    # ---- SQS and time ----------------------------------------------------------------------------------------
    def _queues(self, s: State) -> Steps:
        ready = [claim for claim in self.claims if s.queue[claim][0]]
        if len(s.workers) < self.scope.workers:
            for size in range(1, len(ready) + 1):
                for batch in combinations(ready, size):
                    queue = tuple((q[0] - 1, q[1]) if c in batch else q for c, q in enumerate(s.queue))
                    for forces in (False, True) if self.scope.flips else (False,):
                        worker = self._before(Worker("", batch, forces=forces), "read")
                        yield f"SQS delivers {batch}", s._replace(queue=queue, workers=crowd(s.workers + worker))
        if len(s.couriers) < self.scope.couriers:
            for row in [claim for claim in self.claims if s.notices[claim][0]]:
                left, there = s.notices[row]
                known = s.seen[self.messages[row].key]
                innocent = known is not None and known[0] != row and self.is_accepted(s.rows[known[0]])
                told_of = s.rows[row]
                innocent = innocent and not (told_of is not None and told_of.why == REUSED)
                yield (
                    f"SQS delivers the notice of {row}",
                    s._replace(
                        notices=at(s.notices, row, (left - 1, there)),
                        couriers=crowd((*s.couriers, Courier("seen", row, innocent))),
                    ),
                )
        for claim in self.claims if self.scope.ages else ():
            if claim not in s.old and s.inboxes[claim] != "new":
                yield f"claim {claim} passes the horizon", s._replace(old=s.old | {claim})
        for key in {message.key for message in self.messages} if self.scope.ages else ():
            same = frozenset(claim for claim in self.claims if self.messages[claim].key == key)
            if not same <= s.forgotten and self._may_be_forgotten(s, same):
                rows = tuple(None if each in same and row and row.why else row for each, row in enumerate(s.rows))
                without = s._replace(rows=rows, seen=at(s.seen, key, None), forgotten=s.forgotten | same)
                yield f"memory of {key} expires", without

    def _waiting(self, s: State) -> Steps:
        for claim in self.claims if len(s.workers) < self.scope.workers else ():
            if s.waiting[claim][0]:
                left, there = s.waiting[claim]
                taken = s._replace(waiting=at(s.waiting, claim, (left - 1, there)))
                yield f"SQS delivers {claim}, which waits", _with(taken, Worker("wake", (claim,)))
            if s.woken[claim][0]:
                left, there = s.woken[claim]
                taken = s._replace(woken=at(s.woken, claim, (left - 1, there)))
                [worker] = self._before(Worker("", (claim,), again=True), "read")
                yield f"SQS delivers {claim} again", _with(taken, worker)

    def _may_be_forgotten(self, s: State, same: frozenset[int]) -> bool:
        """Can no copy of any claim under one Correlation come any more?"""
        if self.rules.memory == "short":
            return any(row and row.why for claim, row in enumerate(s.rows) if claim in same)
        busy = {claim for worker in s.workers for claim in (*worker.batch, *worker.homes)}
        told = {courier.row for courier in s.couriers}
        waiting = {claim for claim in same if any(map(any, (*self._queued(s, claim), s.notices[claim])))}
        return same <= s.old and not same & (busy | told | waiting)

    # ---- the worker: each phase yields what is done, the state after it, and the worker that goes on ------------
    def _before(self, w: Worker, phase: str, i: int = 0) -> tuple[Worker, ...]:
        """The worker before its next call: for an item from `i` on in this phase, or in one of the next; or its end."""
        for each in self.phases[self.phases.index(phase) :]:
            for item, is_due in enumerate(self._calls(w, each)):
                if is_due and item >= i:
                    return (w._replace(phase=each, i=item),)
            i = 0
        return ()

    def _calls(self, w: Worker, phase: str) -> list[bool]:
        """For which of its items the worker makes a call in a phase."""
        own = {*w.homes, *(claim for claim, _ in w.bad)}
        read = [self.messages[claim].large and claim not in w.known for claim in w.batch]
        decided = [is_read and claim not in w.late for claim, is_read in zip(w.batch, read, strict=True)]
        marks = [is_read and claim not in own for claim, is_read in zip(w.batch, decided, strict=True)]
        return {
            "read": read,
            "judge": [claim not in w.known for claim in w.batch],
            "segment": [bool(w.homes)],
            "file": [True] * len(w.homes),
            "discard": [True] * len(w.bad),
            "mark": marks if self.rules.copy == "row marked" else [],
            "remove": {"kept": [], "deleted while it waits": read}.get(self.rules.object, decided),
            "wait": [True] * len(w.late),
            "delete": [bool(w.batch)],
        }[phase]

    def _read(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """A large claim is read from its object."""
        claim = w.batch[w.i]
        there = claim in s.stored
        yield f"read object of {claim}", s, self._before(w, "read", w.i + 1) if there else (w._replace(phase="decide"),)

    def _decide(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """A large claim whose object is gone is decided by its row; without a row, it stays in the queue.

        The dead-letter handler discards it then, near the horizon.
        """
        claim = w.batch[w.i]
        row, bad = s.rows[claim], w.bad
        if row is not None and self.rules.gone == "fails" and claim not in s.lost:
            raise BrokenError("UNDECIDED: the object of a decided claim is gone, and the claim stays in the queue")
        if row is not None and self.is_discarded(row) and self.rules.gone == "row decides":
            bad += ((claim, row.why),)
        if row is None and w.forces:
            bad += ((claim, BAD),)
        if row is not None or w.forces or self.rules.gone == "done":
            on = self._before(w._replace(known=(*w.known, claim), bad=bad), "read", w.i + 1)
        else:
            on = self._before(w._replace(batch=without(w.batch, w.i)), "read", w.i)
        yield f"decide {claim} by its row", s, on

    def _judge(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 1 and 2: no call where it is bad, else the conditional put of `seen`."""
        claim = w.batch[w.i]
        message, homes, bad, after = self.messages[claim], w.homes, w.bad, s
        if self.scope.silent and not w.again and claim not in s.old:
            yield f"no key for {claim} yet", s, self._before(w._replace(late=(*w.late, claim)), "judge", w.i + 1)
        look = False
        if w.forces or not message.good or claim in s.old:
            bad += ((claim, LATE if claim in s.old else BAD),)
        elif (known := s.seen[message.key]) is None:
            after, homes = s._replace(seen=at(s.seen, message.key, (claim, message.text))), (*homes, claim)
        elif known[1] != message.text and self.rules.reuse == "discard":
            bad += ((claim, REUSED),)
        elif self.rules.known == "drop":
            homes += (claim,) if known[0] == claim else ()
        elif known[0] == claim:
            homes += (claim,)
        elif known[0] not in s.old:
            look = True
        new = w._replace(homes=homes, bad=bad)
        yield f"judge {claim}", after, (new._replace(phase="look"),) if look else self._before(new, "judge", w.i + 1)

    def _look(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """A home that is another's: looked at before a line is written for it."""
        known = s.seen[self.messages[w.batch[w.i]].key]
        home = known[0] if known else w.batch[w.i]
        row, new = s.rows[home], w
        if row is None:
            new = w._replace(homes=w.homes if home in w.homes else (*w.homes, home))
        elif self.is_discarded(row):
            new = w._replace(bad=(*w.bad, (home, row.why)))
        yield f"look at row {home}", s, self._before(new, "judge", w.i + 1)

    def _segment(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 3."""
        lines = frozenset(w.homes if self.rules.segment == "whole" else ())
        after = s._replace(segments=(*s.segments, lines))
        yield f"put segment {w.homes}", after, self._before(w._replace(segment=len(s.segments)), "file")

    def _file(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 4."""
        home = w.homes[w.i]
        row, new, after = s.rows[home], w, s
        if row is None or self.rules.file == "always":
            after = s._replace(rows=at(s.rows, home, Row(w.segment)))
        elif self.is_discarded(row):
            new = w._replace(bad=(*w.bad, (home, row.why)))
        yield f"file {home}", after, self._before(new, "file", w.i + 1)

    def _discard(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 5; what another worker discarded is only told."""
        claim, why = w.bad[w.i]
        row, after = s.rows[claim], s
        if row is None and self.rules.discard == "register":
            row = Row(why=why)
            after = s._replace(rows=at(s.rows, claim, row))
        ours = self.rules.discard != "register" or self.is_discarded(row)
        yield f"discard {claim}", after, (w._replace(phase="tell"),) if ours else self._before(w, "discard", w.i + 1)

    def _tell(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 6, the worker's half."""
        claim = w.bad[w.i][0]
        after = s._replace(
            notices=at(s.notices, claim, (self.scope.notices, True)), noticed=s.noticed | {claim}
        )  # fmt: skip
        yield f"ask the courier about {claim}", after, self._before(w, "discard", w.i + 1)

    def _mark(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 7: the own row of a large claim whose message is in another row is gone, if it is absent."""
        claim = w.batch[w.i]
        after = s if s.rows[claim] else s._replace(rows=at(s.rows, claim, Row(why=COPY)))
        yield f"mark {claim}", after, self._before(w, "mark", w.i + 1)

    def _remove(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 7: the object of a large claim is deleted."""
        claim = w.batch[w.i]
        yield f"delete object of {claim}", s._replace(stored=s.stored - {claim}), self._before(w, "remove", w.i + 1)

    def _wait(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 8 for a claim whose sender's zone is silent."""
        claim = w.late[w.i]
        after = s._replace(waiting=at(s.waiting, claim, (self.scope.deliveries, True)))
        yield f"{claim} waits", after, self._before(w, "wait", w.i + 1)

    def _wake(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """The zone answers, or the horizon has passed: the claim is judged again."""
        [claim] = w.batch
        after = s._replace(woken=at(s.woken, claim, (self.scope.deliveries, True)))
        yield f"send {claim} to be judged again", after, (w._replace(phase="woken"),)

    def _woken(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        [claim] = w.batch
        yield f"{claim} waits no longer", s._replace(waiting=at(s.waiting, claim, (s.waiting[claim][0], False))), ()

    def _delete(self, s: State, w: Worker) -> Iterator[tuple[str, State, tuple[Worker, ...]]]:
        """Step 8."""
        before = s.woken if w.again else s.queue
        queue = tuple((q[0], False) if claim in w.batch else q for claim, q in enumerate(before))
        after = s._replace(woken=queue) if w.again else s._replace(queue=queue)
        yield f"delete {w.batch}", after, self._before(w, "delete", 1)

    # ---- the courier: each phase answers what the state is after it, and the courier that goes on -------------
    def _courier(self, s: State, c: Courier) -> tuple[str, State, tuple[Courier, ...]]:
        after, on = getattr(self, f"_courier_{c.phase}")(s, c)
        return f"courier about {c.row}: {c.phase}", after, on

    def _courier_seen(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        """Does the message live in another home? A reused Correlation is told in spite of it."""
        known, row = s.seen[self.messages[c.row].key], s.rows[c.row]
        elsewhere = known is not None and known[0] != c.row and self.rules.home == "asked"
        proven = known is not None and row is not None and row.why == REUSED and known[1] != self.messages[c.row].text
        return s, (c._replace(phase="home" if elsewhere and not proven else "find"),)

    def _courier_home(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        known = s.seen[self.messages[c.row].key]
        home = s.rows[known[0]] if known else None
        if home is None or self.is_accepted(home):
            return s._replace(silent=s.silent | {c.row}), (c._replace(phase="delete"),)
        return s, (c._replace(phase="find"),)

    def _courier_find(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        """Was it told, or begun? Then the same Feedback is sent again."""
        row = s.rows[c.row]
        if row is not None and row.sent:
            return s, (c._replace(phase="delete"),)
        if row is not None and row.told:
            return s, (self._with_identity(c, row.told),)
        if self.rules.told == "noted after":
            return s._replace(minted=s.minted + 1), (c._replace(phase="send", identity=s.minted + 1),)
        return s, (c._replace(phase="note"),)

    def _courier_note(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        row = s.rows[c.row]
        if row is None:
            return s, (c._replace(phase="delete"),)
        if row.told and self.rules.told != "noted always":
            return s, (c._replace(phase="find"),)
        noted = s._replace(minted=s.minted + 1, rows=at(s.rows, c.row, row._replace(told=s.minted + 1)))
        return noted, (self._with_identity(c, s.minted + 1),)

    def _with_identity(self, c: Courier, identity: int) -> Courier:
        return c._replace(phase="send" if self.rules.sent == "after sending" else "sent", identity=identity)

    def _courier_send(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        if c.innocent:
            raise BrokenError("SLANDER: told as discarded, though the message had been accepted by another claim")
        phase = "sent" if self.rules.sent == "after sending" else "delete"
        return s._replace(heard=s.heard | {(c.row, c.identity)}), (c._replace(phase=phase),)

    def _courier_sent(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        row = s.rows[c.row]
        after = s._replace(rows=at(s.rows, c.row, row._replace(sent=True))) if row else s
        return after, (c._replace(phase="delete" if self.rules.sent == "after sending" else "send"),)

    def _courier_delete(self, s: State, c: Courier) -> tuple[State, tuple[Courier, ...]]:
        return s._replace(notices=at(s.notices, c.row, (s.notices[c.row][0], False))), ()

    # ---- the owner -------------------------------------------------------------------------------------------
    def _owner(self, s: State) -> Steps:
        for claim, row in enumerate(s.rows) if self.scope.acks else ():
            if row and row.segment is not None:
                left = Row(why=ACKED) if self.rules.acked == "tombstone" else None
                yield (
                    f"owner acknowledges {claim}",
                    s._replace(rows=at(s.rows, claim, left), acked=s.acked | {self.who(claim)}),
                )

    def _reader(self, s: State) -> Steps:
        """A pass asks each shard it knows of; what was listed when it began, and still is, must be shown."""
        listed = frozenset(claim for claim, row in enumerate(s.rows) if row and row.segment is not None)
        if s.passes and not s.reading:
            known = s.shards if self.rules.shards == "read anew" else 1
            yield "a pass begins", s._replace(passes=s.passes - 1, reading=(Pass(known, listed),))
        for reading in s.reading:
            if reading.next < reading.shards:
                page = {claim for claim in listed if self.messages[claim].shard == reading.next}
                new = reading._replace(shown=reading.shown | page, next=reading.next + 1)
                yield f"the pass reads shard {reading.next}", s._replace(reading=(new,))
            elif reading.must & listed - reading.shown:
                raise BrokenError("SKIPPED: listed all the time, yet not shown in a complete pass")
            else:
                yield "the pass ends", s._replace(reading=())
