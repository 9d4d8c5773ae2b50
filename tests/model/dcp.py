"""The explicit-state model of a DCP target over DynamoDB: sessions, nonces, stamps, cheques, batches, crashes.

One step of a run (of a function that answers one message) is one call of DynamoDB, or the operation itself. A run may
be overtaken by any others between two steps, or end. A call may take effect and its answer be lost: the SDK then makes
it again. Whoever saw a message may send it again at any time, on any connection. The clocks of runs differ. DynamoDB
removes what is over when it likes, by its own clock. All schedules are explored.

`Rules()` is the protocol; a variant changes one. Taken as given: signatures. So a message is one of the case's, bit for
bit, and a payload with its authorization (a cheque, if its accessor is somebody else) may stand in messages of
anybody. A message is sent as soon as the nonce in it was told to anybody. Left out: the ids of requests (the same
conditional put as that of a stamp, with another key); requests of the target to the initiator; the end of a session
that moves on with each message (its row is only ever kept longer).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import BrokenError, Explored, explore


@dataclass(frozen=True)
class Rules:
    """What a variant may do otherwise."""

    nonce: Literal["one update", "read, then write"] = "one update"
    first: Literal["if absent", "always"] = "if absent"
    """When the first message makes the row of its session."""
    closed: Literal["tombstone", "deleted"] = "tombstone"
    """What is left of a closed session's row."""
    tombstones: Literal["outlive", "short"] = "outlive"
    """Whether rows of sessions outlive the first nonce."""
    stamp: Literal["before", "after", "read, then write"] = "before"
    """The conditional put is before or after the operation."""
    scope: Literal["owner", "key", "global"] = "owner"
    """Whose stamp it is: the owner's if one of its keys authorized the accessor, otherwise of one space of all others;
    that of the key which signed; of one space of all, as the text says."""
    owner: Literal["first", "last"] = "first"
    """Whether it is known who authorized a request before or after its stamp is taken."""
    remember: Literal["slop", "ttl"] = "slop"
    """A stamp is kept until time + ttl + slop, or until time + ttl, as the reference does."""
    settings: Literal["largest", "now"] = "largest"
    """The ttl that counts for it: the largest that can be set, or the one that is set now."""
    clock: Literal["once", "again"] = "once"
    """A run reads its clock once, or again at the stamp."""
    sweep: Literal["late", "early", "at once"] = "late"
    """What is over is removed after the difference of clocks and the longest run, after the difference, or at once."""
    own: Literal["known", "refused"] = "known"
    """What happens to a run that meets its own write."""
    release: Literal["reads", "any", "blind"] = "reads"
    """A stamp is given back if a read failed; if any operation failed; if a read failed, whoever's stamp it is."""
    revoke: Literal["longest", "request"] = "longest"
    """A revoked stamp is kept for the longest ttl, or for that of the request that revokes it."""
    validity: Literal["checked", "not checked"] = "checked"


class Revoke(NamedTuple):
    """The operation that revokes the cheque with this stamp."""

    stamp: str


class Payload(NamedTuple):
    """What an owner signs, by one of two keys. `accessor`: who may present it; None: nobody authorized anything.

    Two payloads that differ in `signer` only are one, presented with one signature or the other.
    """

    stamp: str
    time: int = 0
    ttl: int = 1
    accessor: str | None = None
    operation: Literal["write", "read", "close", "none"] | Revoke = "write"
    signer: Literal["one", "other"] = "one"


class Message(NamedTuple):
    """`by`: who signs. `payloads`: one, or those of a batch. `after`: the message whose answer tells the nonce."""

    session: str
    by: str
    payloads: tuple[int, ...]
    after: int | None = None


@dataclass(frozen=True)
class Scope:
    """A case. `arrivals`: how often each message may arrive; `runs`: how many at once; `last`: where the clock ends.

    `skews`: of the clocks of runs; `longest`: the settable maximum of ttl, first and later; `opens`: how long the first
    nonce of a session counts; `lost`: answers of DynamoDB that may be lost; `failures`: operations that may fail.
    """

    name: str
    payloads: tuple[Payload, ...]
    messages: tuple[Message, ...]
    arrivals: tuple[int, ...]
    runs: int = 2
    last: int = 0
    skews: tuple[int, ...] = (0,)
    slop: int = 0
    longest: tuple[int, ...] = (1,)
    opens: int = 1
    lost: int = 0
    failures: int = 0


LONGEST_RUN = 1
MARGIN = {"late": 2, "early": 1, "at once": 0}
"""How long something is over before it is removed; clocks differ by 1."""

Nonce = tuple[int, int]
"""The message, and which of its arrivals: what its answer tells, and the mark on what its run writes."""
StampKey = tuple[str, str]
"""Whose stamp it is, and the stamp."""


