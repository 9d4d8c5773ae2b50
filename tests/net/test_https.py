"""Guarded outbound HTTPS, against real TLS servers on loopback."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpcore
import pytest
import trustme
from tests.fakes.clock import FakeClock
from tests.fakes.dripping import Dripping
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net import https, pinned_connection, timed
from postroom.net.address_locks import AddressLocks
from postroom.net.failing_addresses import FAILING_SECONDS, HELD_SECONDS, FailedRecentlyError, FailingAddresses, key_of
from postroom.net.https import (
    FEW_ADDRESSES,
    MAX_ADDRESSES,
    MAX_RESPONSE_BYTES,
    MAX_URL_CHARACTERS,
    HttpsClient,
    HttpsResponse,
    NoSuchHostError,
    can_be_reached,
    is_public,
)
from postroom.net.pinned_connection import MAX_KEPT
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

HOST = "nlweb.any-receiver.test"
Handler = Callable[[ssl.SSLSocket, bytes], None]


class Server:
    """Takes connections one by one; notes each and each request; answers as told."""

    def __init__(self, context: ssl.SSLContext, handler: Handler) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._context, self._handler = context, handler
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                connection.settimeout(PATIENCE)
                with connection, self._context.wrap_socket(connection, server_side=True) as tls:
                    request = _request(tls)
                    self.requests.append(request)
                    self._handler(tls, request)
            except OSError:
                continue

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def _request(tls: ssl.SSLSocket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += tls.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        body += tls.recv(65536)
    return head + b"\r\n\r\n" + body


def answering(answer: bytes) -> Handler:
    return lambda tls, _: tls.sendall(answer)


def ok(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture(scope="module")
def serve(authority: trustme.CA) -> Callable[..., object]:
    @contextmanager
    def start(handler: Handler, name: str = HOST) -> Iterator[Server]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(context)
        server = Server(context, handler)
        try:
            yield server
        finally:
            server.close()

    return start


def client(port: int, ca_file: str | None, **more: object) -> HttpsClient:
    patient = {"connect_timeout": PATIENCE, "total_timeout": PATIENCE}
    settings: dict[str, object] = {"allow_private": True, "ca_file": ca_file} | patient | more
    resolve = settings.pop("resolve", lambda _: ["127.0.0.1"])
    return HttpsClient(resolve, port=port, **settings)  # type: ignore[arg-type]


def failure(call: Callable[[], HttpsResponse]) -> NotNowError:
    with pytest.raises(NotNowError) as caught:
        call()
    assert caught.value.reason is OUTBOUND_FAILED
    return caught.value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The time for clients: none of it passes by itself."""
    clock = FakeClock(0.0)
    for module in (https, pinned_connection, timed):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    return clock


# --- the exchange ---------------------------------------------------------------------------------------------


def test_get_and_post_over_tls(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"hello", b"X-Two: 1", b"x-two: 2"))) as server:
        ours = client(server.port, ca_file)
        got = ours.get(f"https://{HOST}/manifest?a=b#c", accept="application/yaml")
        posted = ours.post(f"https://{HOST}:{server.port}/inbox", b'{"a":1}' * 9000, "application/json")
    assert (got.status, got.body, got.headers["x-two"]) == (200, b"hello", "1, 2")
    assert posted.body == b"hello"
    get, post = server.requests
    assert get.startswith(b"GET /manifest?a=b HTTP/1.1\r\n")
    assert f"Host: {HOST}:{server.port}\r\n".encode() in get
    assert b"Accept: application/yaml\r\n" in get
    assert b"gzip" not in get
    assert post.startswith(b"POST /inbox HTTP/1.1\r\n")
    assert b"Content-Type: application/json\r\n" in post
    assert post.endswith(b"\r\n\r\n" + b'{"a":1}' * 9000)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(serve, ca_file, status: int) -> None:  # type: ignore[no-untyped-def]
    answer = b"HTTP/1.1 %d Elsewhere\r\nLocation: https://%b/other\r\nContent-Length: 0\r\n\r\n"
    with serve(answering(answer % (status, HOST.encode()))) as server:
        response = client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*")
    assert response.status == status
    assert server.connections == 1


