"""The client of an operator's endpoints: kept connections, limits, and errors that show the host alone."""

import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from gc import collect
from pathlib import Path
from threading import Barrier, Event
from weakref import finalize

import pytest
import trustme
from tests.fakes.endpoints import Answer, Answered, FakeEndpoint, fake_endpoint
from tests.patience import PATIENCE

from postroom.core.errors import SettingsError
from postroom.net import endpoint_client
from postroom.net.endpoint_client import MAX_KEPT, EndpointClient, EndpointError

LIMIT = 1000
Serve = Callable[[Answer], FakeEndpoint]
ClientOf = Callable[..., EndpointClient]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as undo:
        yield lambda answer: undo.enter_context(fake_endpoint(answer))


@pytest.fixture
def client_of() -> Iterator[ClientOf]:
    with ExitStack() as undo:

        def opened(endpoint: FakeEndpoint, scheme: str = "http", ca_file: Path | None = None) -> EndpointClient:
            url = f"{scheme}://127.0.0.1:{endpoint.port}/v2/KEY?x=1"
            client = EndpointClient(url, max_response_bytes=LIMIT, ca_file=ca_file and str(ca_file))
            undo.callback(client.close)
            return client

        yield opened


def certified(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS for 127.0.0.1, and the file with its authority."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    return context, ca_file


def test_a_body_is_posted_to_the_url_and_answered(serve: Serve, client_of: ClientOf) -> None:
    endpoint = serve(lambda body: body[::-1])
    client = client_of(endpoint)
    assert client.post(b"[1]", PATIENCE) == b"]1["
    assert (client.host, endpoint.paths) == ("127.0.0.1", ["/v2/KEY?x=1"])


def test_a_connection_is_kept_for_the_next_request(serve: Serve, client_of: ClientOf) -> None:
    endpoint = serve(lambda body: body)
    client = client_of(endpoint)
    for number in range(5):
        assert client.post(b"%d" % number, PATIENCE) == b"%d" % number
    assert endpoint.connections == 1


def test_requests_at_once_have_connections_of_their_own_and_a_few_are_kept(serve: Serve, client_of: ClientOf) -> None:
    many = MAX_KEPT + 2
    together = Barrier(many)

    def answer(body: bytes) -> bytes:
        together.wait(PATIENCE)
        return body

    endpoint = serve(answer)
    client = client_of(endpoint)
    with ThreadPoolExecutor(many) as pool:
        for before in (0, many):
            assert list(pool.map(lambda number: client.post(b"%d" % number, PATIENCE), range(many))) == [
                b"%d" % number for number in range(many)
            ]
            assert endpoint.connections <= before + many
    assert endpoint.connections == many + many - MAX_KEPT


def test_kept_connections_are_closed_with_a_client_that_nobody_refers_to(serve: Serve) -> None:
    ended = Event()
    endpoint = serve(lambda body: body)
    client = EndpointClient(f"http://127.0.0.1:{endpoint.port}/", max_response_bytes=LIMIT)
    finalize(client, ended.set)
    assert client.post(b"1", PATIENCE) == b"1"
    del client
    collect()  # a socket that is not closed is a warning then, and warnings are errors
    assert ended.is_set()


def test_a_kept_connection_that_is_gone_is_replaced(serve: Serve, client_of: ClientOf) -> None:
    endpoint = serve(lambda body: (200, {"Connection": "keep-alive"}, body))
    client = client_of(endpoint)
    assert client.post(b"1", PATIENCE) == b"1"

    def hang_up(body: bytes) -> bytes:
        endpoint.answer = lambda body: body
        raise ConnectionError(body)

    endpoint.answer = hang_up
    assert client.post(b"2", PATIENCE) == b"2"
    assert endpoint.bodies == [b"1", b"2", b"2"]


def test_what_follows_an_answer_is_not_taken_for_the_next(serve: Serve, client_of: ClientOf) -> None:
    """From an endpoint that keeps the connection: one that ends it is not used again for that alone."""

    def with_another(body: bytes) -> Answered:
        headers = {"Content-Length": "1", "Connection": "keep-alive"}
        return 200, headers, body + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse"

    endpoint = serve(with_another)
    client = client_of(endpoint)
    assert [client.post(b"1", PATIENCE), client.post(b"2", PATIENCE)] == [b"1", b"2"]
    assert endpoint.bodies == [b"1", b"2"]


def test_a_new_connection_that_breaks_is_not_repeated(serve: Serve, client_of: ClientOf) -> None:
    def hang_up(body: bytes) -> bytes:
        raise ConnectionError(body)

    endpoint = serve(hang_up)
    with pytest.raises(EndpointError):
        client_of(endpoint).post(b"1", PATIENCE)
    assert endpoint.bodies == [b"1"]


@pytest.mark.parametrize("status", [204, 301, 302, 400, 401, 404, 429, 500, 503])
def test_another_status_is_an_error_and_redirects_are_not_followed(
    serve: Serve, client_of: ClientOf, status: int
) -> None:
    endpoint = serve(lambda body: (status, {"Location": "http://127.0.0.1:1/"}, b"" if status == 204 else body))
    with pytest.raises(EndpointError, match=f"status {status}"):
        client_of(endpoint).post(b"[]", PATIENCE)


def test_an_answer_has_a_limit(serve: Serve, client_of: ClientOf) -> None:
    endpoint = serve(lambda body: b"a" * int(body))
    client = client_of(endpoint)
    assert len(client.post(b"%d" % LIMIT, PATIENCE)) == LIMIT
    with pytest.raises(EndpointError, match=f"more than {LIMIT} bytes"):
        client.post(b"%d" % (LIMIT + 1), PATIENCE)
    # What is left of that answer is not taken for the next one.
    assert client.post(b"3", PATIENCE) == b"aaa"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_compressed_answer_is_refused(serve: Serve, client_of: ClientOf, coding: str) -> None:
    endpoint = serve(lambda body: (200, {"Content-Encoding": coding}, body))
    with pytest.raises(EndpointError, match="compressed"):
        client_of(endpoint).post(b"[]", PATIENCE)


def test_an_answer_that_is_said_not_to_be_compressed_is_taken(serve: Serve, client_of: ClientOf) -> None:
    endpoint = serve(lambda body: (200, {"Content-Encoding": "identity"}, body))
    assert client_of(endpoint).post(b"[]", PATIENCE) == b"[]"


def test_an_answer_that_is_late_is_not_waited_for(serve: Serve, client_of: ClientOf) -> None:
    def late(body: bytes) -> bytes:
        time.sleep(1)
        return body

    with pytest.raises(EndpointError, match="in time"):
        client_of(serve(late)).post(b"[]", 0.05)


def test_one_that_is_silent_holds_a_few_threads_only(
    serve: Serve, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_client, "MAX_AT_ONCE", 2)
    over, together = Event(), Barrier(3)

    def is_silent(body: bytes) -> bytes:
        together.wait(PATIENCE)
        over.wait(PATIENCE)
        return body

    endpoint = serve(is_silent)
    client = client_of(endpoint)
    with ThreadPoolExecutor(2) as pool:
        posts = [pool.submit(client.post, b"[]", PATIENCE) for _ in range(2)]
        together.wait(PATIENCE)
        with pytest.raises(EndpointError, match="it has not answered 2 requests before this one yet"):
            client.post(b"[]", PATIENCE)
        over.set()
        assert [post.result() for post in posts] == [b"[]", b"[]"]
    endpoint.answer = lambda body: body
    assert client.post(b"[1]", PATIENCE) == b"[1]"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_whoever_waits_for_an_answer_does_so_no_longer_when_the_client_is_closed(
    client_of: ClientOf, tmp_path: Path, scheme: str
) -> None:
    began, over = Event(), Event()

    def is_silent(body: bytes) -> bytes:
        began.set()
        over.wait(PATIENCE)
        return body

    context, ca_file = certified(tmp_path)
    tls = scheme == "https"
    with fake_endpoint(is_silent, context if tls else None) as endpoint, ThreadPoolExecutor(1) as pool:
        client = client_of(endpoint, scheme, ca_file if tls else None)
        post = pool.submit(client.post, b"[]", 10 * PATIENCE)
        assert began.wait(PATIENCE)
        client.close()
        with pytest.raises(EndpointError):
            post.result(PATIENCE)
        over.set()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_closed_client_leaves_no_connection_open(client_of: ClientOf, tmp_path: Path, scheme: str) -> None:
    context, ca_file = certified(tmp_path)
    tls = scheme == "https"
    with fake_endpoint(lambda body: body, context if tls else None) as endpoint:
        client = client_of(endpoint, scheme, ca_file if tls else None)
        client.close()
        with pytest.raises(EndpointError):
            client.post(b"[]", PATIENCE)
        collect()  # a socket that is not closed is a warning then, and warnings are errors
        assert endpoint.bodies == []


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("http", "no connection to it, or it broke (http:// is for addresses of one's own network only)"),
        ("https", "no connection to it, or it broke"),
    ],
)
def test_no_connection_is_told_without_the_url(client_of: ClientOf, scheme: str, said: str) -> None:
    with fake_endpoint(lambda body: body) as endpoint:
        client = client_of(endpoint, scheme)
    with pytest.raises(EndpointError) as caught:
        client.post(b"[]", PATIENCE)
    assert str(caught.value) == said
    assert "KEY" not in repr(caught.value.__cause__)