class Run(NamedTuple):
    phase: str
    message: int
    now: int
    skew: int
    since: int
    mark: Nonce
    nonce: Nonce | None
    """The nonce in its message."""
    i: int = 0
    again: bool = False
    """The SDK makes its call once more."""


class Session(NamedTuple):
    nonce: Nonce
    closed: bool
    until: int


class Stamp(NamedTuple):
    mark: tuple[Nonce, int] | None
    """The run and the place in its batch; None: revoked."""
    until: int


K, V = TypeVar("K"), TypeVar("V")
Rows = tuple[tuple[K, V], ...]
"""A table, sorted."""


class State(NamedTuple):
    left: tuple[int, ...]
    done: tuple[int, ...]
    """How often each payload took effect."""
    lost: int
    failures: int
    time: int = 0
    sessions: Rows[str, Session] = ()
    stamps: Rows[StampKey, Stamp] = ()
    passed: tuple[tuple[str, Nonce | None], ...] = ()
    """The nonces that were let pass, each with its session."""
    told: frozenset[tuple[int, Nonce]] = frozenset()
    """The nonces that reached the sender of a message."""
    tried: frozenset[int] = frozenset()
    """The payloads whose accessor came to their stamp."""
    over: frozenset[str] = frozenset()
    """The sessions that were closed."""
    revoked: frozenset[str] = frozenset()
    runs: tuple[Run, ...] = ()
    setting: int = 0


class Step(NamedTuple):
    """`what`: a fixed name, and behind a colon its details, if any; `mark`: of the run that takes it; None: no run."""

    what: str
    state: State
    mark: Nonce | None = None

    @property
    def label(self) -> str:
        return self.what if self.mark is None else f"run of {self.mark[0]}: {self.what}"


Steps = Iterator[Step]
RunSteps = Iterator[tuple[str, State, tuple[Run, ...]]]


def put(rows: Rows[K, V], key: K, value: V) -> Rows[K, V]:
    return tuple(sorted([*removed(rows, key), (key, value)], key=repr))


def removed(rows: Rows[K, V], key: K) -> Rows[K, V]:
    return tuple(row for row in rows if row[0] != key)


def one_more(counts: tuple[int, ...], index: int, change: int = 1) -> tuple[int, ...]:
    return (*counts[:index], counts[index] + change, *counts[index + 1 :])


