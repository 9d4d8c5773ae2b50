"""The reference's initiator at our guardian, which answers each message at once, and at our target of a connection."""

import pytest
from tests.peers.dcp.reference import TheirEnd
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW, OWNER, US, Bank, Json

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.guardian import FailedOperation
from postroom.protocols.dcp.receiving import Admitted

FAILED = ErrorPayload("RangeError", "too large", "E7")


def perform(admitted: Admitted) -> "JsonValue | FailedOperation":
    match admitted.operation:
        case "fail":
            return FailedOperation(FAILED)
        case "resources":
            return [str(each) for each in admitted.resources]
        case _:
            return admitted.data


class AtGuardian:
    """Our guardian, with the reference's initiator."""

    def __init__(self, theirs: TheirEnd) -> None:
        self.bank = Bank(perform_with=perform)
        self.theirs = theirs
        self.carried: list[bytes] = []

    def carry(self) -> None:
        """Carry one message to our side, and what we answer back."""
        data = self.theirs.sent()
        self.carried.append(data)
        self.theirs.receive(self.bank.guardian.answer(data, NOW, perform))

    def connect(self) -> Json:
        connecting = self.theirs.begin("connect")
        self.carry()
        return self.theirs.outcome(connecting)


@pytest.fixture
def exchange(reference: Reference) -> AtGuardian:
    return AtGuardian(TheirEnd.initiator(reference, OWNER, f"https://{US.address.lower()}.example"))


def test_it_connects_and_requests(exchange: AtGuardian) -> None:
    assert exchange.connect() == {}
    (request,) = exchange.theirs.begin("send", [["echo", {"text": "grüße 👋", "number": 0.1}]])
    exchange.carry()
    assert exchange.theirs.outcome(request) == {"result": {"text": "grüße 👋", "number": 0.1}}
