"""The edge over real TLS, in front of real functions."""

import contextlib
import gzip
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpcore
import pytest
from tests.patience import PATIENCE

from postroom.local.edge import Edge, EdgeTarget, find_target
from postroom.local.gateway import MAX_REQUEST_BYTES, Api, GatewayResponse, GatewayRoute
from postroom.local.ports import HOST, require_free

NAME = "nlweb.receiver.example"


class _Loopback(httpcore.SyncBackend):
    """Every host is here."""

    def connect_tcp(self, host, port, **options):
        return super().connect_tcp(HOST, port, **options)


@pytest.fixture(scope="module")
def edge(stack, one) -> Edge:
    one.serve_host(NAME)
    return stack.edge


@pytest.fixture(params=["HTTP/1.1", "HTTP/2"])
def version(request) -> str:
    return request.param


@pytest.fixture
def call(stack, edge, version) -> Iterator[Callable[..., httpcore.Response]]:
    context = stack.authority.client_context()
    http2 = version == "HTTP/2"
    with httpcore.ConnectionPool(context, http1=not http2, http2=http2, network_backend=_Loopback()) as pool:

        def call(method: str, path: str, host: str = NAME, **options) -> httpcore.Response:
            return pool.request(method, f"https://{host}:{edge.port}{path}", **options)

        yield call


@pytest.fixture
def raw(stack, edge) -> Iterator[Callable[[Edge], ssl.SSLSocket]]:
    """Bare TLS connections, for clients that do not keep to HTTP."""
    with contextlib.ExitStack() as stack_of_sockets:

        def connect(to: Edge) -> ssl.SSLSocket:
            plain = socket.create_connection((HOST, to.port), timeout=PATIENCE)
            context = stack.authority.client_context()
            return stack_of_sockets.enter_context(context.wrap_socket(plain, server_hostname="localhost"))

        yield connect


def read_all(connection: ssl.SSLSocket) -> bytes:
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


def message(response: httpcore.Response) -> tuple[int, dict]:
    return response.status, json.loads(response.content)


def test_a_request_reaches_the_function_as_an_event(call, version, one) -> None:
    response = call("POST", "/echo?a=1&a=2", headers={"content-type": "application/json"}, content=b'{"x": 1}')
    assert response.status == 200
    event = json.loads(response.content)
    assert (event["routeKey"], event["rawQueryString"], event["body"]) == ("POST /echo", "a=1&a=2", '{"x": 1}')
    context = event["requestContext"]
    assert (context["domainName"], context["accountId"], context["apiId"]) == (
        NAME,
        one.account,
        one.outputs["ApiId"],
    )
    assert context["http"]["protocol"].startswith(version[:6])