def test_the_environment_s_proxy_is_not_used(serve, ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serve(answering(ok(b"direct"))) as server:
        assert client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*").body == b"direct"


# --- whom we talk to -------------------------------------------------------------------------------------------

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::1",
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "100::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_with_a_private_address_is_refused(address: str) -> None:
    assert not is_public(ip_address(address))
    error = failure(lambda: HttpsClient(lambda _: [address]).get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"{HOST} has no public address"


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]
)
def test_public_addresses_are_public_in_every_form(address: str) -> None:
    assert is_public(ip_address(address))


def test_no_connection_is_made_to_a_private_address(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"secret"))) as server:
        ours = client(server.port, ca_file, allow_private=False)
        failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
        assert server.connections == 0


def connecting_elsewhere(monkeypatch: pytest.MonkeyPatch, connected: list[str]) -> None:
    """Stand in for the network: whatever address is asked for, the connection ends on this machine."""
    connect = httpcore.SyncBackend.connect_tcp

    def connect_tcp(self: httpcore.SyncBackend, host: str, *rest: object) -> httpcore.NetworkStream:
        connected.append(host)
        return connect(self, "127.0.0.1", *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect_tcp)


def test_only_the_public_ones_of_several_addresses_are_tried(ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    connected: list[str] = []

    def connect_tcp(self: httpcore.SyncBackend, host: str, *rest: object) -> httpcore.NetworkStream:
        connected.append(host)
        raise httpcore.ConnectError

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect_tcp)
    answers = ["10.0.0.1", "8.8.8.8", "nonsense", "::ffff:127.0.0.1", "2606:4700::1111"]
    ours = client(443, ca_file, allow_private=False, resolve=lambda _: answers)
    failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
    assert connected == ["8.8.8.8", "2606:4700::1111"]


def test_the_connected_address_is_checked(serve, ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    connected: list[str] = []
    connecting_elsewhere(monkeypatch, connected)
    with serve(answering(ok(b"secret"))) as server:
        ours = client(server.port, ca_file, allow_private=False, resolve=lambda _: ["8.8.8.8"])
        failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
    assert connected == ["8.8.8.8"]
    assert server.requests == []


def test_a_name_is_looked_up_once_against_dns_rebinding(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    looked_up: list[str] = []

    def resolve(name: str) -> Sequence[str]:
        looked_up.append(name)
        return ["127.0.0.1"]

    with serve(answering(ok(b"hello"))) as server:
        client(server.port, ca_file, resolve=resolve).get(f"https://{HOST}./", accept="*/*")
    assert looked_up == [HOST]


def test_the_next_address_is_tried_when_one_does_not_answer(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"hello"))) as server:  # it listens on 127.0.0.1 only
        ours = client(server.port, ca_file, resolve=lambda _: ["127.0.0.2", "127.0.0.1"])
        assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"


@pytest.mark.parametrize("closed", [MAX_ADDRESSES - 1, MAX_ADDRESSES])
def test_the_number_of_tried_addresses_is_limited(serve, ca_file, closed) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"hello"))) as server:
        at = [*(f"127.0.0.{number}" for number in range(2, 2 + closed)), "127.0.0.1"]
        ours = client(server.port, ca_file, resolve=lambda _: at)
        if closed < MAX_ADDRESSES:
            assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"
        else:
            assert "no connection" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail


def test_where_a_forged_message_names_the_host_two_addresses_are_tried(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"hello"))) as server:
        for closed in (1, 2):
            at = [*(f"127.0.0.{number}" for number in range(2, 2 + closed)), "127.0.0.1"]
            ours = client(server.port, ca_file, resolve=lambda _, at=at: at, max_addresses=FEW_ADDRESSES)
            if closed < FEW_ADDRESSES:
                assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"
            else:
                assert "no connection" in failure(lambda ours=ours: ours.get(f"https://{HOST}/", accept="*/*")).detail


# --- connections that are kept ---------------------------------------------------------------------------------


