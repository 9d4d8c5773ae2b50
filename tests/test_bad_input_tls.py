"""Bad input at the real TLS edge of the local stack, byte by byte: what a well-behaved HTTP client cannot send."""

import gzip
import json
import re
import socket
from collections.abc import Callable, Iterator

import pytest
from tests.aws import TEMPLATE
from tests.end_to_end.dumps import everything
from tests.functions import bad_dm3
from tests.functions import bad_requests as bad
from tests.patience import PATIENCE

from postroom.core.reason import Reason
from postroom.core.reasons import NO_SUCH_ROUTE, NOT_JSON, TOO_LARGE, WRONG_CONTENT_ENCODING, WRONG_CONTENT_TYPE
from postroom.local.stack import LocalStack
from postroom.storage.directory.domains import Domain
from postroom.storage.directory.operators import Operators

HOST = f"nlweb.{bad.RECEIVER}"
AS_JSON = "Content-Type: application/json"

pytestmark = [pytest.mark.xdist_group("bad input at the TLS edge"), pytest.mark.stack]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE) as stack_running:
        receiver = stack_running.deploy("receiver")
        receiver.serve_host(HOST)
        operators = Operators(receiver.client("dynamodb"), receiver.outputs["DirectoryTable"])
        operators.put_domain(Domain(bad.RECEIVER))
        yield stack_running


def exchange(stack: LocalStack, data: bytes, *, and_leave: bool = False) -> bytes:
    """Send bytes through TLS; the answer that comes back. `and_leave`: end before there is one."""
    context = stack.authority.client_context()
    context.set_alpn_protocols(["http/1.1"])
    received = b""
    with (
        socket.create_connection(("127.0.0.1", stack.edge.port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as tls,
    ):
        tls.sendall(data)
        if and_leave:
            # Until the edge has closed its side, too: then it is done with this request.
            return tls.unwrap().recv(1)
        while chunk := tls.recv(65536):
            received += chunk
            if _is_whole(received):
                break
    return received


def _is_whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(found and length and len(body) >= int(length[1]))


def request(body: bytes, *headers: str, target: str = "/inbox") -> bytes:
    """The bytes of a POST with exactly these headers beside Host."""
    return "\r\n".join([f"POST {target} HTTP/1.1", f"Host: {HOST}", *headers, "", ""]).encode() + body


def good() -> bytes:
    return bad.text(bad.fresh())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: request(good(), AS_JSON, "Content-Length: 20"), NOT_JSON),
        (lambda: request(good(), AS_JSON, "Content-Length: 0"), NOT_JSON),
        (lambda: request(good(), AS_JSON), NOT_JSON),
        (lambda: request(good().ljust(bad.MAX_BYTES + 1), AS_JSON, f"Content-Length: {bad.MAX_BYTES + 1}"),
         TOO_LARGE),
        (lambda: request(b"14\r\n" + good()[:20] + b"\r\n0\r\n\r\n", AS_JSON, "Transfer-Encoding: chunked"),
         NOT_JSON),
        (lambda: _sized(gzip.compress(good()), AS_JSON), NOT_JSON),
        (lambda: _sized(gzip.compress(good()), AS_JSON, "Content-Encoding: gzip"), WRONG_CONTENT_ENCODING),
        (lambda: _sized(good()), WRONG_CONTENT_TYPE),
        (lambda: _sized(b"\xff\xfe\xfd", AS_JSON), NOT_JSON),
        (lambda: _sized(good(), AS_JSON, target="//inbox"), NO_SUCH_ROUTE),
        (lambda: _sized(good(), AS_JSON, target="/x/../inbox"), NO_SUCH_ROUTE),
    ],
    ids=[
        "Content-Length shorter than the body", "Content-Length 0", "no Content-Length", "over the limit",
        "chunks that end early", "gzip as JSON", "gzip", "no Content-Type", "no UTF-8", "//inbox", "dot segments",
    ],
)  # fmt: skip
def test_the_tls_edge_refuses_the_request_and_nothing_is_stored(
    stack: LocalStack, make: Callable[[], bytes], reason: Reason
) -> None:
    receiver = stack.deployments["receiver"]
    before = everything(receiver)
    head, _, body = exchange(stack, make()).partition(b"\r\n\r\n")
    assert int(head.split(b" ")[1]) == reason.status
    assert json.loads(body)["reason"] == str(reason)
    assert bad.MARK.encode() not in body
    assert everything(receiver) == before


def _sized(body: bytes, *headers: str, target: str = "/inbox") -> bytes:
    return request(body, *headers, f"Content-Length: {len(body)}", target=target)


def to_dm3(body: bytes, *headers: str) -> bytes:
    return request(body, *headers, target="/dm3")


def dm3_call() -> bytes:
    return bad.text(bad_dm3.call())


@pytest.mark.parametrize(
    "make",
    [
        lambda: to_dm3(dm3_call(), AS_JSON, "Content-Length: 20"),
        lambda: to_dm3(dm3_call(), AS_JSON, "Content-Length: 0"),
        lambda: to_dm3(dm3_call(), AS_JSON),
        lambda: to_dm3(b"14\r\n" + dm3_call()[:20] + b"\r\n0\r\n\r\n", AS_JSON, "Transfer-Encoding: chunked"),
        lambda: _sized(gzip.compress(dm3_call()), AS_JSON, target="/dm3"),
        lambda: _sized(b"\xff\xfe\xfd", AS_JSON, target="/rpc"),
    ],
    ids=[
        "Content-Length shorter",
        "Content-Length 0",
        "no Content-Length",
        "chunks that end early",
        "gzip",
        "no UTF-8",
    ],
)
def test_at_the_delivery_service_the_request_is_a_parse_error(stack: LocalStack, make: Callable[[], bytes]) -> None:
    receiver = stack.deployments["receiver"]
    before = everything(receiver)
    head, _, body = exchange(stack, make()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    error = json.loads(body)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32700, str(NOT_JSON))
    assert bad.MARK.encode() not in body
    assert everything(receiver) == before


@pytest.mark.parametrize("megabytes", [7, 50])
def test_a_body_too_large_for_lambda_is_refused_before_it(stack: LocalStack, megabytes: int) -> None:
    receiver = stack.deployments["receiver"]
    before = everything(receiver)
    answer = exchange(stack, _sized(dm3_call().ljust(megabytes << 20), AS_JSON, target="/dm3"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert everything(receiver) == before


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: x",), ("Content-Length: -1",), ("Content-Length: 10", "Content-Length: 11"),
        ("Transfer-Encoding: gzip",),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_lengths_never_reach_the_function(stack: LocalStack, headers: tuple[str, ...]) -> None:
    receiver = stack.deployments["receiver"]
    before = everything(receiver)
    answer = exchange(stack, request(good(), AS_JSON, *headers))
    assert re.match(rb"(HTTP/1.1 4\d\d |HTTP/1.1 501 |\Z)", answer)
    assert everything(receiver) == before


def test_a_body_that_ends_before_its_content_length_stores_nothing(stack: LocalStack) -> None:
    receiver = stack.deployments["receiver"]
    before = everything(receiver)
    data = good()
    assert exchange(stack, request(data, AS_JSON, f"Content-Length: {len(data) + 1}"), and_leave=True) == b""
    assert everything(receiver) == before


def test_the_same_message_without_a_fault_is_queued(stack: LocalStack) -> None:
    """So that what is refused above is refused for its fault, and not for something else."""
    answer = exchange(stack, _sized(good(), AS_JSON))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["Status"] == "Queued"
