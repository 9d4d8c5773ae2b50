"""WebSockets at the edge, over real TLS and in front of a real function."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.patience import PATIENCE
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from postroom.local.clients import REGION
from postroom.local.edge import Edge
from postroom.local.edge_sockets import find_socket_target
from postroom.local.ports import HOST
from postroom.local.socket_gateway import MAX_MESSAGE_BYTES, SocketLimits
from postroom.local.stack import LocalDeployment, LocalStack

Open = Callable[..., ClientConnection]


@pytest.fixture
def opened(stack: LocalStack, one: LocalDeployment) -> Iterator[Open]:
    """Opens WebSockets at the stack's edge, or at another one."""
    with ExitStack() as sockets:

        def open_one(edge: Edge = stack.edge, path: str = "/live", host: str = host_of(one)) -> ClientConnection:
            opening: AbstractContextManager[ClientConnection] = connect(
                f"wss://{host}:{edge.port}{path}",
                ssl=stack.authority.client_context(),
                sock=socket.create_connection((HOST, edge.port)),
                open_timeout=PATIENCE,
                ping_interval=None,
                compression=None,
            )
            return sockets.enter_context(opening)

        yield open_one


def host_of(deployment: LocalDeployment) -> str:
    return f"{deployment.outputs['SocketsId']}.execute-api.{REGION}.amazonaws.com"


def test_a_message_reaches_the_function_as_an_event_and_its_body_is_the_answer(
    opened: Open, one: LocalDeployment
) -> None:
    websocket = opened()
    websocket.send("hello")
    event = json.loads(websocket.recv())
    assert (event["body"], event["isBase64Encoded"]) == ("hello", False)
    context = event["requestContext"]
    assert (context["domainName"], context["stage"]) == (host_of(one), "live")
    websocket.send(b"\xff")
    again = json.loads(websocket.recv())
    assert (again["body"], again["isBase64Encoded"]) == ("/w==", True)
    assert again["requestContext"]["connectionId"] == context["connectionId"]


def test_each_websocket_has_an_id_of_its_own(opened: Open) -> None:
    sockets = [opened(), opened()]
    for websocket in sockets:
        websocket.send("hello")
    assert len({json.loads(each.recv())["requestContext"]["connectionId"] for each in sockets}) == 2


def test_a_message_that_takes_long_keeps_no_other_one_waiting(opened: Open) -> None:
    websocket = opened()
    websocket.send("slow")
    websocket.send("refused")
    assert [websocket.recv(), websocket.recv()] == ["not now", "slept"]


@pytest.mark.parametrize("what", ["fail", "huge", "odd"])
def test_a_function_that_fails_is_told_and_the_websocket_stays_open(opened: Open, what: str) -> None:
    websocket = opened()
    websocket.send(what)
    failure = json.loads(websocket.recv())
    assert failure["message"] == "Internal server error"
    assert "secret" not in str(failure)
    websocket.send("refused")
    assert websocket.recv() == "not now"


def test_a_message_that_selects_a_route_without_a_function_is_answered_as_the_template_says(opened: Open) -> None:
    websocket = opened()
    for message in ('{"action": "there?"}', '{"action":"there?","more":[1]}', b'{"action":"there?"}'):
        websocket.send(message)
        assert websocket.recv() == '["still here"]'


@pytest.mark.parametrize(
    "message", ['{"action": "no"}', '{"action": {}}', '{"action": ["there?"]}', '"there?"', '{"action": "there?"', "["]
)
def test_every_other_message_reaches_the_function(opened: Open, message: str) -> None:
    websocket = opened()
    websocket.send(message)
    assert json.loads(websocket.recv())["body"] == message


def test_a_result_without_a_body_sends_nothing(opened: Open) -> None:
    websocket = opened()
    websocket.send("nothing")
    websocket.send("slow")
    assert websocket.recv() == "slept"


