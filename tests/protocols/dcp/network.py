"""Both ends of a connection, and a network between them that does what it likes: all interleavings to a bound.

An end has only the clock and the random bytes that it is given, so its history determines its state: what its
application did, and which messages it received. Each history is played once. A state of everything is the history of
each end, the messages under way, and what may still happen; the search visits each once.
"""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from tests.protocols.dcp.guarded import JACK, NOW, OWNER, US

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp import states
from postroom.protocols.dcp.connection_events import (
    ConnectionEvent,
    RequestAnswered,
    RequestFailed,
    RequestReceived,
    RequestUnanswered,
)
from postroom.protocols.dcp.endpoint import Clock, Endpoint
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest, new_payload
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.target import ConnectionTarget

INITIATOR, TARGET = ENDS = 0, 1
END_NAMES: Final = ("initiator", "target")
SHARED: Final = (OWNER, US, states.INITIATOR, states.TARGET)
"""What machines have in common, and never change."""
CLOCKS: Final = (Clock(NOW - 2, 7.0), Clock(NOW, 100.0))
"""Of both ends when they begin."""
DAY: Final = 86_400
PASSED_SECONDS: Final = 40
DRIFT_SECONDS: Final = 4
"""How much less or more an initiator's clocks tell of PASSED_SECONDS than a target's. Twice this, and the difference
that they begin with, are the slop."""
Outcome: TypeAlias = RequestAnswered | RequestFailed | RequestUnanswered
Couple: TypeAlias = tuple[int, int]


class Action(NamedTuple):
    """What an end does, or its application. `clock`: of the end, then; `message`: that is received."""

    what: str
    clock: Clock
    message: bytes = b""


class Numbers:
    """Bytes that are different each time; a copy goes on by itself."""

    def __init__(self, last: int) -> None:
        self.last = last

    def __call__(self, size: int) -> bytes:
        self.last += 1
        return self.last.to_bytes(size)


@dataclass(frozen=True, eq=False)
class EndState:
    """An end after one history. `asked`: the ids of its application's requests; `open_requests`: those of its peer
    that its application has not answered yet; `received`: the messages of its peer.

    `sent`: each message once, whether or not it was sent again.
    """

    machine: Endpoint
    sent: tuple[bytes, ...] = ()
    received: tuple[bytes, ...] = ()
    events: tuple[ConnectionEvent, ...] = ()
    asked: tuple[str, ...] = ()
    open_requests: tuple[Admitted, ...] = ()

    @property
    def is_closed(self) -> bool:
        return self.machine.state is ConnectionState.CLOSED

    @cached_property
    def performed(self) -> list[JsonValue]:
        """The data of the requests that its application received."""
        return [event.admitted.data for event in self.events if isinstance(event, RequestReceived)]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        return [event for event in self.events if isinstance(event, Outcome)]

    @cached_property
    def data(self) -> dict[str, str]:
        """Of the requests of its application, by id."""
        return {name: self.data_of(number) for number, name in enumerate(self.asked)}

    @cached_property
    def unfinished(self) -> set[str]:
        return set(self.asked) - {each.id for each in self.outcomes}

    @cached_property
    def used_nonces(self) -> list[Any]:
        """Of the messages with requests that it sent. The nonce of a connect is one that it gives."""
        return [body.get("nonce") for body in bodies(self.sent) if "request" in body["type"] and body.get("dcpsid")]

    @cached_property
    def given_nonces(self) -> set[Any]:
        return set(given_nonces(self.received))

    @property
    def waits_for_nonce(self) -> bool:
        """Whether it sent requests, and was not told that they arrived."""
        return bool(self.sent) and self.given_nonces <= set(self.used_nonces)

    def data_of(self, number: int) -> str:
        return f"{self.machine.address} {number}"


@dataclass(frozen=True)
class Bounds:
    """How often each may happen. `asks`, `closes`: by the initiator's application, and the target's.

    `changes`: a message arrives with one bit changed; `strangers`: a message of somebody else arrives; `jumps`: of the
    initiator's wall clock, and the target's, by a day; `drifts`: time passes, of which the ends' clocks do not tell the
    same; `answers_later`: applications answer when they like, and not at once.
    """

    name: str
    asks: Couple = (1, 1)
    closes: Couple = (0, 0)
    drops: int = 0
    doubles: int = 0
    reorders: int = 0
    cuts: int = 0
    changes: int = 0
    strangers: int = 0
    jumps: Couple = (0, 0)
    drifts: int = 0
    answers_later: bool = False

    def less(self, what: str, end: int | None = None) -> "Bounds":
        """What is left after it happened once; `end`: the one whose application did it, or whose clock."""
        count = getattr(self, what)
        if end is not None:
            return replace(self, **{what: tuple(each - (place == end) for place, each in enumerate(count))})
        return replace(self, **{what: count - 1})