def test_a_body_that_is_no_text_arrives_as_it_was_sent(call) -> None:
    """The emulator's own HTTP plane would spoil it."""
    import base64

    body = gzip.compress(b'{"x": 1}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    event = json.loads(call("POST", "/echo", headers=headers, content=body).content)
    assert event["isBase64Encoded"]
    assert base64.b64decode(event["body"]) == body


@pytest.mark.parametrize(
    ("what", "status", "body"),
    [
        ("text", 200, b"hello"),
        ("value", 200, b'{"a": [1, null]}'),
        ("nothing", 200, b"null"),
        ("empty", 204, b""),
        ("plain", 200, "grüße".encode()),
        ("bytes", 200, bytes(range(256))),
        ("large", 200, b"x" * 5_000_000),
    ],
)
def test_the_response_is_what_the_function_returns(call, what, status, body) -> None:
    response = call("GET", f"/do/{what}", headers={"accept-encoding": "gzip"})
    assert (response.status, response.content) == (status, body)
    assert b"content-encoding" not in dict(response.headers)


def test_each_cookie_is_a_header_of_its_own(call) -> None:
    response = call("GET", "/do/cookies")
    assert [value for name, value in response.headers if name == b"set-cookie"] == [b"a=1; Secure", b"b=2"]


def test_head_is_answered_without_a_body_and_with_its_length(call) -> None:
    response, whole = call("HEAD", "/do/plain"), call("GET", "/do/plain")
    assert (response.status, response.content) == (200, b"")
    assert dict(response.headers)[b"content-length"] == str(len(whole.content)).encode()


@pytest.mark.parametrize("what", ["fail", "exit", "odd", "huge"])
def test_a_failing_function_is_an_internal_server_error_without_details(call, what) -> None:
    assert message(call("GET", f"/do/{what}")) == (500, {"message": "Internal Server Error"})


@pytest.mark.parametrize("path", ["/", "/echo/", "/do", "/files"])
def test_no_route_is_not_found(call, path) -> None:
    assert message(call("GET", path)) == (404, {"message": "Not Found"})


def test_an_unknown_host_is_not_found(call) -> None:
    assert message(call("GET", "/do/text", host="localhost")) == (404, {"message": "Not Found"})


def test_an_unknown_host_has_no_certificate(stack, edge, call) -> None:
    with pytest.raises(httpcore.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        call("GET", "/do/text", host="nobody.example")


def test_hosts_can_change_at_run_time_and_each_leads_to_its_deployment(stack, edge, call, one, two) -> None:
    one.serve_host("moving.example")
    assert json.loads(call("GET", "/do/where", host="moving.example").content)["account"] == one.account
    two.serve_host("moving.example")
    assert json.loads(call("GET", "/do/where", host="moving.example").content)["account"] == two.account
    edge.drop_host("moving.example")
    assert call("GET", "/do/where", host="moving.example").status == 404


def test_a_host_may_be_answered_by_a_handler_of_ours(edge, call) -> None:
    edge.serve_handler(
        "hook.example", lambda request: GatewayResponse(202, (("x-is", request.method),), request.body[::-1])
    )
    answer = call("POST", "/anywhere", content=b"told", host="hook.example")
    assert (answer.status, answer.content, dict(answer.headers)[b"x-is"]) == (202, b"dlot", b"POST")
    edge.drop_host("hook.example")
    assert call("POST", "/anywhere", content=b"told", host="hook.example").status == 404


def test_a_web_page_is_not_answered_by_a_handler_of_ours(edge, call) -> None:
    """The chain is one: a page could send a transaction."""
    edge.serve_handler("hook.example", lambda request: GatewayResponse(202, (), b""))
    for origin in ("https://evil.example", "null"):
        assert call("POST", "/", content=b"{}", host="hook.example", headers={"Origin": origin}).status == 403
    assert call("POST", "/", content=b"{}", host="hook.example").status == 202
    edge.drop_host("hook.example")


def test_a_body_over_ten_megabytes_is_too_large_and_reaches_nobody(call) -> None:
    refused = call("POST", "/echo", content=b"x" * (MAX_REQUEST_BYTES + 1))
    assert message(refused) == (413, {"message": "Request Entity Too Large"})


def test_a_body_over_what_lambda_takes_is_too_large(call) -> None:
    """Base64 makes more than 6 MB of 5 MB."""
    assert call("POST", "/echo", content=b"x" * 5 * 1024 * 1024).status == 413


def test_more_requests_at_once_than_the_reserved_concurrency_are_429(stack, edge) -> None:
    """The fixture reserves four; each of them stays until the other four were refused."""
    context = stack.authority.client_context()
    stay, refused = stack.emulator.directory / "stay", Barrier(4, action=lambda: stay.unlink())
    stay.touch()

    def hold(_: int) -> int:
        with httpcore.ConnectionPool(context, network_backend=_Loopback()) as pool:
            status = pool.request("GET", f"https://{NAME}:{edge.port}/do/hold").status
        if status != 200:
            refused.wait(PATIENCE)
        return status

    with ThreadPoolExecutor(8) as threads:
        statuses = sorted(threads.map(hold, range(8)))
    assert statuses == [*[200] * 4, *[429] * 4]


def test_an_embedded_aws_that_cannot_be_reached_is_service_unavailable(stack) -> None:
    from postroom.local.account import LocalAccount
    from postroom.local.clients import Clients
    from postroom.local.ports import free_port

    gone = EdgeTarget(
        Api("1", "a", (GatewayRoute("$default", "f"),)),
        Clients(LocalAccount(f"http://{HOST}:{free_port()}", "111111111111", "secret")),
    )
    with Edge(stack.authority) as edge:
        edge.serve_host("localhost", gone)
        with httpcore.ConnectionPool(stack.authority.client_context()) as pool:
            assert message(pool.request("GET", f"https://localhost:{edge.port}/")) == (
                503,
                {"message": "Service Unavailable"},
            )


def test_a_client_that_disconnects_half_way_harms_nobody(raw, edge, call) -> None:
    for sent in (
        b"POST /echo HTTP/1.1\r\nHo",
        b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nhalf",
    ):
        connection = raw(edge)
        connection.sendall(sent)
        connection.close()
    assert call("GET", "/do/text").status == 200


def answered_in_time(raw, stack, request: bytes) -> Iterator[tuple[ssl.SSLSocket, bytes]]:
    """A connection that the edge closed because nothing more came after a request, and its answer to that.

    On a busy machine, the edge may close it before the request comes: with twice the time it will not, in the end.
    """
    for doublings in range(12):
        with Edge(stack.authority, idle_seconds=0.2 * 2**doublings) as edge:
            connection = raw(edge)
            connection.sendall(request)
            with contextlib.suppress(OSError):
                if answer := read_all(connection):
                    yield connection, answer
                    return


def test_a_client_that_sends_less_than_its_content_length_is_disconnected(raw, stack) -> None:
    request = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nhalf"
    [(_, answer)] = answered_in_time(raw, stack, request)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_client_that_sends_after_its_connection_was_closed_is_no_error(raw, stack, caplog) -> None:
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for connection, answer in answered_in_time(raw, stack, request):
        assert answer.startswith(b"HTTP/1.1 404 ")
        connection.sendall(request)
    assert caplog.records == []


def test_a_client_that_sends_more_than_its_content_length_gets_two_responses(raw, edge) -> None:
    """What follows the promised length is the next request, and is none."""
    connection = raw(edge)
    connection.sendall(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nokand more\r\n\r\n")
    answers = read_all(connection)
    assert answers.startswith(b"HTTP/1.1 404 ")
    assert b"HTTP/1.1 400 " in answers


def test_nonsense_is_a_bad_request(raw, edge) -> None:
    connection = raw(edge)
    connection.sendall(b"\x00\x01 nonsense\r\n\r\n")
    assert read_all(connection).startswith(b"HTTP/1.1 400 ")


def test_the_edge_stops_although_a_client_is_connected(raw, stack) -> None:
    with Edge(stack.authority) as edge:
        connection = raw(edge)
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nhalf")
        port = edge.port
    assert require_free(port, "the test") == port


def test_the_routes_are_those_that_are_deployed(one) -> None:
    target = find_target(one.outputs["ApiId"], one.client)
    keys = {route.key for route in target.api.routes}
    assert keys == {"POST /echo", "GET /echo", "ANY /do/{what}", "ANY /files/{proxy+}"}
    assert {route.function.rsplit(":", 1)[-1] for route in target.api.routes} == {one.outputs["Inbox"]}