@pytest.fixture
def host(authority, monkeypatch) -> Iterator[FakeEndpoint]:  # type: ignore[no-untyped-def]
    """A host that keeps connections, with certificates for HOST and for as many others as connections are kept."""
    monkeypatch.setattr(pinned_connection, "KEPT_SECONDS", PATIENCE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST, *OTHERS).configure_cert(context)
    with fake_endpoint(lambda body: b"hello" + body, context) as server:
        yield server


OTHERS = [f"{number}.example.test" for number in range(MAX_KEPT)]


def keeping(host: FakeEndpoint, ca_file: str, **more: object) -> HttpsClient:
    return client(host.port, ca_file, keep_connections=True, **more)


def get(ours: HttpsClient, name: str = HOST) -> bytes:
    return ours.get(f"https://{name}/", accept="*/*").body


def test_a_connection_is_kept_for_the_next_requests_if_that_is_wanted(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file)
    assert [get(ours), get(ours)] == [b"hello"] * 2
    assert ours.post(f"https://{HOST}/", b"1", "text/plain").body == b"hello1"
    assert host.connections == 1
    other = client(host.port, ca_file)
    assert [get(other), get(other)] == [b"hello"] * 2
    assert host.connections == 3


def test_a_kept_connection_is_used_only_if_the_name_still_leads_to_its_address(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    answers = [["127.0.0.1"], ["127.0.0.2"], [], ["127.0.0.2", "127.0.0.1"]]
    ours = keeping(host, ca_file, resolve=lambda _: answers.pop(0))
    assert get(ours) == b"hello"
    assert "no connection" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
    assert isinstance(failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")), NoSuchHostError)
    assert get(ours) == b"hello"
    assert host.connections == 1


def test_a_kept_connection_is_not_used_once_its_address_is_private(host, ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file, allow_private=False)
    monkeypatch.setattr(https, "is_public", lambda _: True)
    assert get(ours) == b"hello"
    monkeypatch.undo()
    assert "no public address" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
    assert len(host.bodies) == 1


def test_a_kept_connection_is_not_used_once_its_address_has_failed(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    failing = FailingAddresses()
    ours = keeping(host, ca_file, failing=failing)
    assert get(ours) == b"hello"
    failing.note(IPv4Address("127.0.0.1"))
    assert "failed a moment ago" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
    assert len(host.bodies) == 1


def test_a_kept_connection_is_used_for_its_own_host_only(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file)
    assert [get(ours), get(ours, OTHERS[0])] == [b"hello"] * 2
    assert host.connections == 2
    said = failure(lambda: ours.get("https://another.test/", accept="*/*")).detail
    assert said == "the certificate of another.test was not accepted"


def test_a_few_connections_are_kept_and_the_one_used_longest_ago_is_closed(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file)
    for name in (HOST, *OTHERS[:-1], HOST, OTHERS[-1], HOST):
        assert get(ours, name) == b"hello"
    assert host.connections == 1 + MAX_KEPT
    assert get(ours, OTHERS[0]) == b"hello"
    assert host.connections == 2 + MAX_KEPT


def test_a_connection_is_not_kept_for_longer_than_a_few_seconds(host, ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(pinned_connection, "KEPT_SECONDS", 0.0)
    ours = keeping(host, ca_file)
    assert get(ours) == b"hello"
    time.sleep(0.01)
    assert get(ours) == b"hello"
    assert host.connections == 2


def test_a_connection_that_the_host_ends_is_not_kept(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    host.answer = lambda _: (200, {"Connection": "close"}, b"bye")
    ours = keeping(host, ca_file)
    assert [get(ours), get(ours)] == [b"bye"] * 2
    assert host.connections == 2


def test_a_request_is_made_once_more_if_a_kept_connection_is_gone(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file)
    assert get(ours) == b"hello"

    def hang_up(body: bytes) -> bytes:
        host.answer = lambda body: b"again" + body
        raise ConnectionError(body)

    host.answer = hang_up
    assert ours.post(f"https://{HOST}/", b"1", "text/plain").body == b"again1"
    assert host.bodies == [b"", b"1", b"1"]


def test_a_request_over_a_new_connection_is_made_once(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    def hang_up(body: bytes) -> bytes:
        raise ConnectionError(body)

    host.answer = hang_up
    failure(lambda: keeping(host, ca_file).get(f"https://{HOST}/", accept="*/*"))
    assert len(host.bodies) == 1


def test_what_is_left_of_an_answer_is_not_taken_for_the_next(host, ca_file) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file, max_response_bytes=5)
    assert get(ours) == b"hello"
    assert "more than 5 bytes" in failure(lambda: ours.post(f"https://{HOST}/", b"1", "text/plain")).detail
    assert get(ours) == b"hello"
    assert host.connections == 2


@pytest.mark.parametrize("surplus", [ok(b"false"), ok(b"false")[:20], b"\r\n", b"x"])
def test_what_follows_an_answer_is_not_taken_for_the_next(host, ca_file, surplus) -> None:  # type: ignore[no-untyped-def]
    """From a host that keeps the connection: one that ends it is not used again for that alone."""
    host.answer = lambda _: (200, {"Content-Length": "5"}, b"hello" + surplus)
    ours = keeping(host, ca_file)
    assert [get(ours), get(ours), get(ours)] == [b"hello"] * 3
    assert host.connections == len(host.bodies) == 3


def test_an_address_that_holds_a_kept_connection_to_the_end_is_not_tried_again(host, ca_file, clock) -> None:  # type: ignore[no-untyped-def]
    ours = keeping(host, ca_file, failing=FailingAddresses())
    assert get(ours) == b"hello"

    def hold(body: bytes) -> bytes:
        clock.now += PATIENCE
        return body + Dripping(b"x" * 1000)

    host.answer = hold
    assert "in time" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
    assert "failed a moment ago" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail


def test_a_kept_connection_has_held_us_since_its_last_request(host, ca_file, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    clock, stop = FakeClock(), threading.Event()
    monkeypatch.setattr(pinned_connection, "time", SimpleNamespace(monotonic=clock))
    ours = keeping(host, ca_file, failing=FailingAddresses())
    assert get(ours) == b"hello"
    clock.now += 2 * HELD_SECONDS
    host.answer = lambda body: body if stop.wait(PATIENCE) else b""
    assert "in time" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*", seconds=0.05)).detail
    stop.set()
    host.answer = lambda _: b"hello"
    assert get(ours) == b"hello"


# --- addresses that fail ----------------------------------------------------------------------------------------


def test_an_address_that_refused_a_connection_is_not_tried_again_for_five_minutes(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    clock = FakeClock(0.0)
    with serve(answering(ok(b"hello"))) as server:
        failing, at = FailingAddresses(clock), ["127.0.0.2"]
        ours = client(server.port, ca_file, resolve=lambda _: at, failing=failing)
        assert "no connection" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
        said = failure(lambda: ours.get("https://another.test/", accept="*/*")).detail
        assert said == "another.test has only addresses that failed a moment ago"
        at.append("127.0.0.1")
        assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"
        clock.now += FAILING_SECONDS
        at[1:] = []
        assert "no connection" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail


def test_addresses_that_failed_are_none_of_the_few_that_are_tried(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    failing, at = FailingAddresses(), [f"127.0.0.{number}" for number in range(2, 2 + FEW_ADDRESSES)]
    for address in at:
        failing.note(IPv4Address(address))
    with serve(answering(ok(b"hello"))) as server:
        ours = client(
            server.port, ca_file, resolve=lambda _: [*at, "127.0.0.1"], failing=failing, max_addresses=FEW_ADDRESSES
        )
        assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"


@pytest.mark.parametrize("held", [HELD_SECONDS, HELD_SECONDS - 0.001])
def test_an_address_that_holds_a_connection_for_a_second_to_the_end_is_not_tried_again(
    serve, ca_file, clock, held: float
) -> None:  # type: ignore[no-untyped-def]
    """With less time, it is: a slow look-up belongs to the name, and the address belongs to others as well."""

    def resolve(_: str) -> Sequence[str]:
        clock.now = PATIENCE - held
        return ["127.0.0.1"]

    def hold(tls: ssl.SSLSocket, _: bytes) -> None:
        clock.now = PATIENCE
        tls.sendall(b"HTTP/1.1 ")
        tls.recv(1)

    with serve(hold) as server:
        ours = client(server.port, ca_file, resolve=resolve, failing=FailingAddresses())
        assert "in time" in failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")).detail
        clock.now = 0.0
        said = failure(lambda: ours.get("https://another.test/", accept="*/*")).detail
        assert ("failed a moment ago" in said) is (held == HELD_SECONDS)
    assert server.connections == (1 if held == HELD_SECONDS else 2)


def test_an_address_that_answers_for_others_is_not_remembered(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    """A made-up name may lead to the address of an honest host, which has no certificate for it."""
    with serve(answering(ok(b"hello"))) as server:
        ours = client(server.port, ca_file, failing=FailingAddresses())
        assert "certificate" in failure(lambda: ours.get("https://another.test/", accept="*/*")).detail
        assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"


# --- locks of addresses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]], ids=["the first", "the next one"])
def test_an_address_is_locked_until_a_request_is_answered(serve, ca_file, addresses: list[str]) -> None:  # type: ignore[no-untyped-def]
    locks, held = AddressLocks(), []

    def answer(tls: ssl.SSLSocket, _: bytes) -> None:
        held.append(set(locks._held))
        tls.sendall(ok(b"hello"))

    with serve(answer) as server:
        ours = client(server.port, ca_file, resolve=lambda _: addresses, locks=locks)
        assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"
    assert held == [{key_of(IPv4Address("127.0.0.1"))}]
    assert not locks._held


def test_a_thread_waits_for_an_address_until_another_one_releases_it() -> None:
    locks, order = AddressLocks(), []

    def second() -> None:
        locks.acquire(IPv4Address("192.0.2.1"))
        order.append("acquired")

    locks.acquire(IPv4Address("192.0.2.1"))
    locks.acquire(IPv4Address("192.0.2.2"))
    thread = threading.Thread(target=second)
    thread.start()
    locks.release(IPv4Address("192.0.2.2"))
    order.append("released")
    locks.release(IPv4Address("192.0.2.1"))
    thread.join()
    assert order == ["released", "acquired"]


@pytest.mark.parametrize(
    "broken", [b"", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * MAX_RESPONSE_BYTES + b"x", b"no HTTP\r\n\r\n"]
)
def test_an_address_is_free_after_a_request_that_fails_too(serve, ca_file, broken: bytes) -> None:  # type: ignore[no-untyped-def]
    locks = AddressLocks()
    with serve(answering(broken)) as server:
        failure(lambda: client(server.port, ca_file, locks=locks).get(f"https://{HOST}/", accept="*/*"))
    assert not locks._held


def test_the_wait_for_an_address_is_none_of_the_seconds_of_a_request(serve, ca_file, clock) -> None:  # type: ignore[no-untyped-def]
    class Late(AddressLocks):
        def acquire(self, address: IPv4Address | IPv6Address) -> None:
            clock.now += 2 * PATIENCE

    with serve(answering(ok(b"hello"))) as server:
        assert client(server.port, ca_file, locks=Late()).get(f"https://{HOST}/", accept="*/*").body == b"hello"


def test_an_address_that_failed_while_others_waited_for_it_is_not_connected_to(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    failing = FailingAddresses()

    class Late(AddressLocks):
        def acquire(self, address: IPv4Address | IPv6Address) -> None:
            failing.note(address)

    with serve(answering(ok(b"hello"))) as server:
        ours = client(server.port, ca_file, locks=Late(), failing=failing)
        assert isinstance(failure(lambda: ours.get(f"https://{HOST}/", accept="*/*")), FailedRecentlyError)
    assert server.connections == 0


def test_the_length_of_a_url_is_limited(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    longest = f"https://{HOST}/".ljust(MAX_URL_CHARACTERS, "x")
    with serve(answering(ok(b"hello"))) as server:
        assert client(server.port, ca_file).get(longest, accept="*/*").body == b"hello"
    assert "too many" in failure(lambda: HttpsClient(lambda _: []).get(longest + "x", accept="*/*")).detail


def test_a_host_that_does_not_exist_has_its_own_reason() -> None:
    error = failure(lambda: HttpsClient(lambda _: []).get(f"https://{HOST}/", accept="*/*"))
    assert isinstance(error, NoSuchHostError)


@pytest.mark.parametrize("fault", [OSError("x"), NotNowError(KEY_LOOKUP_FAILED, "x")])
def test_a_failing_look_up_is_an_outbound_failure(fault: Exception) -> None:
    def resolve(_: str) -> Sequence[str]:
        raise fault

    error = failure(lambda: HttpsClient(resolve).get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"{HOST} could not be looked up"
    assert not isinstance(error, NoSuchHostError)


# --- URLs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["a.example", "4ever.example", "a.b1", "xn--bcher-kva.example"])
def test_host_names_can_be_reached(host: str) -> None:
    assert can_be_reached(host)


@pytest.mark.parametrize("host", ["a.1b", "127.0x1", "127.0.0.1", "example", "a.example.", ""])
def test_disguised_addresses_and_invalid_host_names_are_refused(host: str) -> None:
    assert not can_be_reached(host)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://a.example/",
        "ftp://a.example/",
        "//a.example/",
        "a.example",
        "https:///path",
        "https://user@a.example/",
        "https://user:secret@a.example/",
        "https://@a.example/",
        "https://a.example:80/",
        "https://a.example:0/",
        "https://a.example:99999/",
        "https://a.example:x/",
        "https://localhost/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0x1/",
        "https://a.0x7f000001/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::1",
        "https://a..example/",
        "https://-a.example/",
        "https://a_b.example/",
        "https://bücher.example/",
        "https://a.example/\r\nX: 1",
        "https://a.example/ b",
        "https://a.exam\tple/",
        "https://" + "a." * 130 + "example/",
        "https://a.example/" + "x" * MAX_URL_CHARACTERS,
    ],
)
def test_only_plain_https_urls_with_a_host_name_are_accepted(url: str) -> None:
    looked_up: list[str] = []

    def resolve(name: str) -> Sequence[str]:
        looked_up.append(name)
        return ["8.8.8.8"]

    error = failure(lambda: HttpsClient(resolve).get(url, accept="*/*"))
    assert error.detail.startswith("the URL")
    assert "secret" not in str(error)
    assert looked_up == []


def test_ip_literals_are_accepted_if_private_addresses_are(authority, ca_file) -> None:  # type: ignore[no-untyped-def]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = Server(context, answering(ok(b"hello")))
    try:
        assert client(server.port, ca_file).get("https://127.0.0.1/", accept="*/*").body == b"hello"
    finally:
        server.close()


@pytest.mark.parametrize(("status", "may"), [
    (200, False), (301, False), (404, False), (407, False), (408, True), (409, False), (424, False), (425, True),
    (426, False), (428, False), (429, True), (430, False), (499, False), (500, True), (503, True), (599, True),
])  # fmt: skip
def test_a_fault_of_the_server_or_a_request_too_early_may_be_answered_otherwise_soon(status: int, may: bool) -> None:
    assert HttpsResponse(status, {}, b"").may_change_soon is may


# --- who proves to be whom ----------------------------------------------------------------------------------------


def test_a_certificate_for_another_name_is_refused(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"secret")), name="other.test") as server:
        error = failure(lambda: client(server.port, ca_file).post(f"https://{HOST}/", b"secret", "text/plain"))
    assert error.detail == f"the certificate of {HOST} was not accepted"
    assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(serve) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"secret"))) as server:
        error = failure(lambda: client(server.port, None).get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"the certificate of {HOST} was not accepted"
    assert server.requests == []


# --- how much, how long, in what form ---------------------------------------------------------------------------


def endless(tls: ssl.SSLSocket, _: bytes) -> None:
    tls.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        tls.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")


def test_the_length_of_a_response_is_limited(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    longest = b"x" * MAX_RESPONSE_BYTES
    with serve(answering(ok(longest))) as server:
        assert client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*").body == longest
    with serve(answering(ok(longest + b"x"))) as server:
        error = failure(lambda: client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"{HOST} answered with more than {MAX_RESPONSE_BYTES} bytes"


@pytest.mark.parametrize("handler", [answering(ok(b"x" * 1001)), endless], ids=["with a length", "endless"])
def test_a_response_over_the_callers_limit_is_cut_off(serve, ca_file, handler: Handler) -> None:  # type: ignore[no-untyped-def]
    with serve(handler) as server:
        ours = client(server.port, ca_file, max_response_bytes=1000)
        error = failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"{HOST} answered with more than 1000 bytes"


def dripping(head: bytes, drop: bytes) -> Handler:
    def handle(tls: ssl.SSLSocket, _: bytes) -> None:
        tls.sendall(head)
        while True:
            time.sleep(0.05)
            tls.sendall(drop)

    return handle


@pytest.mark.parametrize(
    "handler",
    [
        lambda tls, _: tls.recv(1),
        dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        dripping(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["silence", "head", "interim answers", "body", "chunks"],
)
def test_a_slow_response_is_ended_at_the_deadline(serve, ca_file, handler: Handler) -> None:  # type: ignore[no-untyped-def]
    with serve(handler) as server:
        ours = client(server.port, ca_file, total_timeout=0.5)
        error = failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"{HOST} did not answer in time"


def drip_to_the_end(tls: ssl.SSLSocket, _: bytes) -> None:
    for byte in ok(b"hello"):
        time.sleep(0.02)
        tls.sendall(bytes([byte]))


def test_a_slow_response_is_accepted_if_it_ends_before_the_deadline(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(drip_to_the_end) as server:
        assert client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*").body == b"hello"


class Hesitant(ssl.SSLContext):
    """Shakes hands after `seconds`, or once the client has gone."""

    def __init__(self, _: int) -> None:
        self.client_has_gone = threading.Event()
        self.seconds = 0.0

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        self.client_has_gone.wait(self.seconds)
        return super().wrap_socket(*given, **named)


@pytest.mark.parametrize("connect_timeout", [PATIENCE, 0.2])
def test_the_tls_handshake_has_the_connect_timeout(authority, ca_file, connect_timeout: float) -> None:  # type: ignore[no-untyped-def]
    context = Hesitant(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    context.seconds = 0.5 if connect_timeout == PATIENCE else PATIENCE
    server = Server(context, answering(ok(b"hello")))
    try:
        ours = client(server.port, ca_file, connect_timeout=connect_timeout)
        if connect_timeout == PATIENCE:
            assert ours.get(f"https://{HOST}/", accept="*/*").body == b"hello"
        else:
            error = failure(lambda: ours.get(f"https://{HOST}/", accept="*/*"))
            assert error.detail == f"{HOST} did not answer in time"
    finally:
        context.client_has_gone.set()
        server.close()


def test_a_closed_port_is_a_temporary_error(ca_file) -> None:  # type: ignore[no-untyped-def]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failure(lambda: client(port, ca_file).get(f"https://{HOST}/", accept="*/*"))
    assert error.detail == f"no connection to {HOST}, or it broke"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"rubbish\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
    ],
)
def test_an_invalid_http_response_is_an_outbound_failure(serve, ca_file, answer: bytes) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(answer)) as server:
        failure(lambda: client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*"))


def test_the_length_of_a_response_head_is_limited(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    most, one_read = httpcore.HTTP11Connection.MAX_INCOMPLETE_EVENT_SIZE, httpcore.HTTP11Connection.READ_NUM_BYTES

    def head_of(length: int) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ".ljust(length - 4, b"y") + b"\r\n\r\n"

    with serve(answering(head_of(most))) as server:
        assert client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*").status == 200
    with serve(answering(head_of(most + one_read + 1))) as server:
        failure(lambda: client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*"))


def test_a_compressed_response_is_refused(serve, ca_file) -> None:  # type: ignore[no-untyped-def]
    with serve(answering(ok(b"xxx", b"Content-Encoding: gzip"))) as server:
        error = failure(lambda: client(server.port, ca_file).get(f"https://{HOST}/", accept="*/*"))
    assert "compressed" in error.detail
