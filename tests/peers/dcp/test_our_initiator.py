"""Our initiator at the reference's target."""

from typing import Any

import pytest
from tests.peers.dcp.exchange import CLOCK, FOR_REFERENCE, Exchange
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW, OWNER, US, WES
from tests.protocols.dcp.paired import ask

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.connect import MIN_HALF
from postroom.protocols.dcp.connection_events import (
    RequestAnswered,
    RequestFailed,
    SessionEnded,
    SessionOpened,
)
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload

ALLOW = Allowance(WES.address, US.address, OWNER.address)


@pytest.fixture
def exchange(reference: Reference) -> Exchange:
    return Exchange(reference, FOR_REFERENCE).connected()


def test_it_opens_a_session_whose_halves_have_nothing_between(exchange: Exchange) -> None:
    (opened,) = exchange.ours.events
    assert isinstance(opened, SessionOpened)
    assert opened.peer == US.address
    assert len(opened.dcpsid) == 2 * MIN_HALF


def test_a_request_is_answered(exchange: Exchange) -> None:
    data: JsonValue = {"text": "grüße 👋", "numbers": [0.1, 1e21, -0.0, 2**53 - 1], "7": None, "1": True}
    name = ask(exchange.ours, data)
    assert exchange.outcome(name) == RequestAnswered(name, data)


def test_a_batch_is_answered_request_by_request(exchange: Exchange) -> None:
    names = [ask(exchange.ours, number) for number in range(5)]
    assert [exchange.outcome(name) for name in names] == [RequestAnswered(name, n) for n, name in enumerate(names)]


def test_of_its_errors_the_stack_is_left_out(exchange: Exchange) -> None:
    name = ask(exchange.ours, "too large", "fail")
    error = ErrorPayload("RangeError", "too large", "E7", f"0x{US.address}")
    assert exchange.outcome(name) == RequestFailed(name, error)
    assert b'"stack":"' in exchange.received[-1]


def test_an_authorized_request_is_one_for_it(exchange: Exchange) -> None:
    data: JsonValue = {"resource": WES.address}
    assert exchange.authorizes(new_payload("authorizes", data, allow=[ALLOW], hex_prefix=True)) is True
    stranger: JsonValue = {"resource": OWNER.address}
    assert exchange.authorizes(new_payload("authorizes", stranger, allow=[ALLOW], hex_prefix=True)) is False


def test_in_allow_it_reads_addresses_without_0x(exchange: Exchange) -> None:
    assert exchange.authorizes(new_payload("authorizes", {"resource": WES.address}, allow=[ALLOW])) is True


def test_in_auth_it_finds_no_address_without_0x(reference: Reference) -> None:
    bare = Exchange(reference, SendOptions(ttl=60)).connected()
    assert bare.authorizes(new_payload("authorizes", {"resource": WES.address}, allow=[ALLOW])) is False


def test_it_verifies_no_payload_in_another_order_than_its_own(exchange: Exchange) -> None:
    payload = new_payload("authorizes", {"resource": WES.address}, allow=[ALLOW], hex_prefix=True)
    assert exchange.authorizes(dict(sorted(payload.items()))) is False


def test_keepalive_is_answered(exchange: Exchange) -> None:
    name = ask(exchange.ours, operation="keepalive")
    assert exchange.outcome(name) == RequestAnswered(name, None)


def test_close_ends_the_session(exchange: Exchange) -> None:
    exchange.ours.machine.close()
    exchange.carry()
    assert exchange.ours.events[-1] == SessionEnded()


def test_requests_go_in_both_directions(exchange: Exchange) -> None:
    (request,) = exchange.theirs.begin("send", [["echo", {"n": 1}]])
    exchange.ours.receive(exchange.theirs.sent(), CLOCK)
    (answer,) = exchange.ours.machine.messages(CLOCK)
    exchange.theirs.receive(answer)
    assert exchange.theirs.outcome(request) == {"result": {"n": 1}}


def refused(exchange: Exchange, validity: dict[str, Any]) -> str | None:
    """The code by which it refuses a request with this validity; None: it does not."""
    outcome = exchange.outcome(exchange.ours.machine.send(NewRequest(new_payload("echo", validity=validity))))
    return outcome.error.code if isinstance(outcome, RequestFailed) else None


def test_a_request_without_ttl_is_refused(reference: Reference) -> None:
    bare = Exchange(reference, SendOptions(hex_prefix=True)).connected()
    assert refused(bare, {"time": int(NOW), "stamp": "no ttl"}) == "EINVAL"


def test_its_codes_are_those_of_the_specification(exchange: Exchange) -> None:
    now = {"time": int(NOW), "ttl": 15, "stamp": "codes"}
    assert refused(exchange, now) is None
    assert refused(exchange, now) == "EDUP"
    assert refused(exchange, {**now, "time": NOW + 11, "stamp": "from the future"}) == "ETIMETRAVEL"
    assert refused(exchange, {**now, "stamp": ""}) == "EINVAL"


def test_it_forgets_a_stamp_while_the_request_still_counts(exchange: Exchange) -> None:
    validity = {"time": int(NOW), "ttl": 15, "stamp": "forgotten"}
    assert refused(exchange, validity) is None
    # The unit of its clock is a thousandth of that of ttl.
    end = int(NOW) + 15_000
    exchange.theirs.reference.call("clock.set", end + 5)
    assert refused(exchange, validity) is None
    exchange.theirs.reference.call("clock.set", end + 11)
    assert refused(exchange, validity) == "EEXPIRED"
