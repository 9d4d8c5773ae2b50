"""The real parts that take the steps of the model of `watch`: the guardian, a worker, the courier, and an owner.

As in `tests/model/dcp_code.py`, a run of the code is computed anew at each step, from what its calls brought so far,
and stops at the next one. The calls are those of DynamoDB, where the rows are (they are made in moto), of the courier's
queue, of the WebSocket, and of the list of messages. An owner is `MailWaits`, computed anew from all that it was told,
on a clock that stands still.

After each step, the code must agree with the model: about the call that was made, the rows, the courier's queue, what
was sent by which WebSocket, what a worker knows, and which requests an owner has not been answered.

Sessions that begin to wait at one step of the clock have one time in the code, which then does not know who was first:
where one is replaced, the cases have one place. Left out: the nonces, which `dcp_code.py` has (here, each batch is its
session's first message), the interval between notifications (each message about mail begins one), and the connection of
an owner: that a second response ends it, tests/protocols/dcp/test_connections.py shows.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final, Literal, TypeAlias

from tests.client.standing import Socket, StandingLoop, list_nowhere
from tests.model.dcp_code import Call, StoppedError, expect
from tests.model.explore import Explored, explore
from tests.model.watch import (
    Ask,
    Message,
    Notification,
    Owner,
    Replaced,
    Row,
    RowId,
    Rules,
    Run,
    Scope,
    State,
    Step,
    Waiting,
    Watch,
)
from tests.protocols.dcp.guarded import OWNER, US, at_once

from postroom.client.dcp.errors import DcpError, RequestFailedError
from postroom.client.mailbox import dcp_waits
from postroom.client.mailbox.dcp_waits import MailWaits
from postroom.client.mailbox.over_dcp import OperationCall
from postroom.core.ijson import JsonValue
from postroom.http.watches import Watches
from postroom.outbound.notification_messages import MailWaiting, WatchReplaced
from postroom.outbound.notification_messages import Notification as Queued
from postroom.outbound.notification_sender import NotificationRules, NotificationSender
from postroom.outbound.queue_messages import read_queue_message
from postroom.outbound.replaced_watches import ReplacedWatches
from postroom.outbound.session_responses import SessionResponses
from postroom.pipeline.notification_trigger import NotificationTrigger
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.guardian import AnsweredLater, Guardian
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.reasons import WATCH_REPLACED
from postroom.protocols.dcp.receiving import Admitted, Receiver
from postroom.protocols.dcp.session_names import RANDOM_BYTES, SessionNames
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.storage.aws.attributes import Item
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.debounce import DebounceInterval
from postroom.storage.directory.domains import Directory
from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.directory.notification_targets import MAX_TARGETS, PREFIX, NotificationTargets, TargetKind
from postroom.storage.directory.watching_sessions import WatchingSession
from postroom.storage.secrets.dcp_identities import DcpIdentity

BASE: Final = 1_700_000_000
UNIT: Final = 20
"""Seconds of one step of the model's clock: a reading of 30 s is kept for one step, and 35 s are over after two. The
tests set NOTIFYING_SECONDS to one step, for which a run of the courier lasts at most."""
CACHE_SECONDS: Final = 30
MAILBOX: Final = "shop.com"
LIST: Final = OperationCall("messages", {"mailbox": MAILBOX})
LONG: Final = 1e9
NAMES: Final = SessionNames(US.address, b"\x0a" * 32)
Event: TypeAlias = tuple[str] | tuple[str, int] | tuple[str, frozenset[int]]
"""What happens to an owner."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What a call brought, as JSON, and when (a step of the model's clock)."""

    value: str
    at: int