class Everything(NamedTuple):
    """The state of both ends and the network. `ends`: the numbers of their states; `arriving`: the messages under way
    to each, by number; `left`: what may still happen; `clocks`: of both ends."""

    ends: Couple
    arriving: tuple[tuple[int, ...], tuple[int, ...]]
    left: Bounds
    clocks: tuple[Clock, Clock] = CLOCKS


Steps: TypeAlias = Iterator[tuple[str, Everything]]


class Network:
    """All interleavings within `bounds`, of our machines or others. `store`: of the target."""

    def __init__(
        self,
        bounds: Bounds,
        initiator: type[ConnectionInitiator] = ConnectionInitiator,
        target: type[ConnectionTarget] = ConnectionTarget,
        store: type[ConnectionStore] = MemoryStore,
    ) -> None:
        self.bounds = bounds
        self.states = [
            EndState(initiator(OWNER, store=MemoryStore(), random=Numbers(0))),
            EndState(target(US, store=store(), random=Numbers(10**6))),
        ]
        self.messages: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._played: dict[tuple[int, Action], tuple[int, tuple[int, ...]]] = {}

    def start(self) -> Everything:
        return self.done(Everything((0, 1), ((), ()), self.bounds), INITIATOR, "connect")

    def of(self, now: Everything) -> tuple[EndState, EndState]:
        return self.states[now.ends[INITIATOR]], self.states[now.ends[TARGET]]

    # --- what may happen ---------------------------------------------------------------------------------------------

    def following(self, now: Everything) -> Steps:
        for end in ENDS:
            yield from self._of_application(now, end)
            yield from self._of_network(now, end)
            yield from _of_clock(now, end)
        left = now.left
        if left.cuts:
            cut = now._replace(left=left.less("cuts"), arriving=((), ()))
            yield "cut", self.done(self.done(cut, INITIATOR, "fail"), TARGET, "fail")
        if left.drifts:
            for seconds in (-DRIFT_SECONDS, DRIFT_SECONDS):
                initiators, targets = now.clocks
                clocks = _later(initiators, PASSED_SECONDS + seconds), _later(targets, PASSED_SECONDS)
                drifted = now._replace(left=left.less("drifts"), clocks=clocks)
                yield f"{PASSED_SECONDS} s pass, {seconds:+} s for the initiator", drifted

    def _of_application(self, now: Everything, end: int) -> Steps:
        state, left = self.of(now)[end], now.left
        is_open = state.machine.state is ConnectionState.OPEN
        if left.asks[end] and (is_open or state.machine.state is ConnectionState.CONNECTING):
            yield f"{END_NAMES[end]} asks", self.done(now._replace(left=left.less("asks", end)), end, "ask")
        if left.closes[end] and is_open:
            yield f"{END_NAMES[end]} closes", self.done(now._replace(left=left.less("closes", end)), end, "close")
        if state.open_requests:
            yield f"{END_NAMES[end]} answers", self.done(now, end, "answer")

    def _of_network(self, now: Everything, end: int) -> Steps:
        left, arriving, name = now.left, now.arriving[end], END_NAMES[end]
        state = self.of(now)[end]
        if left.strangers and (dcpsid := state.machine.dcpsid):
            strange = strangers_message(dcpsid, state.sent)
            without = now._replace(left=left.less("strangers"))
            yield f"{name} receives a stranger's", self.received(without, end, strange)
        if not arriving:
            return
        first, *others = arriving
        without = _arriving(now, end, tuple(others))
        yield f"{name} receives", self.received(without, end, self.messages[first])
        if left.reorders:
            for place in range(1, len(arriving)):
                late = _arriving(now, end, arriving[:place] + arriving[place + 1 :])._replace(
                    left=left.less("reorders")
                )
                yield f"{name} receives another before", self.received(late, end, self.messages[arriving[place]])
        if left.drops:
            yield f"one to {name} is dropped", without._replace(left=left.less("drops"))
        if left.doubles:
            yield (
                f"one to {name} is doubled",
                _arriving(now, end, (*arriving, first))._replace(left=left.less("doubles")),
            )
        if left.changes:
            for part in range(1, 5):
                message = _changed(self.messages[first], part)
                changed = self.received(without._replace(left=left.less("changes")), end, message)
                yield f"one to {name} is changed", changed

    def settled(self, now: Everything) -> Everything:
        """When the network is as it should be: everything arrives in order, and is answered. If one end has ended the
        session, the transport ends for the other one, too."""
        while any(now.arriving) or any(state.open_requests for state in self.of(now)):
            for end in ENDS:
                if self.of(now)[end].open_requests:
                    now = self.done(now, end, "answer")
                while now.arriving[end]:
                    first, *others = now.arriving[end]
                    now = self.received(_arriving(now, end, tuple(others)), end, self.messages[first])
        for end in ENDS:
            if self.of(now)[1 - end].is_closed:
                now = self.done(now, end, "fail")
        return now

    # --- what an end does --------------------------------------------------------------------------------------------

    def received(self, now: Everything, end: int, message: bytes) -> Everything:
        return self.done(now, end, "receive", message)

    def done(self, now: Everything, end: int, what: str, message: bytes = b"") -> Everything:
        """After an end did something; what it sends then is under way."""
        action = Action(what, now.clocks[end], message)
        before = now.ends[end]
        if (before, action) not in self._played:
            self._played[before, action] = self._play(self.states[before], action)
        after, sent = self._played[before, action]
        ends = (after, now.ends[TARGET]) if end == INITIATOR else (now.ends[INITIATOR], after)
        return _arriving(now._replace(ends=ends), 1 - end, (*now.arriving[1 - end], *sent))

    def _play(self, before: EndState, action: Action) -> tuple[int, tuple[int, ...]]:
        machine = deepcopy(before.machine, {id(each): each for each in SHARED})
        clock = action.clock
        state = replace(before, machine=machine)
        sent: list[bytes] = []
        match action.what:
            case "connect":
                assert isinstance(machine, ConnectionInitiator)
                sent = [machine.connect(clock)]
            case "ask":
                data = before.data_of(len(before.asked))
                state = replace(state, asked=(*before.asked, machine.send(NewRequest(new_payload("echo", data)))))
            case "close":
                machine.close()
            case "fail":
                state = _happened(state, machine.fail())
            case "repeat":
                sent = [next(each for each in before.sent[::-1] if b'"type":"request' in each)]
            case "receive":
                if action.message in self._numbers:
                    state = replace(state, received=(*before.received, action.message))
                state = _happened(state, machine.receive(action.message, clock))
        if action.what == "answer" or not self.bounds.answers_later:
            for admitted in state.open_requests:
                machine.respond(admitted, admitted.data)
            state = replace(state, open_requests=())
        sent += machine.messages(clock)
        self.states.append(replace(state, sent=tuple(dict.fromkeys((*state.sent, *sent)))))
        return len(self.states) - 1, tuple(self._number(message) for message in sent)

    def _number(self, message: bytes) -> int:
        if message not in self._numbers:
            self._numbers[message] = len(self.messages)
            self.messages.append(message)
        return self._numbers[message]