def crowd(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Runs are interchangeable: keep them in one order."""
    return tuple(sorted(runs, key=repr))


class Target:
    """The protocol under `rules`, in one case."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules, self.scope = rules, scope
        self.phases = {
            "nonce": self._nonce,
            "nonce written": self._nonce_written,
            "stamp": self._stamp,
            "stamp written": self._stamp_written,
            "operation": self._operation,
            "stamp after": self._stamp_after,
            "release": self._release,
        }

    def start(self) -> State:
        scope = self.scope
        return State(scope.arrivals, (0,) * len(scope.payloads), scope.lost, scope.failures)

    def explore(self) -> Explored:
        return explore(self.start(), self.check, lambda s: ((step.label, step.state) for step in self.following(s)))

    # ---- what must be true of every state --------------------------------------------------------------------
    def check(self, s: State) -> None:
        if any(count > 1 for count in s.done):
            raise BrokenError("TWICE: one payload took effect twice")
        if len(set(s.passed)) < len(s.passed):
            raise BrokenError("NONCE: one nonce was let pass twice")

    # ---- all steps -------------------------------------------------------------------------------------------
    def following(self, s: State) -> Steps:
        if s.time < self.scope.last:
            yield Step("time goes on", s._replace(time=s.time + 1))
        if s.setting + 1 < len(self.scope.longest):
            yield Step("the operator raises the longest ttl", s._replace(setting=s.setting + 1))
        margin = MARGIN[self.rules.sweep]
        for stamp, row in s.stamps:
            if row.until + margin < s.time:
                yield Step(f"DynamoDB removes a stamp: {stamp}", s._replace(stamps=removed(s.stamps, stamp)))
        for session, opened in s.sessions:
            if opened.until + margin < s.time:
                yield Step(f"DynamoDB removes a session: {session}", s._replace(sessions=removed(s.sessions, session)))
        if len(s.runs) < self.scope.runs:
            yield from self._arrivals(s)
        for i, run in enumerate(s.runs):
            rest = s.runs[:i] + s.runs[i + 1 :]
            yield Step(f"end: in {run.phase}", s._replace(runs=rest), run.mark)
            if s.time - run.since <= LONGEST_RUN:
                for what, after, on in self.phases[run.phase](s, run):
                    yield Step(what, after._replace(runs=crowd(rest + on)), run.mark)

    def _arrivals(self, s: State) -> Steps:
        for index, message in enumerate(self.scope.messages):
            if not s.left[index]:
                continue
            nonces = [None] if message.after is None else [nonce for of, nonce in s.told if of == message.after]
            for nonce in nonces:
                for skew in self.scope.skews:
                    now = max(0, s.time + skew)
                    run = Run("nonce", index, now, skew, s.time, (index, s.left[index]), nonce)
                    arrived = s._replace(left=one_more(s.left, index, -1), runs=crowd((*s.runs, run)))
                    yield Step(f"arrive: clock {now}", arrived, run.mark)

    # ---- a run: each phase yields what is done, the state after it, and the run that goes on -------------------
    def _nonce(self, s: State, run: Run) -> RunSteps:
        """Let the nonce pass once, and set the next: a conditional put (first message) or update."""
        message = self.scope.messages[run.message]
        row = dict(s.sessions).get(message.session)
        if message.after is None:
            good = run.now <= self.scope.opens and (row is None or self.rules.first == "always")
        else:
            good = row is not None and not row.closed and row.nonce == run.nonce
        on = run._replace(phase="stamp", again=False)
        if self.rules.nonce == "read, then write":
            yield ("read the nonce", s, (run._replace(phase="nonce written"),)) if good else ("EINVAL", s, ())
        elif run.again and row is not None and row.nonce == run.mark:
            self._check_own()
            yield "nonce again, known as its own", s, (on,)
        elif good:
            after = self._passed(s, run)
            yield "nonce", after, (on,)
            if s.lost:
                yield "nonce, answer lost", after._replace(lost=s.lost - 1), (run._replace(again=True),)
        else:
            yield "EINVAL", s, ()

    def _nonce_written(self, s: State, run: Run) -> RunSteps:
        yield "write the nonce", self._passed(s, run), (run._replace(phase="stamp"),)

    def _passed(self, s: State, run: Run) -> State:
        session = self.scope.messages[run.message].session
        if session in s.over:
            raise BrokenError("REVIVED: a closed session let a message pass")
        until = self.scope.opens if self.rules.tombstones == "outlive" else -1
        closes = self._closes(s, run)
        sessions = put(s.sessions, session, Session(run.mark, closes, until))
        if closes:
            s = s._replace(over=s.over | {session})
            if self.rules.closed == "deleted":
                sessions = removed(sessions, session)
        return s._replace(sessions=sessions, passed=tuple(sorted([*s.passed, (session, run.nonce)], key=repr)))

    def _closes(self, s: State, run: Run) -> bool:
        """Whether a payload closes the session, which is done with the nonce."""
        payloads = [self.scope.payloads[number] for number in self.scope.messages[run.message].payloads]
        return any(each.operation == "close" and self._is_valid(s, run, each) for each in payloads)

    def _check_own(self) -> None:
        if self.rules.own == "refused":
            raise BrokenError("ITSELF: a run was refused because of its own write")

    def _stamp(self, s: State, run: Run) -> RunSteps:
        """Validity, then the stamp: of one payload after the other."""
        if run.i == len(self.scope.messages[run.message].payloads):
            yield "answer", s._replace(told=s.told | {(run.message, run.mark)}), ()
            yield "answer, and nobody hears it", s, ()
            return
        payload = self._payload(run)
        if not run.again and self.rules.validity == "checked" and not self._is_valid(s, run, payload):
            yield "EEXPIRED or ETIMETRAVEL", s, (self._next(run),)
            return
        operate = run._replace(phase="operation", again=False)
        if payload.operation in ("close", "none"):
            # To repeat these changes nothing, and the nonce counts once.
            yield from self._operation(s, run)
            return
        if self._is_nobodys(run) and self.rules.owner == "first":
            yield "not authorized", s, (self._next(run),)
            return
        if self.rules.stamp == "after":
            yield "go on", s, (operate,)
            return
        key = self._key(run)
        row = dict(s.stamps).get(key)
        now = run.now if self.rules.clock == "once" else max(0, s.time + run.skew)
        if run.again and row is not None and row.mark == (run.mark, run.i):
            self._check_own()
            yield f"stamp again, known as its own: {key}", s, (operate,)
        elif row is not None and row.until >= now:
            if self._is_allowed(run) and self._number(run) not in s.tried and payload.stamp not in s.revoked:
                raise BrokenError("USED UP: the answer is EDUP, and the accessor had not presented the payload")
            yield f"EDUP: {key}", s, (self._next(run),)
        elif self.rules.stamp == "read, then write":
            yield f"read stamp: {key}", s, (run._replace(phase="stamp written"),)
        else:
            after = self._stamped(s, run)
            yield f"stamp: {key}", after, (operate,)
            if s.lost:
                yield f"stamp, answer lost: {key}", after._replace(lost=s.lost - 1), (run._replace(again=True),)

    def _stamp_written(self, s: State, run: Run) -> RunSteps:
        yield "write the stamp", self._stamped(s, run), (run._replace(phase="operation"),)

    def _stamped(self, s: State, run: Run) -> State:
        payload, tried = self._payload(run), s.tried
        if self._is_nobodys(run):
            raise BrokenError("WRITTEN: a stranger's request made us write")
        if self._is_allowed(run):
            if payload.stamp in s.revoked:
                raise BrokenError("UNREVOKED: a revoked cheque was let through")
            tried |= {number for number, other in enumerate(self.scope.payloads) if other.stamp == payload.stamp}
        row = Stamp((run.mark, run.i), self._until(s, payload))
        return s._replace(stamps=put(s.stamps, self._key(run), row), tried=tried)

    def _operation(self, s: State, run: Run) -> RunSteps:
        payload, on = self._payload(run), self._next(run)
        if isinstance(payload.operation, Revoke):
            yield "revoke", self._revoked(s, run, payload, payload.operation.stamp), (on,)
        elif payload.operation in ("close", "none"):
            yield "nothing to do", s, (on,)
        else:
            effect = s._replace(done=one_more(s.done, self._number(run)))
            yield "operation", effect, (run._replace(phase="stamp after") if self.rules.stamp == "after" else on,)
            if s.failures:
                gives_back = payload.operation == "read" or self.rules.release == "any"
                then = run._replace(phase="release") if gives_back else on
                yield "operation fails", s._replace(failures=s.failures - 1), (then,)
                if payload.operation == "write":
                    yield "operation takes effect, and fails", effect._replace(failures=s.failures - 1), (then,)

    def _revoked(self, s: State, run: Run, payload: Payload, stamp: str) -> State:
        """A stamp that is there stays: the cheque was presented before."""
        key = (self._owner(payload), stamp)
        if key in dict(s.stamps):
            return s
        ttl = self.scope.longest[-1] if self.rules.revoke == "longest" else payload.ttl
        row = Stamp(None, run.now + ttl + self.scope.slop)
        return s._replace(stamps=put(s.stamps, key, row), revoked=s.revoked | {stamp})

    def _release(self, s: State, run: Run) -> RunSteps:
        """A stamp is given back, if it is the run's own."""
        key = self._key(run)
        row = dict(s.stamps).get(key)
        own = row is not None and (row.mark == (run.mark, run.i) or self.rules.release == "blind")
        after = s._replace(stamps=removed(s.stamps, key)) if own else s
        yield f"give stamp back: {key}, {own}", after, (self._next(run),)

    def _stamp_after(self, s: State, run: Run) -> RunSteps:
        after = s if self._key(run) in dict(s.stamps) else self._stamped(s, run)
        yield "stamp, after the operation", after, (self._next(run),)

    # ---- of one payload --------------------------------------------------------------------------------------
    def _number(self, run: Run) -> int:
        """Of two payloads that are one, that of the first."""
        return self.number_of(self.scope.messages[run.message].payloads[run.i])

    def number_of(self, index: int) -> int:
        one = self.scope.payloads[index]._replace(signer="one")
        return next(at for at, each in enumerate(self.scope.payloads) if each._replace(signer="one") == one)

    def _payload(self, run: Run) -> Payload:
        return self.scope.payloads[self.scope.messages[run.message].payloads[run.i]]

    def _next(self, run: Run) -> Run:
        return run._replace(phase="stamp", i=run.i + 1, again=False)

    def _is_allowed(self, run: Run) -> bool:
        return self._payload(run).accessor == self.scope.messages[run.message].by

    def _is_nobodys(self, run: Run) -> bool:
        """Whether a request names an owner, and is not authorized by one."""
        return self._payload(run).accessor is not None and not self._is_allowed(run)

    def _is_valid(self, s: State, run: Run, payload: Payload) -> bool:
        end = payload.time + min(payload.ttl, self.scope.longest[s.setting]) + self.scope.slop
        return payload.time - self.scope.slop <= run.now <= end

    def _until(self, s: State, payload: Payload) -> int:
        longest = self.scope.longest[-1 if self.rules.settings == "largest" else s.setting]
        slop = self.scope.slop if self.rules.remember == "slop" else 0
        return payload.time + min(payload.ttl, longest) + slop

    def _key(self, run: Run) -> StampKey:
        payload = self._payload(run)
        owner = "" if self.rules.scope == "global" or not self._is_allowed(run) else self._owner(payload)
        return owner, payload.stamp

    def _owner(self, payload: Payload) -> str:
        return f"key {payload.signer}" if self.rules.scope == "key" else "owner"