@dataclass
class Stopping:
    """What a run calls: its calls bring these, until one that has nothing yet. `now`: when the last one did."""

    results: Iterator[Brought]
    now: int

    def clock(self) -> float:
        """Epoch seconds."""
        return float(BASE + UNIT * self.now)

    def made(self, name: str, *arguments: Any) -> Any:
        for result in self.results:
            self.now = result.at
            return json.loads(result.value)
        raise StoppedError(Call(name, json.dumps(arguments)))

    # ---- a table, and WebSockets
    def rows(self, pk: str) -> list[Item]:
        rows: list[Item] = self.made("rows", pk)
        return rows

    def get(self, key: Item) -> Item | None:
        row: Item | None = self.made("get", key)
        return row

    def put(self, row: Item, condition: str, values: Any) -> Item | None:
        before: Item | None = self.made("put", row, condition, values)
        return before

    def update(self, key: Item, change: str, values: Any, condition: str) -> bool:
        return bool(self.made("update", key, change, values, condition))

    def delete(self, key: Item, condition: str, values: Any) -> bool:
        return bool(self.made("delete", key, condition, values))

    def send(self, connection: str, message: bytes) -> bool:
        return bool(self.made("send", connection, message.decode()))


@dataclass(frozen=True, slots=True)
class CodeRun:
    """A run of the code. `since`: when it began; `reading`: what its worker has read."""

    about: Ask | Run | Literal["a worker"]
    since: int
    reading: tuple[bool, int] | None = None
    results: tuple[Brought, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """The state of the code. `rows`: as JSON; `owners`: what happened to each; `runs`: by what is `key` of the model's;
    `readings`: of workers, with their times."""

    rows: tuple[str, ...]
    queue: frozenset[Message]
    owners: tuple[tuple[Event, ...], ...]
    readings: tuple[tuple[bool, int] | None, ...]
    runs: Mapping[Any, CodeRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Both:
    """A state of the model, and the code's, which it determines."""

    model: State
    code: Code = field(compare=False)


class Driver:
    """The code in one case. `table`: of moto, for the rows; `targets`, `sender`, `waits`: the code, or broken code."""

    def __init__(
        self,
        scope: Scope,
        table: DynamoTable,
        *,
        targets: type[NotificationTargets] = NotificationTargets,
        sender: type[NotificationSender] = NotificationSender,
        waits: type[MailWaits] = MailWaits,
    ) -> None:
        self.scope, self.watch, self.table = scope, Watch(Rules(), scope), table
        self.targets, self.sender, self.waits = targets, sender, waits
        self.in_moto: tuple[str, ...] = ()
        self.called = lru_cache(maxsize=None)(self._called)
        self.stopped = lru_cache(maxsize=None)(self._stopped)
        self.unanswered = lru_cache(maxsize=None)(self._unanswered)

    def explore(self) -> Explored:
        with closing(StandingLoop()) as self.loop:
            return explore(self.start(), lambda _: None, self.following)

    def start(self) -> Both:
        model = self.watch.start()
        readings = tuple((each.somebody, each.at) if each else None for each in model.readings)
        return Both(model, Code((), frozenset(), ((),) * self.scope.owners, readings))

    def following(self, both: Both) -> Iterator[tuple[str, Both]]:
        for step in self.watch.following(both.model):
            yield step.label, self.taken(both, step)

    def taken(self, both: Both, step: Step) -> Both:
        """Let the code take a step of the model. Raises BrokenError if it does not agree."""
        before, after, code = both.model, step.state, both.code
        match step.actor:
            case None:
                code = replace(code, owners=tuple((*each, ("time", after.time)) for each in code.owners))
            case ("owner", number):
                code = self._owner(before, after, code, number, step.what)
            case ("worker of message", mail):
                code = self._worker(before, code, mail, step.what)
            case Ask() as ask:
                code = self._ask(before, after, code, ask, step.what)
            case Run() as run:
                code = self._courier(before, after, code, run, step.what)
        self._compare(after, code)
        return Both(after, code)

    # ---- an owner --------------------------------------------------------------------------------------------
    def _owner(self, before: State, after: State, code: Code, number: int, what: str) -> Code:
        listed = after.owners[number].seen - before.owners[number].seen
        events: tuple[Event, ...]
        match what:
            case "opens a session, and asks":
                events = (("begin",),)
            case "was told, and asks anew":
                events = ()
            case "asks anew, after a while":
                events = (("again",),)
            case "is told that it was replaced":
                events = (("replaced",),)
            case "the WebSocket closes, which nobody notices":
                events = (("closed",),)
            case "is answered" | "lists once more":
                events = (("list", listed),)
            case "is told":
                events = (("told",),)
            case "waits no more, then again":
                events = (("pause",), ("list", listed))
            case _:
                events = (("lost",),)
        owners = tuple((*each, *events) if place == number else each for place, each in enumerate(code.owners))
        code = replace(code, owners=owners)
        if "asks" not in what:
            return code
        [ask] = set(after.asks) - set(before.asks)
        return self._called_once(code, _key(ask), CodeRun(ask, before.time), "rows", before.time)

    # ---- a worker --------------------------------------------------------------------------------------------
    def _worker(self, before: State, code: Code, mail: int, what: str) -> Code:
        worker, key = self.scope.workers[mail], ("worker", mail)
        run = CodeRun("a worker", before.time, reading=code.readings[worker])
        match what:
            case "files":
                return code
            case "reads whether anybody waits":
                code = self._called_once(code, key, run, "rows", before.time)
                somebody = isinstance(self._next(code, key), Call)
                readings = list(code.readings)
                readings[worker] = (somebody, before.time)
                code = replace(code, readings=tuple(readings))
            case "knows whether anybody waits":
                code = self._with_run(code, key, run)
            case "queues that there is mail":
                code = self._queued(code, key, before.time, mail)
            case "ends":
                return self._without_run(code, key)
        return code if isinstance(self._next(code, key), Call) else self._without_run(code, key)

    # ---- the guardian ----------------------------------------------------------------------------------------
    def _ask(self, before: State, after: State, code: Code, ask: Ask, what: str) -> Code:
        key = _key(ask)
        match what:
            case "reads who waits":
                return self._called_once(code, key, code.runs[key], "rows", before.time)
            case "puts the row" | "finds another row in the place":
                return self._called_once(code, key, code.runs[key], "put", before.time)
            case "queues that a watch was replaced":
                return self._queued(code, key, before.time, 0)
            case "lists, and answers":
                on = self._brought(code.runs[key], None, before.time, self._next(code, key), "list")
                answer = self.stopped(on)
                expect(isinstance(answer, str), f"ANSWER: none, but {answer}")
                expect(json.loads(str(answer)) == [f"b{ask.id}", f"list{ask.id}"], f"ANSWER: to {answer}")
        return self._without_run(code, key)

    # ---- the courier -----------------------------------------------------------------------------------------
    def _courier(self, before: State, after: State, code: Code, run: Run, what: str) -> Code:
        key, time = _key(run), before.time
        match what:
            case "reads who waits" | "finds nobody":
                code = self._called_once(code, key, CodeRun(run, time), "rows", time)
            case "tells the owner" if isinstance(run.message, Replaced):
                code = self._told(before, self._with_run(code, key, CodeRun(run, time)), run, run.message.session)
                expect(not isinstance(self._next(code, key), Call), f"DONE: {self._next(code, key)}")
                return code
            case "finds the row" | "finds nobody to tell" | "finds that another tells":
                code = self._called_once(code, key, CodeRun(run, time), "get", time)
            case "has the row to itself" | "cannot have the row to itself":
                code = self._called_once(code, key, code.runs[key], "update", time)
            case "removes the row":
                code = self._called_once(code, key, code.runs[key], "delete", time)
            case "queues notifications":
                assert isinstance(run.message, Waiting)
                while isinstance(self._next(code, key), Call):
                    code = self._queued(code, key, time, run.message.mail)
            case "tells the owner":
                code = self._told(before, code, run, run.rows[0][1].session)
            case "ends":
                return self._without_run(code, key)
        goes_on = isinstance(self._next(code, key), Call)
        expect(goes_on == any(_key(each) == key for each in after.runs), f"DONE: {self._next(code, key)}")
        return code if goes_on else replace(self._without_run(code, key), queue=code.queue - {run.message})

    def _told(self, before: State, code: Code, run: Run, session: int) -> Code:
        assert not isinstance(run.message, Waiting)
        key, call, row = _key(run), self._next(code, _key(run)), run.message.row
        expect(isinstance(call, Call) and call.name == "send", f"CALL: not send, but {call}")
        assert isinstance(call, Call)
        connection, message = json.loads(call.argument)
        signed = read_signed_message(message.encode())
        said = (connection, signed.owner, signed.body["id"], signed.body["success"], signed.body["nonce"])
        is_success = isinstance(run.message, Notification)
        expected = (_socket(row[0], session), US.address, f"watch{row}", is_success, None)
        expect(said == expected, f"SENT: {said}")
        owner = before.owners[row[0]]
        is_open = owner.phase != "out" and owner.session == session
        return self._with_run(code, key, self._brought(code.runs[key], is_open, before.time, call, "send"))

    # ---- calls -----------------------------------------------------------------------------------------------
    def _next(self, code: Code, key: Any) -> "Call | str":
        return self.stopped(code.runs[key])

    def _called_once(self, code: Code, key: Any, run: CodeRun, name: str, at: int) -> Code:
        """Let a run make its next call, which must be one of the table."""
        call = self.stopped(run)
        rows, value = self.called(code.rows, call) if isinstance(call, Call) and name == call.name else ((), None)
        return self._with_run(replace(code, rows=rows), key, self._brought(run, value, at, call, name))

    def _queued(self, code: Code, key: Any, at: int, mail: int) -> Code:
        call = self._next(code, key)
        on = self._brought(code.runs[key], None, at, call, "queue")
        assert isinstance(call, Call)
        [body] = json.loads(call.argument)
        message = _read(body, mail)
        expect(body == _body(message), f"QUEUED: {body}")
        return self._with_run(replace(code, queue=code.queue | {message}), key, on)

    def _brought(self, run: CodeRun, value: Any, at: int, call: "Call | str", name: str) -> CodeRun:
        expect(isinstance(call, Call) and call.name == name, f"CALL: not {name}, but {call}")
        return replace(run, results=(*run.results, Brought(json.dumps(value), at)))

    def _with_run(self, code: Code, key: Any, run: CodeRun) -> Code:
        return replace(code, runs={**code.runs, key: run})

    def _without_run(self, code: Code, key: Any) -> Code:
        return replace(code, runs={each: run for each, run in code.runs.items() if each != key})

    def _called(self, rows: tuple[str, ...], call: Call) -> tuple[tuple[str, ...], Any]:
        """The rows after a call of the table, and what it brought."""
        for row in map(json.loads, set(self.in_moto) - set(rows)):
            self.table.delete({"pk": row["pk"], "sk": row["sk"]})
        for row in map(json.loads, set(rows) - set(self.in_moto)):
            self.table.put(row)
        value = getattr(self.table, call.name)(*json.loads(call.argument))
        brought = list(value) if call.name == "rows" else value
        after = self.table.rows(PREFIX + MAILBOX) if call.name in ("put", "update", "delete") else map(json.loads, rows)
        self.in_moto = tuple(json.dumps(row, sort_keys=True) for row in after)
        return self.in_moto, brought

    # ---- the code --------------------------------------------------------------------------------------------
    def _stopped(self, run: CodeRun) -> "Call | str":
        """The call that a run makes next, or what came of it."""
        world = Stopping(iter(run.results), run.since)
        try:
            match run.about:
                case Ask() as ask:
                    return self._guardian(world, ask)
                case Run(message=message, spread=spread):
                    return self._carry(world, message, spread)
                case _:
                    self._trigger(world, run.reading)
                    return "done"
        except StoppedError as stopped:
            return stopped.call

    def _carry(self, world: Stopping, message: Message, spread: int) -> str:
        """Let the courier process a message."""
        match read_queue_message(_body(message)):
            case MailWaiting() as waiting:
                assert isinstance(message, Waiting)
                return str(self._sender(world, 100 * message.mail + spread).fan_out(waiting))
            case Queued() as notification:
                return str(self._sender(world, 0).notify(notification))
            case WatchReplaced() as replaced:
                queue = Queue(world)
                return str(ReplacedWatches(self._responses(world), queue, world.clock, lambda: 0.0).answer(replaced))
        raise AssertionError(message)

    def _targets(self, world: Stopping) -> NotificationTargets:
        targets = self.targets(None, "")  # type: ignore[arg-type]  # its table is another
        targets._table = world  # type: ignore[assignment]
        return targets

    def _guardian(self, world: Stopping, ask: Ask) -> str:
        """The ids of the responses in the answer to a batch."""
        owner, request = ask.id
        watches = Watches(self._targets(world), Queue(world), world.clock, lambda: f"{owner}.{request}")
        dcpsid = _dcpsid(owner, ask.session)

        def perform(admitted: Admitted) -> "JsonValue | AnsweredLater":
            if admitted.operation == "watch":
                watches.add(MAILBOX, admitted, _socket(owner, ask.session))
                return AnsweredLater()
            listed: JsonValue = world.made("list")
            return listed

        requests: list[JsonValue] = []
        for name, operation in (("watch", "watch"), ("list", "messages")):
            payload = new_payload(operation, validity={"time": BASE, "stamp": name, "ttl": 60})
            requests.append(request_body(NewRequest(payload, ()), payload, f"{name}{ask.id}", hex_prefix=False))
        body: dict[str, JsonValue] = {
            "type": "request-batch",
            "id": f"b{ask.id}",
            "payload": requests,
            "dcpsid": dcpsid,
        }
        receiver = Receiver(frozenset({US.address}), NAMES, MemoryStore(), lambda: "following")
        guardian = Guardian(receiver, NAMES, {US.address: US}, bytes)
        message = sign_body({**body, "dcpsid": dcpsid, "nonce": NAMES.first_nonce(dcpsid, OWNER.address)}, OWNER)
        answer = json.loads(guardian.answer(message, BASE, at_once(perform)).data)["body"]
        return json.dumps([each["id"] for each in answer["payload"]])

    def _trigger(self, world: Stopping, reading: tuple[bool, int] | None) -> None:
        """Let a worker tell of mail."""
        directory = Directory(None, "", clock=world.clock, cache_seconds=CACHE_SECONDS)  # type: ignore[arg-type]
        directory._table = world  # type: ignore[assignment]
        directory._mailboxes.get(MAILBOX, lambda: MailboxRecord(MAILBOX))
        if reading is not None:
            since = world.now
            somebody, world.now = reading
            directory._notified.get(MAILBOX, lambda: somebody)
            world.now = since
        NotificationTrigger(directory, Queue(world)).trigger(MAILBOX)

    def _responses(self, world: Stopping) -> SessionResponses:
        return SessionResponses(OurIdentity, lambda: world, world.clock)  # type: ignore[arg-type]

    def _sender(self, world: Stopping, at_ms: int) -> NotificationSender:
        return self.sender(
            targets=self._targets(world), debounce=EachItsOwn(at_ms), keys=None,  # type: ignore[arg-type]
            carriers={TargetKind.SESSION: self._responses(world)}, queue=Queue(world), rules=NotificationRules(60, 60),
            clock=world.clock, new_id=lambda: "new", jitter=lambda: 0.0,
        )  # fmt: skip

    # ---- an owner, on a clock that stands still --------------------------------------------------------------
    def _unanswered(self, events: tuple[Event, ...]) -> tuple[str, ...]:
        """The operations that an owner to whom this happened asked for, and that are not answered."""
        self.loop.now = 0
        waits, socket, page = self.waits(OWNER), Socket(), None
        for event in events:
            match event:
                case ("begin",):
                    socket = Socket()
                    page = self._page(waits, socket)
                case ("list", frozenset() as mails):
                    messages: JsonValue = [{"id": f"{mail}"} for mail in sorted(mails)]
                    self._answer(socket, "messages", {"body": {"messages": messages}})
                case ("told",):
                    self._answer(socket, "watch", None)
                case ("replaced",) | ("again",) | ("closed",):
                    self._is_replaced(socket, event[0])
                case ("time", int() as now):
                    self.loop.now = now * UNIT
                case ("pause",) if page:
                    page.cancel()
                    self.loop.turn()
                    page = self._page(waits, socket)
                case ("lost",) if page:
                    socket.lose()
                    self.loop.turn()
                    expect(page.done() and isinstance(page.exception(), DcpError), "OWNER: the wait goes on")
                    page = None
            self.loop.turn()
            if page and page.done():
                page.result()
                asked = len(socket.asked)
                page = self._page(waits, socket)
                if len(socket.asked) == asked + 1:
                    # What was listed is acknowledged, and nothing has come since.
                    socket.answer("messages", {"body": {"messages": []}})
                    self.loop.turn()
        unanswered = socket.unanswered()
        if page:
            page.cancel()
        socket.lose()
        self.loop.turn()
        return unanswered

    def _is_replaced(self, socket: Socket, what: str) -> None:
        """What happens to an owner whose watch is replaced. Before they ask anew, they list once more, or have."""
        if what == "replaced":
            expect("watch" in socket.unanswered(), "OWNER: nobody asks for watch")
            socket.fail("watch", RequestFailedError(ErrorPayload("Error", "", str(WATCH_REPLACED))))
            return
        if what == "closed":
            socket.lose()
            return
        for seconds in (dcp_waits.LOOK_AGAIN_SECONDS, dcp_waits.REPLACED_SECONDS):
            self.loop.now += seconds
            self.loop.turn()
            if socket.unanswered() == ("messages",):
                socket.answer("messages", {"body": {"messages": []}})
                self.loop.turn()

    def _answer(self, socket: Socket, operation: str, value: JsonValue) -> None:
        expect(operation in socket.unanswered(), f"OWNER: nobody asks for {operation}")
        socket.answer(operation, value)

    def _page(self, waits: MailWaits, socket: "Socket") -> "asyncio.Task[JsonValue]":
        page = self.loop.create_task(waits.page(socket, LIST, LONG, list_nowhere))  # type: ignore[arg-type]
        self.loop.turn()
        return page

    # ---- what both must agree about --------------------------------------------------------------------------
    def _compare(self, model: State, code: Code) -> None:
        rows = [_row_of(row, place) for place, row in enumerate(model.places) if row]
        found = [_read_row(json.loads(row)) for row in code.rows]
        expect(sorted(found) == sorted(rows), f"ROWS: {found}, not {rows}")
        expect(code.queue == model.queue, f"QUEUE: {code.queue}, not {model.queue}")
        for number, (owner, events) in enumerate(zip(model.owners, code.owners, strict=True)):
            found_open, awaited = self.unanswered(events), self._awaited(model, owner)
            expect(sorted(found_open) == sorted(awaited), f"OWNER {number}: {found_open} is unanswered, not {awaited}")

    def _awaited(self, model: State, owner: Owner) -> tuple[str, ...]:
        """What an owner was not answered: a watch, unless it was; a list, when they look; a batch of both."""
        looks_at = self.watch.looks_at(owner)
        looks = owner.phase == "asked" or (looks_at is not None and looks_at <= model.time)
        if owner.phase == "out":
            return ()
        if owner.replaced:
            return ("messages",) if looks else ()
        if owner.told:
            return ("messages",) if looks else ("watch", "messages")
        return ("watch", "messages") if looks else ("watch",)


@dataclass
class Queue:
    """The courier's queue, of a run."""

    world: Stopping

    def send(self, body: str, delay_seconds: int = 0, *_: Any, group: str = "") -> None:
        assert (delay_seconds, bool(group)) == (0, True)
        self.world.made("queue", body)


@dataclass
class EachItsOwn:
    """The intervals between notifications: each message about mail begins one."""

    at_ms: int

    def take(self, *_: Any, **__: Any) -> DebounceInterval:
        return DebounceInterval(self.at_ms, ours=True, followed=False)


class OurIdentity:
    """The identities of the guardian."""

    def newest_first(self) -> tuple[DcpIdentity, ...]:
        return (DcpIdentity(US, NAMES),)


# ---- the names of what is in the model, in the code ------------------------------------------------------------------
def _key(of: Ask | Run) -> Any:
    return of.id if isinstance(of, Ask) else (of.message, of.copy)


def _socket(owner: int, session: int) -> str:
    return f"socket {owner}.{session}"


@cache
def _dcpsid(owner: int, session: int) -> str:
    return NAMES.new(f"{owner}-{session}".rjust(21, "x"), OWNER.address, now=BASE, random=bytes(RANDOM_BYTES))


def _target(id: RowId, place: int) -> str:  # noqa: A002 - the model's name
    return f"{MAX_TARGETS + place}{id[0]}.{id[1]}"


def _body(message: Message) -> str:
    if isinstance(message, Waiting):
        return MailWaiting(MAILBOX).encode()
    if isinstance(message, Replaced):
        return WatchReplaced(MAILBOX, _session(message.row, message.session).encode(), BASE * 1000).encode()
    return Queued(MAILBOX, _target(message.row, message.place), _name(message), _at_ms(message)).encode()


def _at_ms(message: Notification) -> int:
    return 100 * message.mail + message.spread


def _name(message: Notification) -> str:
    return f"{_target(message.row, message.place)}-{_at_ms(message)}"


def _read(body: str, mail: int) -> Message:
    queued = read_queue_message(body)
    if isinstance(queued, WatchReplaced):
        told = WatchingSession.decode(queued.session)
        owner, session = told.connection.removeprefix("socket ").split(".")
        request = told.request.removeprefix(f"watch({owner}, ").removesuffix(")")
        return Replaced((int(owner), int(request)), int(session))
    if not isinstance(queued, Queued):
        return Waiting(mail)
    owner, request = queued.target[1:].split(".")
    mail, spread = divmod(queued.at_ms, 100)
    return Notification((int(owner), int(request)), int(queued.target[0]) - MAX_TARGETS, mail, spread)


def _session(row: RowId, session: int) -> WatchingSession:
    return WatchingSession(_socket(row[0], session), _dcpsid(row[0], session), f"watch{row}", US.address)


RowOfBoth: TypeAlias = tuple[str, str, str, str, str]
"""Its key, id, session, and of its lease the notification, and until when."""


@cache
def _row_of(row: Row, place: int) -> RowOfBoth:
    session = _session(row.id, row.session)
    lease = (_name(row.lease[0]), f"{BASE + UNIT * row.lease[1]}") if row.lease else ("", "")
    return (f"session#{MAX_TARGETS + place}", _target(row.id, place), session.encode(), *lease)


def _read_row(row: Item) -> RowOfBoth:
    lease = (row["again"]["S"], row["due"]["N"]) if "again" in row else ("", "")
    return (row["sk"]["S"], row["id"]["S"], row["to"]["S"], *lease)
