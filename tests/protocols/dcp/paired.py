"""An initiator and a target over a network that a test controls."""

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.protocols.dcp.guarded import NOW, OWNER, US, numbered

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.connection_events import ConnectionEvent, RequestReceived
from postroom.protocols.dcp.endpoint import Clock, Endpoint
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest, new_payload
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.target import ConnectionTarget

Answer: TypeAlias = Callable[[Admitted], "JsonValue | ErrorPayload"]


def echo(admitted: Admitted) -> JsonValue:
    return admitted.data


@dataclass
class End:
    """One end: its machine, what it told, which messages it sent, and those under way to it.

    `asked`: the data of its application's requests, by id; `wall_ahead`, `monotonic_ahead`: of its clocks, by seconds.
    """

    machine: Endpoint
    answer: Answer = echo
    events: list[ConnectionEvent] = field(default_factory=list)
    open_requests: list[Admitted] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    arriving: "deque[bytes]" = field(default_factory=deque)
    answers_at_once: bool = True
    asked: dict[str, JsonValue] = field(default_factory=dict)
    wall_ahead: float = 0
    monotonic_ahead: float = 0

    def at(self, clock: Clock) -> Clock:
        """What the clocks of this end tell when right ones tell this."""
        return Clock(clock.wall + self.wall_ahead, clock.monotonic + self.monotonic_ahead)

    def receive(self, data: bytes, clock: Clock) -> None:
        for event in self.machine.receive(data, clock):
            self.events.append(event)
            if isinstance(event, RequestReceived):
                self.open_requests.append(event.admitted)
        if self.answers_at_once:
            self.answer_all()

    def answer_all(self) -> None:
        while self.open_requests:
            admitted = self.open_requests.pop(0)
            self.machine.respond(admitted, self.answer(admitted))

    def happened(self, kind: type) -> list[ConnectionEvent]:
        return [event for event in self.events if isinstance(event, kind)]


class Pair:
    """An initiator and a target, and the messages between them."""

    def __init__(self, initiator: ConnectionInitiator | None = None, target: ConnectionTarget | None = None) -> None:
        counter = itertools.count(1)
        self.clock = Clock(NOW, 100.0)
        self.initiator = End(initiator or ConnectionInitiator(OWNER, store=MemoryStore(), random=numbered(counter)))
        self.target = End(target or ConnectionTarget(US, store=MemoryStore(), random=numbered(counter)))
        self.ends = (self.initiator, self.target)

    def opened(self) -> "Pair":
        self.start()
        self.deliver()
        return self

    def start(self) -> None:
        machine = self.initiator.machine
        assert isinstance(machine, ConnectionInitiator)
        data = machine.connect(self.initiator.at(self.clock))
        self.initiator.sent.append(data)
        self.target.arriving.append(data)

    def after(self, seconds: float) -> None:
        self.clock = replace(self.clock, wall=self.clock.wall + seconds, monotonic=self.clock.monotonic + seconds)

    def flush(self) -> None:
        """Put what both ends want to send on its way."""
        for end, other in (self.ends, self.ends[::-1]):
            for data in end.machine.messages(end.at(self.clock)):
                end.sent.append(data)
                other.arriving.append(data)

    def deliver(self) -> None:
        """Deliver everything, until nothing more is sent."""
        self.flush()
        while any(end.arriving for end in self.ends):
            for end in self.ends:
                while end.arriving:
                    end.receive(end.arriving.popleft(), end.at(self.clock))
            self.flush()


def ask(end: End, data: JsonValue = None, operation: str = "echo") -> str:
    """Queue a request of an end."""
    name = end.machine.send(NewRequest(new_payload(operation, data)))
    end.asked[name] = data
    return name
