"""The reference's initiator at our guardian, which answers each message at once, and at our target of a connection."""

import json
import secrets
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.peers.answering import EndedError
from tests.peers.dcp.reference import TheirEnd
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import JACK, NOW, OWNER, US, WES, Bank, Json, at_once, says
from tests.protocols.dcp.paired import End, ask

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.connection_events import RequestAnswered, RequestFailed
from postroom.protocols.dcp.endpoint import Clock, SendOptions
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload
from postroom.protocols.dcp.guardian import FailedOperation
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.reasons import DCP_SESSION_OVER
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.target import ConnectionTarget

OPTIONS = SendOptions(ttl=60, ntp=True)
CLOCK = Clock(NOW, 100.0)
URL = "https://target.example"
FAILED = ErrorPayload("RangeError", "too large", "E7")
Ours: TypeAlias = Callable[[bytes], list[bytes]]
"""What one of our ends sends when it receives a message."""


def perform(admitted: Admitted) -> "JsonValue | ErrorPayload":
    match admitted.operation:
        case "fail":
            return FAILED
        case "resources":
            return [str(each) for each in admitted.resources]
        case _:
            return admitted.data


def guardian(identity: EthereumKey = US) -> Ours:
    def performed(admitted: Admitted) -> "JsonValue | FailedOperation":
        result = perform(admitted)
        return FailedOperation(result) if isinstance(result, ErrorPayload) else result

    bank = Bank(identities=(identity,))
    return lambda data: [bank.guardian.answer(data, NOW, at_once(performed)).data]


def our_target() -> End:
    return End(ConnectionTarget(US, store=MemoryStore(), random=secrets.token_bytes, options=OPTIONS), perform)


def target(end: End | None = None) -> Ours:
    ours = end or our_target()

    def received(data: bytes) -> list[bytes]:
        ours.receive(data, CLOCK)
        return ours.machine.messages(CLOCK)

    return received


class Exchange:
    """The reference's initiator and one of our ends. `sent`: what the initiator sent."""

    def __init__(self, reference: Reference, ours: Ours, url: str = URL) -> None:
        self.theirs, self.ours = TheirEnd.initiator(reference, OWNER, url), ours
        self.sent: list[bytes] = []

    def carry(self) -> None:
        """Carry the initiator's next message to us, and what we send then back."""
        self.sent.append(self.theirs.sent())
        for data in self.ours(self.sent[-1]):
            self.theirs.receive(data)

    def outcome(self, begun: int) -> Json:
        self.carry()
        return self.theirs.outcome(begun)

    def connected(self) -> "Exchange":
        assert self.outcome(self.theirs.begin("connect")) == {}
        return self

    def sent_again(self) -> list[Json]:
        """The bodies of what we send when we receive its last message once more."""
        return [json.loads(data)["body"] for data in self.ours(self.sent[-1])]


@pytest.fixture(params=[guardian, target], ids=["guardian", "target"])
def exchange(request: pytest.FixtureRequest, reference: Reference) -> Exchange:
    return Exchange(reference, request.param()).connected()


def test_its_connect_is_a_batch_whose_member_has_the_nonce_too(exchange: Exchange) -> None:
    batch = json.loads(exchange.sent[0])["body"]
    (connect,) = batch["payload"]
    assert batch["type"] == "request-batch"
    assert connect["nonce"] == batch["nonce"]


def test_a_request_is_answered(exchange: Exchange) -> None:
    data = {"text": "grüße 👋", "numbers": [0.1, 1e21, -0.0, 2**53], "7": None, "1": True}
    (request,) = exchange.theirs.begin("send", [["echo", data]])
    assert exchange.outcome(request) == {"result": data}
    assert json.loads(exchange.sent[-1])["body"]["type"] == "request-batch"


def test_requests_of_one_turn_come_in_one_batch(exchange: Exchange) -> None:
    requests = exchange.theirs.begin("send", [["echo", number] for number in range(5)])
    exchange.carry()
    assert [exchange.theirs.outcome(request) for request in requests] == [{"result": number} for number in range(5)]


def test_an_error_reaches_its_caller_and_the_session_goes_on(exchange: Exchange) -> None:
    failing, working = exchange.theirs.begin("send", [["fail", None], ["echo", 1]])
    error = {"name": "RangeError", "message": "too large", "code": "E7"}
    assert exchange.outcome(failing) == {"error": error}
    assert exchange.theirs.outcome(working) == {"result": 1}
    (later,) = exchange.theirs.begin("send", [["echo", 2]])
    assert exchange.outcome(later) == {"result": 2}


