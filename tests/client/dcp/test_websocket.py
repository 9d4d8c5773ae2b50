"""The WebSocket transport: messages both ways, lost connections, and what is refused; with a real server over TLS."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.client.dcp.ends import LIMITS, QUICK, echo, run
from tests.client.dcp.sockets import HOST, URL, Handler, serving
from tests.patience import PATIENCE
from tests.protocols.dcp.guarded import OWNER, US, Bank, at_once
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response

from postroom.client.dcp import (
    AcceptedConnection,
    AcceptedWebSocket,
    AsyncConnection,
    Connection,
    IdentityMemory,
    MessageRefusedError,
    NotConnectedError,
    OutcomeUnknownError,
    TextPing,
    TransportError,
    WebSocketTransport,
    accept,
    websocket,
)
from postroom.client.dcp.unsigned_answers import check_signed
from postroom.client.mailbox.session import Retries
from postroom.core.errors import SettingsError
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.states import ConnectionState


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)


def opened(ca_file: str, at: tuple[str, int], **members: Any) -> AsyncConnection:
    settings = {"identities": IdentityMemory(), "retries": QUICK, "timeout": PATIENCE, "close_timeout": 1.0} | members
    return AsyncConnection(URL, OWNER, ca_file=ca_file, connect=at, **settings)


class GuardedSockets:
    """A guardian whose sessions outlast its sockets.

    `lose_messages`, `lose_answers`: how many sockets are lost before or after a message with `add` is received;
    `code`: that they are closed with.
    """

    def __init__(self, *, lose_messages: int = 0, lose_answers: int = 0, code: int = 1011) -> None:
        self.bank = Bank(limits=LIMITS)
        self.lose_messages, self.lose_answers, self.code = lose_messages, lose_answers, code
        self.received: list[bytes] = []
        self.sockets: list[ServerConnection] = []

    async def __call__(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        async for message in socket:
            assert isinstance(message, str), "messages are text"
            data = message.encode()
            is_add = json.loads(data)["body"]["payload"]["operation"] == "add"
            if is_add and self.lose_messages:
                self.lose_messages -= 1
                socket.transport.abort()
                return
            self.received.append(data)
            answer = self.bank.guardian.answer(
                data, time.time(), at_once(self.bank.perform_with or self.bank.record)
            ).data
            if is_add and self.lose_answers:
                self.lose_answers -= 1
                await socket.close(self.code)
                return
            await socket.send(answer, text=True)

    @property
    def operations(self) -> list[str]:
        return [json.loads(each)["body"]["payload"]["operation"] for each in self.received]


def accepting(found: list[AcceptedConnection] | None = None) -> Handler:
    """A target that answers on each socket, for as long as it is open."""
    store = MemoryStore()

    async def handle(socket: ServerConnection) -> None:
        connection = await accept(AcceptedWebSocket(socket), US, on_request=echo, store=store)
        if found is not None:
            found.append(connection)
        await socket.wait_closed()
        await connection.close()

    return handle


def test_requests_are_answered(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at, opened(ca_file, at) as connection:
            assert await connection.send("echo", {"Say": "hi"}) == {"Say": "hi"}
            assert await asyncio.gather(*(connection.send("echo", number) for number in range(20))) == list(range(20))
            assert connection.peer == US.address

    run(scenario())


def test_a_socket_is_accepted_once_whatever_it_is_wrapped_in(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        store, refused = MemoryStore(), asyncio.Event()

        async def handle(socket: ServerConnection) -> None:
            accepted = asyncio.create_task(accept(AcceptedWebSocket(socket), US, on_request=echo, store=store))
            await asyncio.sleep(0)
            with pytest.raises(NotConnectedError, match="accepted before"):
                await accept(AcceptedWebSocket(socket), US, on_request=echo, store=store)
            refused.set()
            connection = await accepted
            await socket.wait_closed()
            await connection.close()

        async with serving(authority, handle) as at:
            for number in range(2):
                refused.clear()
                async with opened(ca_file, at) as connection:
                    assert await connection.send("echo", number) == number
                    await refused.wait()

    run(scenario())


def test_both_ends_request(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        found: list[AcceptedConnection] = []
        async with (
            serving(authority, accepting(found)) as at,
            opened(ca_file, at, on_request=echo, store=MemoryStore()) as connection,
        ):
            await connection.connect()
            theirs, ours = await asyncio.gather(found[0].send("echo", "theirs"), connection.send("echo", "ours"))
            assert (theirs, ours) == ("theirs", "ours")

    run(scenario())


def test_a_message_of_more_than_a_frame_of_an_api_is_carried(authority: trustme.CA, ca_file: str) -> None:
    text = "x" * 3_000_000

    async def scenario() -> None:
        async with serving(authority, accepting()) as at, opened(ca_file, at) as connection:
            assert await connection.send("echo", text) == text

    run(scenario())


def test_a_close_closes_the_socket(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        guarded = GuardedSockets()
        async with serving(authority, guarded) as at:
            async with opened(ca_file, at) as connection:
                await connection.send("add", 1)
            await guarded.sockets[0].wait_closed()
            assert guarded.operations == ["connect", "add", "close"]
            assert guarded.sockets[0].close_code == 1000

    run(scenario())


@pytest.mark.parametrize("losses", [1, 3])
def test_a_message_that_was_lost_is_sent_again_and_answered(authority: trustme.CA, ca_file: str, losses: int) -> None:
    async def scenario() -> None:
        guarded = GuardedSockets(lose_messages=losses)
        async with serving(authority, guarded) as at, opened(ca_file, at) as connection:
            await connection.send("add", 1)
            assert guarded.bank.done == [("add", 1)]
            assert len(guarded.sockets) == 1 + losses

    run(scenario())


@pytest.mark.parametrize("losses", [1, 3])
def test_a_request_whose_answer_was_lost_is_sent_again_and_counts_once(
    authority: trustme.CA, ca_file: str, losses: int
) -> None:
    async def scenario() -> None:
        guarded = GuardedSockets(lose_answers=losses)
        async with serving(authority, guarded) as at, opened(ca_file, at) as connection:
            # The guardian tells only that the nonce was used.
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 1)
            assert guarded.bank.done == [("add", 1)]
            assert len(guarded.received[1:]) == 1 + losses
            assert len(set(guarded.received[1:])) == 1

    run(scenario())


REFUSAL = {"title": "", "status": 413, "detail": "too large", "reason": "TooLarge"}
NOT_NOW = {"title": "", "status": 503, "detail": "", "reason": "StoreUnavailable"}
FAILURE = {"message": "Internal server error", "connectionId": "L0SM=", "requestId": "r"}
"""What API Gateway itself answers if the function gave no answer."""


class Unsigned(GuardedSockets):
    """A guardian that gives unsigned answers to the first messages with `add`."""

    def __init__(self, *answers: object) -> None:
        super().__init__()
        self.answers = list(answers)

    async def __call__(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        async for message in socket:
            data = str(message).encode()
            self.received.append(data)
            if self.answers and json.loads(data)["body"]["payload"]["operation"] == "add":
                await socket.send(json.dumps(self.answers.pop(0)))
            else:
                await socket.send(
                    self.bank.guardian.answer(data, time.time(), at_once(self.bank.record)).data, text=True
                )


@pytest.mark.parametrize("answer", [NOT_NOW, FAILURE])
def test_a_message_that_a_target_could_not_answer_now_is_sent_again(
    authority: trustme.CA, ca_file: str, answer: object
) -> None:
    async def scenario() -> None:
        unsigned = Unsigned(answer)
        async with serving(authority, unsigned) as at, opened(ca_file, at) as connection:
            await connection.send("add", 1)
            assert unsigned.bank.done == [("add", 1)]
            assert len(set(unsigned.received[1:3])) == 1, "the same bytes"

    run(scenario())


def test_a_message_that_is_refused_without_a_signature_was_not_performed(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        unsigned = Unsigned(REFUSAL)
        async with serving(authority, unsigned) as at, opened(ca_file, at) as connection:
            with pytest.raises(MessageRefusedError) as refused:
                await connection.send("add", 1)
            assert refused.value.reason == "TooLarge"
            await connection.send("add", 2)
            assert unsigned.bank.done == [("add", 2)]

    run(scenario())


def test_a_message_that_is_refused_without_a_signature_when_it_is_sent_again_may_have_been_performed(
    authority: trustme.CA, ca_file: str
) -> None:
    async def scenario() -> None:
        unsigned = Unsigned(NOT_NOW, REFUSAL)
        async with serving(authority, unsigned) as at, opened(ca_file, at) as connection:
            with pytest.raises(OutcomeUnknownError, match="TooLarge"):
                await connection.send("add", 1)
            assert len(set(unsigned.received[1:])) == 1, "the same bytes"

    run(scenario())


@pytest.mark.parametrize(
    "message",
    [b"{", b"[]", b"7", b'{"status": "x"}', b'{"status": 200}', b'{"message": ""}', b'{"owner": 1, "status": 500}',
     b'{"signature": 1, "message": "x"}', b"\xff"],
)  # fmt: skip
def test_what_is_no_unsigned_answer_is_left_to_whoever_checks_signatures(message: bytes) -> None:
    check_signed(message)


def test_a_long_message_is_sent_in_frames_that_api_gateway_takes(authority: trustme.CA, ca_file: str) -> None:
    frames: list[int] = []

    async def handle(socket: ServerConnection) -> None:
        async for message in socket.recv_streaming():
            frames.append(len(str(message).encode()))
        await socket.close()

    async def scenario() -> None:
        async with serving(authority, handle) as at:
            transport = WebSocketTransport(URL, ca_file=ca_file, connect=at)
            await transport.send("é".encode() * 40_000)
            while sum(frames) < 80_000:
                await asyncio.sleep(0.01)
            await transport.aclose()

    run(scenario())
    assert sum(frames) == 80_000
    assert max(frames) <= 32 * 1024 + 1, "a character may end in the next frame"


async def connection_is_lost(connection: AsyncConnection) -> None:
    while connection.state is not ConnectionState.CLOSED:
        await asyncio.sleep(0.01)


def test_a_session_without_a_request_ends_with_its_socket_and_the_next_request_opens_another(
    authority: trustme.CA, ca_file: str
) -> None:
    async def scenario() -> None:
        guarded = GuardedSockets()
        async with serving(authority, guarded) as at, opened(ca_file, at) as connection:
            await connection.send("add", 1)
            await guarded.sockets[0].close(1001)
            await connection_is_lost(connection)
            await connection.send("add", 2)
            assert guarded.operations == ["connect", "add", "connect", "add"]
            assert guarded.bank.done == [("add", 1), ("add", 2)]

    run(scenario())


@pytest.mark.parametrize("code", [1000, 1003, 1007, 1008, 1009])
def test_a_target_that_closes_the_socket_on_purpose_has_ended_the_session(
    authority: trustme.CA, ca_file: str, code: int
) -> None:
    async def scenario() -> None:
        guarded = GuardedSockets(lose_answers=1, code=code)
        async with serving(authority, guarded) as at, opened(ca_file, at) as connection:
            with pytest.raises(OutcomeUnknownError, match=str(code)):
                await connection.send("add", 1)
            assert len(guarded.sockets) == 1

    run(scenario())


def test_a_target_that_loses_each_socket_is_given_up(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        sockets: list[ServerConnection] = []

        async def handle(socket: ServerConnection) -> None:
            sockets.append(socket)
            await socket.recv()
            await socket.close(1011)

        async with serving(authority, handle) as at:
            with pytest.raises(NotConnectedError, match="1011"):
                await opened(ca_file, at).connect()
            assert len(sockets) == QUICK.attempts

    run(scenario())


@pytest.mark.parametrize(("status", "attempts"), [(403, 1), (404, 1), (429, QUICK.attempts), (503, QUICK.attempts)])
def test_a_host_that_opens_no_socket_is_asked_again_only_if_that_may_help(
    authority: trustme.CA, ca_file: str, status: int, attempts: int
) -> None:
    async def scenario() -> None:
        asked: list[str] = []

        def refuse(socket: ServerConnection, request: Request) -> Response:
            asked.append(request.path)
            return socket.respond(status, "")

        async with serving(authority, accepting(), refuse) as at:
            with pytest.raises(NotConnectedError, match=f"{HOST} answered {status}"):
                await opened(ca_file, at).connect()
            assert asked == ["/dcp"] * attempts

    run(scenario())


def test_a_certificate_that_is_not_trusted_is_not_accepted(authority: trustme.CA) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at:
            connection = AsyncConnection(URL, OWNER, connect=at, identities=IdentityMemory(), retries=QUICK)
            with pytest.raises(NotConnectedError, match=r"certificate of bank\.example is not accepted"):
                await connection.connect()

    run(scenario())


def test_a_host_that_does_not_listen_is_named(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at:
            pass
        with pytest.raises(NotConnectedError, match=f"No WebSocket to {HOST}"):
            await opened(ca_file, at).connect()

    run(scenario())


def test_a_closed_transport_sends_and_receives_nothing(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at:
            transport = WebSocketTransport(URL, ca_file=ca_file, connect=at)
            await transport.aclose()
            with pytest.raises(TransportError, match="closed"):
                await transport.send(b"{}")
            with pytest.raises(TransportError, match="closed"):
                await transport.receive()

    run(scenario())


@pytest.mark.parametrize(
    "url",
    ["wss://", "wss://host:x/", "ws://bank.example/", "wss://bank.example/?a", "wss://u@bank.example/", "wss://[/"],
)
def test_a_url_that_is_not_of_a_websocket_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"wss://nlweb\.receiver\.example/dcp"):
        WebSocketTransport(url)


def test_the_connection_without_asyncio_uses_it_too(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at:

            def send() -> object:
                with Connection(URL, OWNER, ca_file=ca_file, connect=at, identities=IdentityMemory()) as connection:
                    return connection.send("echo", "hi")

            assert await asyncio.to_thread(send) == "hi"

    run(scenario())


def test_websockets_is_loaded_when_a_socket_is_needed() -> None:
    program = "import sys, postroom.client.dcp; assert 'websockets' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


# --- pings -----------------------------------------------------------------------------------------------------------


class CountedPings:
    """A target on each socket that answers so many pings and no more. `came`: how many pings came."""

    def __init__(self, answered: int) -> None:
        self._left = answered
        self.came = 0
        self.sockets = 0
        self.accept = accepting()
        self.more = asyncio.Event()

    async def __call__(self, socket: ServerConnection) -> None:
        self.sockets += 1
        send_frame = socket.protocol.send_frame

        def counted(frame: Frame) -> None:
            if frame.opcode is Opcode.PONG:
                self.came += 1
                self.more.set()
                self._left -= 1
                if self._left < 0:
                    return
            send_frame(frame)

        socket.protocol.send_frame = counted  # type: ignore[method-assign]
        await self.accept(socket)

    async def until(self, number: int) -> None:
        """Wait until so many pings came."""
        while self.came < number:
            self.more.clear()
            await self.more.wait()


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "_PING_SECONDS", 0.02)


@pytest.mark.usefixtures("short_pauses")
def test_a_peer_that_never_answers_pings_is_not_lost(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = CountedPings(answered=0)
        async with serving(authority, pings) as at, opened(ca_file, at) as connection:
            assert await connection.send("echo", 1) == 1
            await pings.until(4)
            assert await connection.send("echo", 2) == 2
            assert pings.sockets == 1

    run(scenario())


@pytest.mark.usefixtures("short_pauses")
def test_a_peer_that_answers_pings_no_more_is_lost(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = CountedPings(answered=2)
        async with serving(authority, pings) as at, opened(ca_file, at) as connection:
            lost = asyncio.Event()
            connection.on_close(lambda _: lost.set())
            await connection.connect()
            await lost.wait()

    run(scenario())


# --- pings that are texts ---------------------------------------------------------------------------------------------


class TextPings:
    """A target on each socket, to which `ping` is no message. `answers`: what it sends for one; None: nothing.

    `came`: how many came, by the socket.
    """

    def __init__(self, answers: str | None = "pong") -> None:
        self.answers = answers
        self.came: list[int] = []
        self.sockets: list[ServerConnection] = []
        self.targets: list[AcceptedConnection] = []
        self._accept = accepting(self.targets)
        self._more = asyncio.Event()

    async def __call__(self, socket: ServerConnection) -> None:
        number = len(self.sockets)
        self.sockets.append(socket)
        self.came.append(0)
        receive = socket.recv

        async def filtered(decode: bool | None = None) -> Any:
            while (message := await receive(decode=decode)) == b"ping":
                self.came[number] += 1
                self._more.set()
                if self.answers is not None:
                    await socket.send(self.answers)
            return message

        socket.recv = filtered  # type: ignore[method-assign]
        await self._accept(socket)

    async def until(self, number: int, of: int = 0) -> None:
        """Wait until so many pings came by a socket."""
        while self.came[of] < number:
            self._more.clear()
            await self._more.wait()


@pytest.fixture
def short_silences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "UNUSED_SECONDS", 0.02)


@pytest.mark.usefixtures("short_silences")
def test_a_socket_that_is_needed_is_kept_open_by_texts_that_are_no_messages(
    authority: trustme.CA, ca_file: str
) -> None:
    async def scenario() -> None:
        pings, text_ping = TextPings(), TextPing("ping", "pong")
        async with serving(authority, pings) as at, opened(ca_file, at, text_ping=text_ping) as connection:
            await connection.connect()
            session = connection.dcpsid
            with connection.kept_open():
                await pings.until(4)
            assert await connection.send("echo", 2) == 2
            assert (connection.dcpsid, len(pings.sockets)) == (session, 1)

    run(scenario())


@pytest.mark.usefixtures("short_silences")
def test_a_socket_that_nobody_needs_gets_no_texts(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = TextPings()
        async with (
            serving(authority, pings) as at,
            opened(ca_file, at, text_ping=TextPing("ping", "pong")) as idle,
            opened(ca_file, at, text_ping=TextPing("ping", "pong")) as needed,
        ):
            await idle.connect()
            await needed.connect()
            with needed.kept_open():
                await pings.until(4, of=1)
            assert pings.came[0] == 0
            with idle.kept_open():
                await pings.until(1)

    run(scenario())


@pytest.mark.usefixtures("short_silences")
def test_a_socket_by_which_texts_are_not_answered_is_lost(
    authority: trustme.CA, ca_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "_TEXT_PING_SECONDS", 0.02)

    async def scenario() -> None:
        pings, lost = TextPings(answers=None), asyncio.Event()
        settings: dict[str, Any] = {"text_ping": TextPing("ping", "pong"), "on_request": echo, "store": MemoryStore()}
        async with serving(authority, pings) as at, opened(ca_file, at, **settings) as connection:
            connection.on_close(lambda _: lost.set())
            await connection.connect()
            with connection.kept_open():
                await lost.wait()
            assert await connection.send("echo", 1) == 1, "the next request opens another session"
            assert len(pings.sockets) == 2

    run(scenario())


@pytest.mark.usefixtures("short_silences")
def test_whatever_else_arrives_answers_a_text(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = TextPings(answers=None)
        settings: dict[str, Any] = {"text_ping": TextPing("ping", "pong"), "on_request": echo, "store": MemoryStore()}
        async with serving(authority, pings) as at, opened(ca_file, at, **settings) as connection:
            await connection.connect()
            with connection.kept_open():
                for number in range(1, 4):
                    await pings.until(number)
                    assert await pings.targets[0].send("echo", number) == number
            assert len(pings.sockets) == 1

    run(scenario())


NO_MESSAGE = {"title": "", "status": 400, "detail": "no message of DCP", "reason": "DcpMessageInvalid"}


@pytest.mark.usefixtures("short_silences")
@pytest.mark.parametrize("answer", [FAILURE, NO_MESSAGE], ids=["API Gateway", "a guardian that takes it for a message"])
def test_a_text_that_is_refused_keeps_the_socket_open_and_ends_no_session(
    authority: trustme.CA, ca_file: str, answer: object
) -> None:
    async def scenario() -> None:
        pings = TextPings(answers=json.dumps(answer))
        settings: dict[str, Any] = {"text_ping": TextPing("ping", "pong"), "on_request": echo, "store": MemoryStore()}
        settings["retries"] = Retries(attempts=1)
        async with serving(authority, pings) as at, opened(ca_file, at, **settings) as connection:
            await connection.connect()
            session = connection.dcpsid
            with connection.kept_open():
                await pings.until(4)
            assert await pings.targets[0].send("echo", 1) == 1, "the last refusal came before that"
            assert await connection.send("echo", 2) == 2
            assert (connection.dcpsid, len(pings.sockets)) == (session, 1)

    run(scenario())


@pytest.mark.usefixtures("short_silences")
def test_what_is_refused_after_a_message_was_sent_may_be_that_message(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = TextPings(answers=None)
        settings: dict[str, Any] = {"text_ping": TextPing("ping", "pong"), "retries": Retries(attempts=1)}
        async with serving(authority, pings) as at, opened(ca_file, at, **settings) as connection:
            await connection.connect()
            with connection.kept_open():
                await pings.until(1)
                assert await connection.send("echo", 1) == 1
            await pings.sockets[0].send(json.dumps(FAILURE))
            await connection_is_lost(connection)

    run(scenario())


def test_any_number_of_pongs_that_nobody_asked_for_are_passed_over(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        pings = TextPings()
        text_ping = TextPing("ping", "pong")
        async with serving(authority, pings) as at, opened(ca_file, at, text_ping=text_ping) as connection:
            assert await connection.send("echo", 1) == 1
            for _ in range(1000):
                await pings.sockets[0].send("pong")
            assert await connection.send("echo", 2) == 2
            assert len(pings.sockets) == 1

    run(scenario())


@pytest.mark.parametrize("text", ["pong ", "Pong", '"pong"', "ping"])
def test_a_text_that_only_resembles_a_pong_ends_the_session_as_any_bad_message(
    authority: trustme.CA, ca_file: str, text: str
) -> None:
    async def scenario() -> None:
        pings = TextPings()
        text_ping = TextPing("ping", "pong")
        async with serving(authority, pings) as at, opened(ca_file, at, text_ping=text_ping) as connection:
            await connection.connect()
            await pings.sockets[0].send(text)
            await connection_is_lost(connection)

    run(scenario())


def test_without_text_pings_a_socket_is_kept_open_by_none(authority: trustme.CA, ca_file: str) -> None:
    async def scenario() -> None:
        async with serving(authority, accepting()) as at, opened(ca_file, at) as connection:
            with connection.kept_open():
                assert await connection.send("echo", 1) == 1

    run(scenario())
