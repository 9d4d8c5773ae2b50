"""The explicit-state model of `watch`: owners who wait for mail over WebSockets, workers, the courier, the guardian.

An owner asks, in one batch, to be told of mail and for the list of their messages. The guardian writes a row for the
session that waits, lists, and answers. A worker files a message, asks whether anybody waits, by a reading that it may
have kept for a while, and queues that there is mail. The courier makes of that a notification for each row, and of this
the response by the session's WebSocket; then it removes the row. The owner, who was told, asks anew. Some time after
each watch began, they list once more: by then, no worker has a reading that is older.

There are few places for rows. A session too many takes that of the one which began to wait first, and the guardian
queues that this watch was replaced; the courier answers it so. Its owner asks anew after a while. If a notification has
the row to itself, its owner is told by that one alone, for a second response would end the session.

One step is one call of AWS, or one message that arrives. A run of the guardian, of a worker or of the courier may be
overtaken by any others between two steps, or end; a message of the queue is then handed out again, and it may be handed
out twice at once. A WebSocket may close at any time, and its messages arrive in any order. All schedules are explored.

`Rules()` is the protocol; a variant changes one. Taken as given: a run of the courier ends before the lease of a row
does. Left out: the nonces, stamps and signatures of `tests/model/dcp.py`; the interval between notifications, which
sessions are told without regard to; a message that its workers never got further with than to file it; a call that
takes effect and fails, which is here the end of a run; the pings that keep a WebSocket open.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from tests.model.explore import BrokenError, Explored, explore


@dataclass(frozen=True)
class Rules:
    """What a variant may do otherwise."""

    listing: Literal["behind the watch", "before the watch"] = "behind the watch"
    second: Literal["each watch", "never", "early", "in its first wait"] = "each watch"
    """When an owner lists once more: a while after each watch began; never; before the readings of workers are over; or
    only if the wait that began the watch lasts so long."""
    trigger: Literal["file, then ask", "ask, then file"] = "file, then ask"
    reading: Literal["for a while", "for ever"] = "for a while"
    """How long a worker keeps whether anybody waits."""
    put: Literal["as it was read", "by id", "always"] = "as it was read"
    """Whether a row takes only the place that is as it was read: free, or with the row that is to be replaced, which no
    notification has to itself that had not then."""
    replaced: Literal["put, then told", "told, then put", "never told"] = "put, then told"
    """When the guardian queues that a watch was replaced."""
    leased: Literal["not told", "told, too"] = "not told"
    """Whether it does that, too, if a notification has the row to itself."""
    lease: Literal["by its notification", "none", "short", "refused to its own"] = "by its notification"
    """A notification has a row to itself, until its time is over, in every run of its own; there is no such rule; its
    time is over before its run; or its own next run is refused, too."""
    end: Literal["told, then removed", "removed, then told"] = "told, then removed"
    find: Literal["by id", "by place"] = "by id"
    remove: Literal["by id", "by place"] = "by id"
    queue: Literal["deleted after", "deleted before"] = "deleted after"
    """A message of the queue is deleted after its run, or before."""
    again: Literal["anew", "no more"] = "anew"
    """What an owner does whose session ended: they begin anew, or wait on."""


@dataclass(frozen=True)
class Scope:
    """A case. `workers`: of each message, who files it; `stale`: who has read, just before, that nobody waits.

    `places`: for sessions that wait at a time; `deaths`, `doubles`, `closes`, `pauses`: how many runs may end, messages
    be handed out twice at once, WebSockets close, and waits of an owner end before the next one; `returns`: how often
    owners ask anew whose watch was replaced; the others will, later. `last`: where the clock ends, unless an owner is
    to list once more. If it is 0, nobody does: they see mail because they are told.
    """

    name: str
    workers: tuple[int, ...] = (0,)
    stale: frozenset[int] = frozenset()
    owners: int = 1
    places: int = 2
    deaths: int = 0
    doubles: int = 0
    closes: int = 0
    pauses: int = 0
    returns: int = 0
    last: int = 0
    runs: int = 2


CACHE = 1
"""How long a worker keeps a reading."""
LOOK = {"each watch": CACHE + 1, "in its first wait": CACHE + 1, "early": CACHE}
"""When an owner lists once more."""
LONGEST_RUN = 1
"""Of the courier; the lease of a row ends no earlier."""

RowId = tuple[int, int]
"""The owner, and which of their requests it was."""
Mails = frozenset[int]


class Row(NamedTuple):
    """A session that waits. `turn`: greater than those of all that began to wait before; `lease`: the notification that
    has it to itself, and until when."""

    id: RowId
    session: int
    turn: int
    lease: "tuple[Notification, int] | None" = None


class Waiting(NamedTuple):
    """The courier's message that there is mail, about one message."""

    mail: int