def test_a_message_of_128_kb_is_taken_and_one_that_is_longer_ends_the_websocket(opened: Open) -> None:
    websocket = opened()
    websocket.send("x" * MAX_MESSAGE_BYTES)
    # The event is longer than its message.
    assert json.loads(websocket.recv())["message"] == "Internal server error"
    websocket.send("x" * (MAX_MESSAGE_BYTES + 1))
    with pytest.raises(ConnectionClosed) as closed:
        websocket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("path", ["/", "/dead", "/live/more"])
def test_only_the_stage_takes_websockets(opened: Open, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        opened(path=path)
    assert refused.value.response.status_code == 403


def test_a_host_without_a_websocket_api_takes_none(opened: Open, one: LocalDeployment) -> None:
    one.serve_host("nlweb.receiver.example")
    with pytest.raises(InvalidStatus) as refused:
        opened(host="nlweb.receiver.example")
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("limits", [SocketLimits(idle_seconds=0.1), SocketLimits(seconds=0.1)], ids=["idle", "old"])
def test_a_websocket_that_is_idle_or_old_is_closed_as_going_away(
    stack: LocalStack, one: LocalDeployment, opened: Open, limits: SocketLimits
) -> None:
    with Edge(stack.authority, socket_limits=limits) as edge:
        edge.serve_sockets(host_of(one), find_socket_target(one.outputs["SocketsId"], one.client))
        websocket = opened(edge)
        with pytest.raises(ConnectionClosed) as closed:
            websocket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001


# --- @connections -----------------------------------------------------------------------------------------------------


@pytest.fixture
def manage(stack: LocalStack, one: LocalDeployment) -> Iterator[Callable[..., httpx.Response]]:
    """Asks the edge about a WebSocket, as a backend does."""
    headers = {"host": host_of(one), "authorization": "AWS4-HMAC-SHA256 Credential=AKIA"}
    with httpx.Client(verify=stack.authority.client_context(), trust_env=False, timeout=PATIENCE) as client:

        def ask(method: str, name: str, base: str = "/live/@connections/", **options: Any) -> httpx.Response:
            return client.request(
                method,
                f"https://{HOST}:{stack.edge.port}{base}{quote(name, safe='')}",
                extensions={"sni_hostname": host_of(one)},
                **{"headers": headers, **options},
            )

        yield ask


def name_of(websocket: ClientConnection) -> str:
    websocket.send("hello")
    return str(json.loads(websocket.recv())["requestContext"]["connectionId"])


def test_a_backend_sends_to_a_websocket_asks_for_it_and_closes_it(
    opened: Open, manage: Callable[..., httpx.Response]
) -> None:
    websocket, other = opened(), opened()
    name = name_of(websocket)
    assert manage("POST", name, content="grüße").status_code == 200
    assert websocket.recv() == "grüße"
    assert manage("GET", name).json()["identity"] == {"sourceIp": HOST}
    assert manage("PUT", name).status_code == 405
    assert manage("POST", name, content="x" * (MAX_MESSAGE_BYTES + 1)).status_code == 413
    assert manage("DELETE", name).status_code == 204
    with pytest.raises(ConnectionClosed):
        websocket.recv()
    assert manage("POST", name_of(other), content="{}").status_code == 200


def test_a_websocket_that_is_closed_or_of_another_api_is_gone(
    opened: Open, manage: Callable[..., httpx.Response], two: LocalDeployment
) -> None:
    websocket = opened()
    name = name_of(websocket)
    elsewhere = name_of(opened(host=host_of(two)))
    websocket.close()
    for each in (name, elsewhere, "L0SM="):
        assert manage("POST", each, content="{}").status_code == 410


def test_a_backend_must_sign_and_name_a_websocket(
    opened: Open, manage: Callable[..., httpx.Response], one: LocalDeployment
) -> None:
    name = name_of(opened())
    assert manage("POST", name, headers={"host": host_of(one)}, content="{}").status_code == 403
    assert manage("POST", "", content="{}").status_code == 404
    signed = {"host": host_of(one), "authorization": "AWS4-HMAC-SHA256 Credential=AKIA"}
    assert manage("POST", name, headers=signed | {"origin": "https://evil.example"}).status_code == 403
    assert manage("POST", name, base="/dead/@connections/", content="{}").status_code == 404