def test_an_operation_of_the_protocol_that_is_refused_has_its_code(exchange: Exchange) -> None:
    (request,) = exchange.theirs.begin("send", [["v3", {}]])
    error = exchange.outcome(request)["error"]
    assert (error["code"], error["type"]) == ("ENOV3", "protocol")


def test_an_authorized_request_names_its_resource(exchange: Exchange) -> None:
    begun = exchange.theirs.begin("authorized", "resources", {"amount": 7.5}, WES.secret.hex())
    assert exchange.outcome(begun) == {"result": [WES.address]}


def test_keepalive_is_answered(exchange: Exchange) -> None:
    assert exchange.outcome(exchange.theirs.begin("keepalive")) == {}


def test_close_ends_the_session(exchange: Exchange) -> None:
    assert exchange.outcome(exchange.theirs.begin("close")) == {}
    (request,) = exchange.theirs.begin("send", [["echo", 1]])
    assert exchange.theirs.outcome(request) == {"error": {"name": "Error", "message": "Connection closed"}}
    assert all(says(body).startswith(DCP_SESSION_OVER.sentence) for body in exchange.sent_again())


def test_requests_go_in_both_directions(reference: Reference) -> None:
    ours = our_target()
    exchange = Exchange(reference, target(ours)).connected()
    working, failing = ask(ours, {"n": 1}), ask(ours, "no", "fail")
    for data in ours.machine.messages(CLOCK):
        exchange.theirs.receive(data)
    while len(ours.happened(RequestAnswered) + ours.happened(RequestFailed)) < 2:
        ours.receive(exchange.theirs.sent(), CLOCK)
    assert ours.happened(RequestAnswered) == [RequestAnswered(working, {"n": 1})]
    error = ErrorPayload("RangeError", "no", "E7", f"0x{OWNER.address}")
    assert ours.happened(RequestFailed) == [RequestFailed(failing, error)]


def test_it_accepts_no_other_target_at_a_known_url(reference: Reference) -> None:
    Exchange(reference, guardian()).connected()
    exchange = Exchange(reference, guardian(JACK))
    assert "does not match the saved key" in exchange.outcome(exchange.theirs.begin("connect"))["error"]["message"]


def test_it_accepts_no_target_of_another_version(reference: Reference) -> None:
    exchange = Exchange(reference, guardian())
    connecting = exchange.theirs.begin("connect")
    (data,) = exchange.ours(exchange.theirs.sent())
    body = json.loads(data)["body"]
    body["payload"][1]["payload"] = {"version": "4.0.1"}
    exchange.theirs.receive(sign_body(body, US))
    assert exchange.theirs.outcome(connecting)["error"]["code"] == ErrorCode.ETARGETVERSION


def test_its_milliseconds_are_seconds_to_us(exchange: Exchange) -> None:
    exchange.theirs.reference.call("clock.set", NOW + 11)
    (request,) = exchange.theirs.begin("send", [["echo", 1]])
    assert exchange.outcome(request)["error"]["code"] == ErrorCode.ETIMETRAVEL


def answer_changed(exchange: Exchange, change: Callable[[Json], object]) -> int:
    """Begin a request whose answer is changed on its way, without a new signature."""
    (begun,) = exchange.theirs.begin("send", [["echo", 1]])
    (data,) = exchange.ours(exchange.theirs.sent())
    message = json.loads(data)
    change(message)
    exchange.theirs.receive(json.dumps(message).encode())
    return int(begun)


def test_an_answer_that_was_changed_closes_the_connection(exchange: Exchange) -> None:
    begun = answer_changed(exchange, lambda message: message["body"].update(nonce="mine"))
    assert exchange.theirs.outcome(begun) == {"error": {"name": "Error", "message": "Connection closed."}}


def test_a_signature_that_no_key_makes_ends_its_process(own_reference: Reference) -> None:
    exchange = Exchange(own_reference, guardian()).connected()
    begun = answer_changed(exchange, lambda message: message["signature"]["s"].update(data=[255] * 32))
    with pytest.raises(EndedError, match="Signature could not be parsed"):
        exchange.theirs.outcome(begun)
