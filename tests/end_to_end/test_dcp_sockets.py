"""DCP over WebSockets at the local post office: the sessions of /dcp, and the limits of API Gateway."""

import asyncio
import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import httpx
import pytest
from tests.patience import PATIENCE
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from postroom.client.dcp import (
    AsyncConnection,
    Connection,
    HttpsTransport,
    IdentityMemory,
    OutcomeUnknownError,
    RequestFailedError,
    Transport,
    WebSocketTransport,
)
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.protocols.dm3.keys import PrivateSigningKey

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

URL = f"https://nlweb.{RECEIVER}/dcp"
SHOP = f"sockets.{RECEIVER}"
OWNER = EthereumKey.generate()


@pytest.fixture(scope="module")
def socket_url(demo_stack: DemoStack) -> str:
    """Where `GET /dcp` says that the WebSockets are; a mailbox is opened for OWNER."""
    mailboxes = demo_stack.receiver.mailboxes
    public = PrivateSigningKey.decode(f"secp256k1:{b64encode(OWNER.secret).decode()}").public
    mailboxes.set_keys(SHOP, [public.encode()])
    stack = demo_stack.stack
    with httpx.Client(verify=stack.authority.client_context(), trust_env=False, timeout=PATIENCE) as client:
        answer = client.get(
            f"https://127.0.0.1:{stack.edge.port}/dcp",
            headers={"host": f"nlweb.{RECEIVER}"},
            extensions={"sni_hostname": f"nlweb.{RECEIVER}"},
        )
    url = str(answer.json()["socket"])
    assert url == demo_stack.receiver.deployment.outputs["DcpSocketUrl"]
    return url


def opened(demo_stack: DemoStack, url: str, key: EthereumKey = OWNER) -> Connection:
    stack = demo_stack.stack
    return Connection(
        url,
        key,
        identities=IdentityMemory(),
        ca_file=stack.authority.pem,
        connect=("127.0.0.1", stack.edge.port),
    )


@pytest.fixture
def over_socket(demo_stack: DemoStack, socket_url: str) -> Iterator[Connection]:
    with opened(demo_stack, socket_url) as connection:
        yield connection


def call(connection: Connection, operation: str, **data: JsonValue) -> dict[str, JsonValue]:
    """The result of an operation of the mailbox that its owner authorizes."""
    result = connection.request(operation, {"mailbox": SHOP, **data}).send(OWNER)
    assert isinstance(result, dict)
    return result


def test_an_owner_does_over_a_websocket_what_they_do_over_https(over_socket: Connection, demo_stack: DemoStack) -> None:
    assert json.dumps(call(over_socket, "status")["body"]).count('"waiting": 0') == 1
    over_socket.keepalive()
    with opened(demo_stack, URL) as over_https:
        assert call(over_https, "status") == call(over_socket, "status")
        assert over_https.peer == over_socket.peer


def test_what_nobody_authorized_is_refused_and_the_session_goes_on(over_socket: Connection) -> None:
    with pytest.raises(RequestFailedError) as refused:
        over_socket.send("status", {"mailbox": SHOP})
    assert refused.value.code == "NotTheOwner"
    assert call(over_socket, "status")["body"]


def test_what_is_too_large_for_a_websocket_is_read_over_https(over_socket: Connection, demo_stack: DemoStack) -> None:
    key = f"0x{7:064x}"
    with opened(demo_stack, URL) as over_https:
        body = b64encode(bytes(120_000)).decode()
        over_https.request("put_container", {"mailbox": SHOP, "id": key, "body": body, "none_match": "*"}).send(OWNER)
        with pytest.raises(RequestFailedError) as refused:
            call(over_socket, "container", id=key)
        assert refused.value.code == "AnswerTooLarge"
        assert call(over_https, "container", id=key)["body"] == body
    assert call(over_socket, "container", id=key, range="bytes=0-9")["body"] == b64encode(bytes(10)).decode()


def test_a_message_that_is_too_large_for_a_websocket_is_not_sent_again_and_again(over_socket: Connection) -> None:
    body = b64encode(bytes(120_000)).decode()
    call(over_socket, "status")
    with pytest.raises(OutcomeUnknownError, match="1009"):
        over_socket.request(
            "put_container", {"mailbox": SHOP, "id": f"0x{8:064x}", "body": body, "none_match": "*"}
        ).send(OWNER)
    assert call(over_socket, "status")["body"], "the next request opens another session"


@pytest.mark.parametrize("message", ["hello", '{"hello": 1}'])
def test_what_is_no_message_closes_its_websocket_and_no_other(
    demo_stack: DemoStack, socket_url: str, over_socket: Connection, message: str
) -> None:
    assert call(over_socket, "status")["body"]
    stack = demo_stack.stack
    host, port = socket_url.removeprefix("wss://").split("/")[0], stack.edge.port
    with connect(
        socket_url.replace(host, f"{host}:{port}"), ssl=stack.authority.client_context(),
        sock=socket.create_connection(("127.0.0.1", port)), open_timeout=PATIENCE, ping_interval=None,
    ) as websocket:  # fmt: skip
        websocket.send(message)
        with pytest.raises(ConnectionClosed):
            websocket.recv(PATIENCE)
    assert call(over_socket, "status")["body"]


class ByTurns:
    """A transport that sends each message by the next of several, and receives its answer there."""

    def __init__(self, *transports: Transport) -> None:
        self._transports, self._turns = transports, cycle(transports)
        self._sent: asyncio.Queue[Transport] = asyncio.Queue()

    async def send(self, message: bytes) -> None:
        transport = next(self._turns)
        await transport.send(message)
        self._sent.put_nowait(transport)

    async def receive(self) -> bytes:
        return await (await self._sent.get()).receive()

    async def aclose(self) -> None:
        for transport in self._transports:
            await transport.aclose()


def test_a_session_belongs_to_no_transport(demo_stack: DemoStack, socket_url: str) -> None:
    """Connect and every second message go over HTTPS, the others over a WebSocket."""
    stack = demo_stack.stack

    async def answers() -> list[Any]:
        at: dict[str, Any] = {"ca_file": stack.authority.pem, "connect": ("127.0.0.1", stack.edge.port)}
        at["timeout"] = PATIENCE
        by_turns = ByTurns(HttpsTransport(URL, **at), WebSocketTransport(socket_url, **at))
        async with AsyncConnection(URL, OWNER, identities=IdentityMemory(), transport=by_turns) as connection:
            return [await connection.request("status", {"mailbox": SHOP}).send(OWNER) for _ in range(4)]

    assert [each["body"]["waiting"] for each in asyncio.run(answers())] == [0] * 4
