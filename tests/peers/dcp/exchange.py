"""Our initiator and the reference's target, and the messages between them."""

import secrets

from tests.peers.dcp.reference import TheirEnd
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW, OWNER, US, WES
from tests.protocols.dcp.paired import End

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.connection_events import ConnectionEvent, RequestAnswered, RequestFailed
from postroom.protocols.dcp.endpoint import Clock, SendOptions
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest

CLOCK = Clock(NOW, 100.0)
FOR_REFERENCE = SendOptions(ttl=60, hex_prefix=True)
"""It refuses requests without ttl, and in `auth` it finds no address without 0x."""


class Exchange:
    """Our initiator and the reference's target. `received`: what the target sent in the session."""

    def __init__(self, reference: Reference, options: SendOptions) -> None:
        self.theirs = TheirEnd.target(reference, US)
        self.ours = End(ConnectionInitiator(OWNER, store=MemoryStore(), random=secrets.token_bytes, options=options))
        self.received: list[bytes] = []

    def connected(self) -> "Exchange":
        machine = self.ours.machine
        assert isinstance(machine, ConnectionInitiator)
        self.theirs.receive(machine.connect(CLOCK))
        self.ours.receive(self.theirs.sent(), CLOCK)
        return self

    def outcome(self, name: str) -> ConnectionEvent:
        """What comes of a request. The target sends its answers in one message or in more, as its turns fall."""
        while True:
            for event in self.ours.events:
                if isinstance(event, RequestAnswered | RequestFailed) and event.id == name:
                    return event
            self.carry()

    def carry(self) -> None:
        """Carry what we send to the target, and the next message that it sends to us."""
        for data in self.ours.machine.messages(CLOCK):
            self.theirs.receive(data)
        self.received.append(self.theirs.sent())
        self.ours.receive(self.received[-1], CLOCK)

    def authorizes(self, payload: dict[str, JsonValue]) -> JsonValue:
        """Whether its `doesAuthorize` says so of a request with this payload, which WES's key signs."""
        outcome = self.outcome(self.ours.machine.send(NewRequest(payload, (WES,))))
        assert isinstance(outcome, RequestAnswered)
        return outcome.result