class Notification(NamedTuple):
    """The courier's message for one row. `spread`: which fan-out of `mail` it is of."""

    row: RowId
    place: int
    mail: int
    spread: int


class Replaced(NamedTuple):
    """The courier's message that the watch of a session was replaced."""

    row: RowId
    session: int


Message = Waiting | Notification | Replaced


class Run(NamedTuple):
    """A run of the courier. `copy`: it is the second one at once with its message; `rows`: what it has read; `spread`:
    which fan-out of its message it is.
    """

    message: Message
    copy: bool
    phase: str
    since: int
    rows: tuple[tuple[int, Row], ...] = ()
    spread: int = 0


class Ask(NamedTuple):
    """A run of the guardian, for a batch. `place`, `old`: where the row goes, and what was read there, or replaced."""

    id: RowId
    session: int
    phase: str
    place: int = 0
    old: Row | None = None
    listed: Mails = frozenset()


class Told(NamedTuple):
    """What is under way by a WebSocket: the answer to a batch with a list; None: the response to a watch, which says
    that there is mail, or `replaced`."""

    id: RowId
    session: int
    listed: Mails | None
    replaced: bool = False


class Owner(NamedTuple):
    """`request`: the last one; `since`: when its watch was known to have begun; `seen`: the mail that was listed.

    `looked`: they listed once more, or will not; `told`: the watch was answered; `replaced`: that it was replaced.
    """

    phase: Literal["out", "asked", "waits"] = "out"
    session: int = 0
    request: int = 0
    since: int = 0
    looked: bool = False
    told: bool = False
    replaced: bool = False
    seen: Mails = frozenset()


class Reading(NamedTuple):
    """What a worker keeps: whether anybody waits."""

    somebody: bool
    at: int


class State(NamedTuple):
    owners: tuple[Owner, ...]
    filing: tuple[str, ...]
    """How far each message is."""
    readings: tuple[Reading | None, ...]
    places: tuple[Row | None, ...]
    deaths: int
    doubles: int
    closes: int
    pauses: int
    returns: int
    time: int = 0
    filed: Mails = frozenset()
    asks: tuple[Ask, ...] = ()
    queue: frozenset[Message] = frozenset()
    runs: tuple[Run, ...] = ()
    spreads: tuple[int, ...] = ()
    """How often each message was fanned out."""
    under_way: tuple[Told, ...] = ()
    answered: frozenset[RowId] = frozenset()
    doubts: frozenset[RowId] = frozenset()
    """The rows whose watch may be answered again: a run ended between response and removal, or was one of two."""
    untold: frozenset[RowId] = frozenset()
    """The watches that were replaced while a notification had the row to itself, or by a run that ended then."""


Actor = tuple[str, int] | Ask | Run | None
"""Whose step it is: an owner's, a worker's (by the message), the guardian's or the courier's."""


class Step(NamedTuple):
    """`what`: a fixed name; `due`: it comes in the end, if nothing else does; `state`: after it."""

    what: str
    state: State
    actor: Actor = None
    due: bool = True

    @property
    def label(self) -> str:
        match self.actor:
            case None:
                return self.what
            case Ask(id=(owner, request)):
                return f"guardian, request {request} of owner {owner}: {self.what}"
            case Run(message=message, copy=copy):
                return f"courier, {message}{' (the other run)' if copy else ''}: {self.what}"
            case (who, number):
                return f"{who} {number}: {self.what}"


Steps = Iterator[Step]
T = TypeVar("T")


