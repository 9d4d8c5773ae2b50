"""Every request of a mailbox's client ends, whatever its host does: httpx limits single steps only."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from socket import socket
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn
from typing import Any

import httpx
import pytest
import trustme
from tests.client.standing import run_by_its_pauses
from tests.fakes.dripping import Dripping
from tests.fakes.servers import ToleratesDisconnects, running_server

from postroom.client import AsyncMailbox, Mailbox
from postroom.client.mailbox import Retries, UnavailableError
from postroom.client.mailbox.deadlines import BYTES_PER_SECOND, CONNECT_SECONDS, limit_of
from postroom.client.mailbox.exchange import MailboxRequest
from postroom.crypto.ethereum_keys import EthereumKey

HOST = "nlweb.receiver.example"
KEY = EthereumKey.generate()
ONCE = Retries(attempts=1)
DEFAULT = 30
"""Seconds: the `timeout` of AsyncMailbox."""
BODY = b'"%b"' % (b"x" * 300)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)


class Slow(ThreadingMixIn, ToleratesDisconnects, TCPServer):
    """Answers each connection with `head` and `body`, which may take half a minute."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext, head: bytes, body: bytes) -> None:
        self.tls, self.answer = tls, (head, body)
        super().__init__(("127.0.0.1", 0), _Answering)


class _Answering(BaseRequestHandler):
    server: Slow
    request: socket

    def handle(self) -> None:
        with self.server.tls.wrap_socket(self.request, server_side=True) as connection:
            connection.recv(100_000)
            for part in self.server.answer:
                for piece in part.parts() if isinstance(part, Dripping) else [part]:
                    connection.sendall(piece)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(params=[(Dripping(HEAD), BODY), (HEAD, Dripping(BODY))], ids=["the head", "the body"])
def at(request: pytest.FixtureRequest, authority: trustme.CA) -> Iterator[tuple[str, int]]:
    """The address of a host that sends a part of its answers byte by byte."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(tls)
    with running_server(Slow(tls, *request.param)) as server:
        yield "127.0.0.1", int(server.server_address[1])


@pytest.mark.parametrize("client", [Mailbox, AsyncMailbox])
def test_a_host_that_drips_its_answer_is_given_up(
    at: tuple[str, int], authority: trustme.CA, tmp_path: Path, client: Any
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    mailbox = client(
        f"https://{HOST}", "receiver.example", KEY, connect=at, ca_file=tmp_path / "ca.pem", timeout=0.5, retries=ONCE
    )
    with pytest.raises(UnavailableError, match="did not answer in time"):
        mailbox.status() if client is Mailbox else asyncio.run(mailbox.status())


class Host(httpx.AsyncBaseTransport, httpx.AsyncByteStream):
    """A host that answers each request by so many bytes, one part in a second."""

    def __init__(self, of_a_part: int, parts: int) -> None:
        self._part, self._parts = b" " * of_a_part, parts

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return httpx.Response(200, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self._parts):
            await asyncio.sleep(1)
            yield self._part


@pytest.mark.parametrize(
    "call",
    [
        lambda mailbox: mailbox.status(),
        lambda mailbox: anext(mailbox.unread(wait=15)),
        lambda mailbox: mailbox.put_container(f"0x{7:064x}", b"x" * 100_000, etag=None),
    ],
    ids=["a read", "a read that may wait", "a write"],
)
@pytest.mark.parametrize("dcp", [False, True], ids=["with a token", "over DCP"])
def test_no_request_waits_for_a_host_that_drips(call: Any, *, dcp: bool) -> None:
    """There are a few: for the guardian, a challenge or a session, and then the one that was called for."""

    async def scenario() -> None:
        mailbox = AsyncMailbox(
            f"https://{HOST}", "receiver.example", KEY, transport=Host(1, 10_000), dcp=dcp, retries=ONCE
        )
        begun = asyncio.get_running_loop().time()
        with pytest.raises(UnavailableError):
            await call(mailbox)
        assert asyncio.get_running_loop().time() - begun <= 3 * (DEFAULT + CONNECT_SECONDS + 1)

    run_by_its_pauses(scenario())


def test_waiting_for_messages_and_sending_bytes_is_added() -> None:
    short = limit_of(MailboxRequest("GET", "/"), DEFAULT)
    assert short == DEFAULT + CONNECT_SECONDS
    assert limit_of(MailboxRequest("GET", "/", wait=15), DEFAULT) == short + 15
    assert limit_of(MailboxRequest("PUT", "/", body=b"x" * BYTES_PER_SECOND * 7), DEFAULT) == short + 7


def test_the_guardian_is_asked_for_in_time_too() -> None:
    async def scenario() -> None:
        mailbox = AsyncMailbox(f"https://{HOST}", "receiver.example", KEY, transport=Host(1, 10_000))
        begun = asyncio.get_running_loop().time()
        await mailbox._describe_guardian()
        assert asyncio.get_running_loop().time() - begun <= DEFAULT + CONNECT_SECONDS + 1

    run_by_its_pauses(scenario())


def test_a_large_answer_may_take_as_long_as_it_comes_at_the_least_rate() -> None:
    async def scenario() -> None:
        for rate, is_whole in ((BYTES_PER_SECOND, True), (BYTES_PER_SECOND // 2, False)):
            mailbox = AsyncMailbox(f"https://{HOST}", "receiver.example", KEY, transport=Host(rate, 200))
            answer = await mailbox._describe_guardian()
            assert hasattr(answer, "body") is is_whole

    run_by_its_pauses(scenario())