def bodies(messages: Sequence[bytes]) -> list[dict[str, Any]]:
    return [dict(json.loads(each)["body"]) for each in messages]


def given_nonces(messages: Sequence[bytes]) -> list[Any]:
    """The nonces for requests to the one that sent these messages: in a connect, and in responses."""
    given = (body.get("nonce") for body in bodies(messages) if "response" in body["type"] or not body.get("dcpsid"))
    return [nonce for nonce in given if nonce is not None]


def _happened(state: EndState, events: Sequence[ConnectionEvent]) -> EndState:
    received = (each.admitted for each in events if isinstance(each, RequestReceived))
    return replace(state, events=(*state.events, *events), open_requests=(*state.open_requests, *received))


def _arriving(now: Everything, end: int, messages: tuple[int, ...]) -> Everything:
    arriving = (messages, now.arriving[TARGET]) if end == INITIATOR else (now.arriving[INITIATOR], messages)
    return now._replace(arriving=arriving)


def _changed(message: bytes, part: int) -> bytes:
    at = len(message) * part // 5
    return message[:at] + bytes([message[at] ^ 1]) + message[at + 1 :]


def _of_clock(now: Everything, end: int) -> Steps:
    if not now.left.jumps[end]:
        return
    for seconds in (-DAY, DAY):
        clock = now.clocks[end]
        jumped = replace(clock, wall=clock.wall + seconds)
        clocks = (jumped, now.clocks[TARGET]) if end == INITIATOR else (now.clocks[INITIATOR], jumped)
        left = now.left.less("jumps", end)
        yield f"the {END_NAMES[end]}'s clock jumps by {seconds:+} s", now._replace(left=left, clocks=clocks)


def _later(clock: Clock, seconds: float) -> Clock:
    return Clock(clock.wall + seconds, clock.monotonic + seconds)


def strangers_message(dcpsid: str, given: Sequence[bytes]) -> bytes:
    """A request of somebody who saw the session's id, and the nonces that an end gave in these messages."""
    payload = new_payload("echo", "a stranger's", validity={"time": int(NOW), "stamp": "s"})
    request = {"type": "request", "id": "1", "payload": payload, "dcpsid": dcpsid, "nonce": given_nonces(given)[-1]}
    return sign_body(request, JACK)