def _with(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _without(values: tuple[T, ...], value: T) -> tuple[T, ...]:
    """Without one of them that is equal."""
    index = values.index(value)
    return (*values[:index], *values[index + 1 :])


def _sorted(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(values, key=repr))


class Watch:
    """The protocol under `rules`, in one case."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules, self.scope = rules, scope

    def start(self) -> State:
        scope = self.scope
        return State(
            owners=(Owner(),) * scope.owners,
            filing=("ask" if self.rules.trigger == "ask, then file" else "file",) * len(scope.workers),
            readings=tuple(
                Reading(False, 0) if worker in scope.stale else None for worker in range(max(scope.workers) + 1)
            ),
            places=(None,) * scope.places,
            deaths=scope.deaths,
            doubles=scope.doubles,
            closes=scope.closes,
            pauses=scope.pauses,
            returns=scope.returns,
            spreads=(0,) * len(scope.workers),
        )

    def explore(self) -> Explored:
        return explore(self.start(), lambda _: None, lambda s: ((step.label, step.state) for step in self.following(s)))

    # ---- all steps -------------------------------------------------------------------------------------------
    def following(self, s: State) -> Steps:
        """Every step there is. Raises BrokenError where none is due, and an owner who waits has not seen all mail."""
        is_due = False
        for step in self._steps(s):
            is_due |= step.due
            yield step
        if is_due:
            return
        for number, owner in enumerate(s.owners):
            if owner.seen != s.filed and not owner.replaced and (number, owner.request) not in s.untold:
                raise BrokenError(
                    "UNSEEN: mail was filed, and an owner who waits for it is not told, and does not look"
                )

    def _steps(self, s: State) -> Steps:
        if all(s.time < run.since + LONGEST_RUN for run in s.runs):
            is_awaited = any((self.looks_at(owner) or 0) > s.time for owner in s.owners)
            if s.time < self.scope.last or (is_awaited and self.scope.last):
                yield Step("time goes on", s._replace(time=s.time + 1), due=is_awaited)
        for number, owner in enumerate(s.owners):
            yield from self._owner(s, number, owner)
        for told in dict.fromkeys(s.under_way):
            yield self._arrived(s, told)
        for ask in s.asks:
            yield self._ask(s, ask)
            if s.deaths:
                untold = {ask.old.id} if ask.phase == "tell" and ask.old else set()
                ended = s._replace(asks=_without(s.asks, ask), deaths=s.deaths - 1, untold=s.untold | untold)
                yield Step("ends", ended, ask, due=False)
        for mail, phase in enumerate(s.filing):
            yield from self._worker(s, mail, phase)
        for message in sorted(s.queue, key=repr):
            yield from self._handed_out(s, message)
        for run in s.runs:
            yield from self._courier(s, run)

    # ---- an owner --------------------------------------------------------------------------------------------
    def _owner(self, s: State, number: int, owner: Owner) -> Steps:
        def step(what: str, after: Owner, *, due: bool = True, **changes: Any) -> Step:
            return Step(what, self._put_owner(s, number, after)._replace(**changes), ("owner", number), due)

        match owner.phase:
            case "out" if owner.session == 0 or self.rules.again == "anew":
                begun = owner._replace(session=owner.session + 1)
                yield self._asks(s, number, begun, "opens a session, and asks")
            case "asked" if not self._is_answered(s, number, owner):
                yield Step("gets no answer, and ends the session", self._closed(s, number), ("owner", number))
            case "waits":
                is_due = self._is_looking(s, owner)
                if is_due:
                    yield step("lists once more", owner._replace(seen=s.filed, looked=True, since=0))
                elif owner.told:
                    yield self._asks(s, number, owner, "was told, and asks anew")
                elif owner.replaced and s.returns:
                    yield self._asks(s._replace(returns=s.returns - 1), number, owner, "asks anew, after a while")
                if s.pauses and not owner.told:
                    looked = owner.looked or is_due or self.rules.second == "in its first wait"
                    after = owner._replace(seen=s.filed, looked=looked)
                    yield step("waits no more, then again", after, due=False, pauses=s.pauses - 1)
        if owner.phase != "out" and s.closes:
            is_noticed = not owner.replaced or owner.phase == "asked" or self._is_looking(s, owner)
            closed = self._closed(s, number) if is_noticed else self._closed_unnoticed(s, number)
            what = "the WebSocket closes" if is_noticed else "the WebSocket closes, which nobody notices"
            yield Step(what, closed._replace(closes=s.closes - 1), ("owner", number), due=False)

    def _asks(self, s: State, number: int, owner: Owner, what: str) -> Step:
        """The owner sends a batch, and the run of the guardian makes its first call."""
        after = owner._replace(phase="asked", request=owner.request + 1, told=False, looked=False, since=0)
        after = after._replace(replaced=False)
        ask = Ask((number, after.request), after.session, "")
        asked = self._put_owner(s, number, after)
        if self.rules.listing == "before the watch":
            ask = ask._replace(phase="read", listed=s.filed)
        else:
            ask = self._places_read(s, ask)
        return Step(what, asked._replace(asks=_sorted((*s.asks, ask))), ("owner", number))

    def _is_answered(self, s: State, number: int, owner: Owner) -> bool:
        """Whether an answer to the batch is under way, or may come."""
        batch = (number, owner.request)
        return any(ask.id == batch for ask in s.asks) or any(
            told.id == batch and told.listed is not None for told in s.under_way
        )

    def looks_at(self, owner: Owner) -> int | None:
        """When an owner lists once more; None: they do not."""
        if owner.phase != "waits" or owner.looked or self.rules.second == "never":
            return None
        return owner.since + LOOK[self.rules.second]

    def _is_looking(self, s: State, owner: Owner) -> bool:
        looks_at = self.looks_at(owner)
        return looks_at is not None and s.time >= looks_at

    def _arrived(self, s: State, told: Told) -> Step:
        """A message of a WebSocket that is open arrives."""
        number, request = told.id
        owner, rest = s.owners[number], s._replace(under_way=_without(s.under_way, told))
        actor = ("owner", number)
        if told.listed is not None:
            seen, since = owner.seen | told.listed, 0 if owner.told else s.time
            after = owner._replace(phase="waits", since=since, seen=seen, looked=owner.told)
            return Step("is answered", self._put_owner(rest, number, after), actor)
        if request == owner.request and not owner.told and not owner.replaced:
            if told.replaced:
                replaced = self._put_owner(rest, number, owner._replace(replaced=True))
                return Step("is told that it was replaced", replaced, actor)
            looks_at = self.looks_at(owner)
            after = owner._replace(told=True)
            if looks_at is None or s.time < looks_at:
                after = after._replace(looked=True, since=0)
            return Step("is told", self._put_owner(rest, number, after), actor)
        return Step("is told again, which ends the session", self._closed(rest, number), actor)

    def _closed(self, s: State, number: int) -> State:
        left = tuple(each for each in s.under_way if each.id[0] != number)
        return self._put_owner(s, number, self._out(s.owners[number]))._replace(under_way=left)

    def _closed_unnoticed(self, s: State, number: int) -> State:
        """An owner who has no request open asks anew in another session, when it is time."""
        owner = s.owners[number]
        return self._put_owner(self._closed(s, number), number, owner._replace(session=owner.session + 1))

    def _out(self, owner: Owner) -> Owner:
        return Owner(session=owner.session, request=owner.request, seen=owner.seen)

    def _put_owner(self, s: State, number: int, owner: Owner) -> State:
        return s._replace(owners=_with(s.owners, number, owner))

    def _send(self, s: State, told: Told) -> State:
        """Send by a WebSocket, if it is open."""
        owner = s.owners[told.id[0]]
        is_open = owner.phase != "out" and owner.session == told.session
        return s._replace(under_way=_sorted((*s.under_way, told))) if is_open else s

    # ---- the guardian ----------------------------------------------------------------------------------------
    def _ask(self, s: State, ask: Ask) -> Step:
        def on(after: State, changed: Ask) -> State:
            return after._replace(asks=_sorted((*_without(s.asks, ask), changed)))

        match ask.phase:
            case "read":
                return Step("reads who waits", on(s, self._places_read(s, ask)), ask)
            case "put":
                before = s.places[ask.place]
                if not self._is_as_read(before, ask):
                    return Step("finds another row in the place", on(s, self._listing(ask)._replace(phase="read")), ask)
                turn = 1 + max((row.turn for row in s.places if row), default=0)
                after = s._replace(places=_with(s.places, ask.place, Row(ask.id, ask.session, turn)))
                then = self._listing(ask)
                if before and ask.old and before.id == ask.old.id and not self._is_of(before, ask):
                    if ask.old.lease and self.rules.leased == "not told":
                        after = after._replace(untold=s.untold | {before.id})
                    elif self.rules.replaced == "put, then told":
                        then = then._replace(phase="tell", old=ask.old)
                return Step("puts the row", on(after, then), ask)
            case "tell" | "tell, then put" if ask.old:
                queued = s._replace(queue=s.queue | {Replaced(ask.old.id, ask.old.session)})
                then = self._listing(ask) if ask.phase == "tell" else ask._replace(phase="put")
                return Step("queues that a watch was replaced", on(queued, then), ask)
            case _:
                listed = ask.listed if self.rules.listing == "before the watch" else s.filed
                ended = s._replace(asks=_without(s.asks, ask))
                return Step("lists, and answers", self._send(ended, Told(ask.id, ask.session, listed)), ask)

    def _places_read(self, s: State, ask: Ask) -> Ask:
        place = self._place_for(s, ask)
        row = s.places[place]
        tells = row and not self._is_of(row, ask) and self.rules.replaced == "told, then put"
        return ask._replace(phase="tell, then put" if tells else "put", place=place, old=row)

    def _listing(self, ask: Ask) -> Ask:
        return ask._replace(phase="list", place=0, old=None)

    def _is_as_read(self, row: Row | None, ask: Ask) -> bool:
        if self.rules.put == "always":
            return True
        if row is None or ask.old is None:
            return row is ask.old
        if row.id != ask.old.id:
            return False
        return self.rules.put == "by id" or (row.lease and row.lease[0]) == (ask.old.lease and ask.old.lease[0])

    def _place_for(self, s: State, ask: Ask) -> int:
        """That of the session, a free one, or that of the one which began to wait first."""
        rows = list(enumerate(s.places))
        own = [place for place, row in rows if row and self._is_of(row, ask)]
        free = [place for place, row in rows if row is None]
        first = min(rows, key=lambda each: each[1].turn if each[1] else 0)
        return [*own, *free, first[0]][0]

    def _is_of(self, row: Row, ask: Ask) -> bool:
        return (row.id[0], row.session) == (ask.id[0], ask.session)

    # ---- a worker --------------------------------------------------------------------------------------------
    def _worker(self, s: State, mail: int, phase: str) -> Steps:
        def step(what: str, phase: str, **changes: Any) -> Step:
            after = s._replace(filing=_with(s.filing, mail, phase), **changes)
            return Step(what, after, ("worker of message", mail), due=what != "ends")

        first_asks = self.rules.trigger == "ask, then file"
        match phase:
            case "file" | "file, and tell":
                then = {"file, and tell": "tell", "file": "done" if first_asks else "ask"}[phase]
                yield step("files", then, filed=s.filed | {mail})
            case "ask":
                reading, readings, what = self._read(s, self.scope.workers[mail])
                if first_asks:
                    yield step(what, "file, and tell" if reading else "file", readings=readings)
                else:
                    yield step(what, "tell" if reading else "done", readings=readings)
            case "tell":
                yield step("queues that there is mail", "done", queue=s.queue | {Waiting(mail)})
                if s.deaths and not first_asks:
                    yield step("ends", "ask", deaths=s.deaths - 1)

    def _read(self, s: State, worker: int) -> tuple[bool, tuple[Reading | None, ...], str]:
        """Whether anybody waits, what workers have read then, and the step's name."""
        kept = s.readings[worker]
        if kept and (s.time <= kept.at + CACHE or self.rules.reading == "for ever"):
            return kept.somebody, s.readings, "knows whether anybody waits"
        read = Reading(any(s.places), s.time)
        return read.somebody, _with(s.readings, worker, read), "reads whether anybody waits"

    # ---- the courier -----------------------------------------------------------------------------------------
    def _handed_out(self, s: State, message: Message) -> Steps:
        """A run begins, and makes its first call."""
        copies = [run for run in s.runs if run.message == message]
        if len(s.runs) == self.scope.runs or len(copies) == 2 or (copies and not s.doubles):
            return
        run = Run(message, bool(copies) and not copies[0].copy, "", s.time)
        if copies:
            doubts = s.doubts | (set() if isinstance(message, Waiting) else {message.row})
            s = s._replace(doubles=s.doubles - 1, doubts=doubts)
        elif self.rules.queue == "deleted before":
            s = s._replace(queue=s.queue - {message})
        s = s._replace(runs=(*s.runs, run))
        yield self._begins(s, run)._replace(due=not copies)

    def _begins(self, s: State, run: Run) -> Step:
        match run.message:
            case Waiting() as waiting:
                return self._reads(s, run, waiting)
            case Notification() as notification:
                return self._finds(s, run, notification)
            case Replaced() as replaced:
                after = self._answer(s, replaced.row, Told(replaced.row, replaced.session, None, replaced=True))
                return self._goes_on(after, run, "tells the owner", "end", ())

    def _courier(self, s: State, run: Run) -> Steps:
        match run.message:
            case Waiting() as waiting:
                yield self._queues(s, run, waiting)
            case Notification() as notification:
                yield self._notify(s, run, notification)
            case Replaced():
                yield self._done(s, run, "is done")
        if s.deaths:
            is_told = run.phase in ("remove", "end") and not isinstance(run.message, Waiting)
            doubts = s.doubts | ({run.message.row} if is_told else set())
            ended = s._replace(runs=_without(s.runs, run), deaths=s.deaths - 1, doubts=doubts)
            yield Step("ends", ended, run, due=False)

    def _reads(self, s: State, run: Run, message: Waiting) -> Step:
        """A fan-out reads the rows. Those of one message differ: each makes notifications of its own."""
        rows = tuple((place, row) for place, row in enumerate(s.places) if row)
        if not rows:
            return self._done(s, run, "finds nobody")
        spread = s.spreads[message.mail]
        numbered = run._replace(spread=spread)
        s = s._replace(runs=(*_without(s.runs, run), numbered), spreads=_with(s.spreads, message.mail, spread + 1))
        return self._goes_on(s, numbered, "reads who waits", "queue", rows)

    def _queues(self, s: State, run: Run, message: Waiting) -> Step:
        queued = {Notification(row.id, place, message.mail, run.spread) for place, row in run.rows}
        return self._done(s._replace(queue=s.queue | queued), run, "queues notifications")

    def _finds(self, s: State, run: Run, message: Notification) -> Step:
        row = s.places[message.place]
        if row is None or not self._is_there(row, message):
            return self._done(s, run, "finds nobody to tell")
        if self._is_taken(row, message, s.time):
            return self._done(s, run, "finds that another tells")
        phase = "tell" if self.rules.lease == "none" else "lease"
        return self._goes_on(s, run, "finds the row", phase, ((message.place, row),))

    def _is_there(self, row: Row | None, message: Notification) -> bool:
        return row is not None and (row.id == message.row or self.rules.find == "by place")

    def _notify(self, s: State, run: Run, message: Notification) -> Step:
        row, found = s.places[message.place], run.rows[0][1]
        first, second = ("tell", "remove") if self.rules.end == "told, then removed" else ("remove", "tell")
        match run.phase:
            case "lease":
                if row is None or not self._is_there(row, message) or self._is_taken(row, message, run.since - 1):
                    return self._done(s, run, "cannot have the row to itself")
                until = run.since if self.rules.lease == "short" else run.since + LONGEST_RUN
                leased = row._replace(lease=(message, until))
                after = s._replace(places=_with(s.places, message.place, leased))
                return self._goes_on(after, run, "has the row to itself", first, run.rows)
            case "tell":
                if found.id != message.row:
                    raise BrokenError("OTHER: a notification for the row of one watch answers another one")
                what, after = "tells the owner", self._answer(s, found.id, Told(found.id, found.session, None))
            case _:
                is_own = row is not None and (row.id == found.id or self.rules.remove == "by place")
                what, after = (
                    "removes the row",
                    s._replace(places=_with(s.places, message.place, None)) if is_own else s,
                )
        return (
            self._done(after, run, what) if run.phase == second else self._goes_on(after, run, what, second, run.rows)
        )

    def _is_taken(self, row: Row, message: Notification, now: int) -> bool:
        """Whether another notification has the row to itself."""
        if row.lease is None or self.rules.lease == "none":
            return False
        whose, until = row.lease
        return until > now and (whose != message or self.rules.lease == "refused to its own")

    def _answer(self, s: State, row: RowId, told: Told) -> State:
        if row in s.answered and row not in s.doubts:
            raise BrokenError("TWICE: a watch is answered twice")
        return self._send(s._replace(answered=s.answered | {row}), told)

    def _goes_on(self, s: State, run: Run, what: str, phase: str, rows: tuple[tuple[int, Row], ...]) -> Step:
        changed = run._replace(phase=phase, rows=rows)
        return Step(what, s._replace(runs=_sorted((*_without(s.runs, run), changed))), run)

    def _done(self, s: State, run: Run, what: str) -> Step:
        """The run ends, and its message is deleted. A row that is gone, and that no run has read, is never answered."""
        after = s._replace(runs=_without(s.runs, run), queue=s.queue - {run.message})
        known = {row.id for row in after.places if row} | {row.id for each in after.runs for _, row in each.rows}
        known |= {each.row for each in after.queue if isinstance(each, Replaced)}
        return Step(what, after._replace(answered=s.answered & known, doubts=s.doubts & known), run)
