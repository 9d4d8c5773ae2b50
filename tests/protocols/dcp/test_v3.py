"""The operation v3: whom a route takes for the sender, and what is answered."""

from typing import Any

import pytest
from tests.protocols.dcp.guarded import JACK, OWNER, Bank, Peer, code, says
from tests.protocols.dcp.paired import Pair, ask

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.connection_events import RequestFailed, RequestReceived
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.v3 import read_v3, read_v3_result, v3_data, v3_result

DATA = v3_data("/add", [1, 2])


def route(admitted: Admitted) -> JsonValue:
    message = read_v3(admitted)
    return v3_result([message.url, message.message, str(message.owner)])


@pytest.fixture
def bank() -> Bank:
    return Bank(perform_with=route, routes_v3=True)


def test_without_a_router_the_operation_is_refused() -> None:
    bank = Bank()
    owner = Peer.connected(bank)
    assert code(owner.send(owner.request("v3", DATA))) == "ENOV3"
    assert bank.done == []


@pytest.mark.parametrize("routes", [False, True])
def test_a_connection_receives_it_only_with_a_router(routes: bool) -> None:
    pair = Pair()
    pair.target.machine.routes_v3 = routes
    pair.opened()
    ask(pair.initiator, DATA, "v3")
    pair.deliver()
    assert len(pair.target.happened(RequestReceived)) == routes
    failed = [event.error.code for event in pair.initiator.events if isinstance(event, RequestFailed)]
    assert failed == ([] if routes else [ErrorCode.ENOV3])


@pytest.mark.parametrize(("keys", "owner"), [((), OWNER), ((JACK,), JACK), ((JACK, OWNER), JACK)])
def test_the_owner_is_the_first_resource_or_the_peer(
    bank: Bank, keys: tuple[EthereumKey, ...], owner: EthereumKey
) -> None:
    peer = Peer.connected(bank)
    answer = peer.send(peer.request("v3", DATA, keys))
    assert read_v3_result(answer["payload"]) == ["/add", [1, 2], owner.address]


def test_a_resource_that_authorized_nothing_is_not_the_owner(bank: Bank) -> None:
    peer = Peer.connected(bank)
    request = peer.request("v3", DATA, (JACK,))
    del request["auth"]
    assert read_v3_result(peer.send(request)["payload"]) == ["/add", [1, 2], OWNER.address]


@pytest.mark.parametrize("data", [None, {}, {"url": "/add"}, {"url": 7, "message": 1}, []])
def test_malformed_data_is_refused(bank: Bank, data: Any) -> None:
    peer = Peer.connected(bank)
    answer = peer.send(peer.request("v3", data))
    assert code(answer) == "EINVAL"
    assert says(answer).startswith(DCP_BODY_INVALID.sentence)


@pytest.mark.parametrize("outcome", [None, 7, {"a": 1}, ErrorPayload("RangeError", "too large", "E7")])
def test_outcomes_of_routes_are_written_and_read(outcome: Any) -> None:
    assert read_v3_result(v3_result(outcome)) == outcome


@pytest.mark.parametrize("result", [None, {}, [], {"v3status": "maybe"}])
def test_an_answer_without_an_outcome_is_refused(result: Any) -> None:
    with pytest.raises(TheirError, match="DcpBodyInvalid"):
        read_v3_result(result)