def test_over_tls_the_certificate_must_be_that_of_the_host(client_of: ClientOf, tmp_path: Path) -> None:
    good, other = trustme.CA(), trustme.CA()
    server, of_another = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    good.issue_cert("127.0.0.1").configure_cert(server)
    good.issue_cert("127.0.0.2").configure_cert(of_another)
    files = {}
    for name, authority in (("good", good), ("other", other)):
        files[name] = tmp_path / f"{name}.pem"
        authority.cert_pem.write_to_path(str(files[name]))
    with fake_endpoint(lambda body: body, server) as endpoint:
        assert client_of(endpoint, "https", files["good"]).post(b"[]", PATIENCE) == b"[]"
        with pytest.raises(EndpointError, match="certificate"):
            client_of(endpoint, "https", files["other"]).post(b"[]", PATIENCE)
    with fake_endpoint(lambda body: body, of_another) as endpoint, pytest.raises(EndpointError, match="certificate"):
        client_of(endpoint, "https", files["good"]).post(b"[]", PATIENCE)


def test_http_is_for_addresses_of_ones_own_network(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, client_of: ClientOf
) -> None:
    endpoint = serve(lambda body: body)
    client = client_of(endpoint)
    monkeypatch.setattr("postroom.net.endpoint_client.ip_address", lambda _: type("Public", (), {"is_private": False}))
    with pytest.raises(EndpointError, match="own network"):
        client.post(b"[]", PATIENCE)
    assert endpoint.bodies == []


@pytest.mark.parametrize(
    "url",
    ["", "rpc.example", "ftp://rpc.example/KEY", "https://", "https://user:KEY@rpc.example/", "https://rpc.example:x/KEY",
     "https://rpc.exämple/KEY", "https://[::1/KEY"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        EndpointClient(url, max_response_bytes=LIMIT)
    assert "KEY" not in str(caught.value)
