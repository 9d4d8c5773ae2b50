"""Messages of a WebSocket as requests, and responses as answers, as API Gateway and Lambda exchange them."""

import base64
import json

import pytest

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http.response import json_response, problem
from postroom.local.socket_gateway import (
    MAX_MESSAGE_BYTES,
    SocketApi,
    SocketConnection,
    build_message_event,
    read_socket_result,
)
from postroom.runtime.socket_events import MAX_SOCKET_BYTES, SocketEvent, read_socket_request, write_socket_answer

API = SocketApi("111111111111", "abc123", "dcp", {"$default": "function"})
CONNECTION = SocketConnection("L0SM9cOFvHcCIhw=", "abc123.execute-api.example", "192.0.2.7", 1_700_000_000.0)


def event(message: str | bytes) -> SocketEvent:
    made: SocketEvent = build_message_event(API, CONNECTION, message, 1_700_000_001.0, "1234-abcd")  # type: ignore[assignment]
    return made


@pytest.mark.parametrize(("message", "body"), [("grüße", "grüße".encode()), (b"\xff\x00", b"\xff\x00")])
def test_a_message_is_a_request_to_dcp(message: str | bytes, body: bytes) -> None:
    request = read_socket_request(event(message))
    assert (request.method, request.path, request.body) == ("POST", "/dcp", body)
    assert (request.host, request.source) == ("abc123.execute-api.example", "192.0.2.7")
    assert request.headers == {"content-type": "application/json"}


@pytest.mark.parametrize(("body", "is_base64"), [("no base64!", True), ("\ud800", False)])
def test_a_body_that_cannot_be_read_is_none_that_a_parser_accepts(body: str, *, is_base64: bool) -> None:
    made = event("")
    made["body"], made["isBase64Encoded"] = body, is_base64
    with pytest.raises(UnicodeDecodeError):
        read_socket_request(made).body.decode()


@pytest.mark.parametrize("size", [0, 1000, 100_000, MAX_MESSAGE_BYTES])
def test_an_answer_with_ids_as_long_as_its_message_fits_into_one_of_api_gateway(size: int) -> None:
    request = read_socket_request(event("x" * size))
    assert request.answer_bytes is not None
    assert 0 <= request.answer_bytes <= max(0, MAX_SOCKET_BYTES - size - 8000)
    assert MAX_SOCKET_BYTES == MAX_MESSAGE_BYTES


def test_a_response_is_sent_as_its_body() -> None:
    response = json_response({"Say": "grüße"})
    assert read_socket_result(json.dumps(write_socket_answer(response)).encode()) == '{"Say":"grüße"}'


def test_a_refusal_is_sent_as_its_problem_document() -> None:
    result = write_socket_answer(problem(NotNowError(STORE_UNAVAILABLE)))
    assert result["statusCode"] == 200, "API Gateway may not send the body of another one"
    body = json.loads(result["body"])
    assert (body["status"], body["reason"]) == (503, "StoreUnavailable")


def test_binary_messages_are_read_from_base64() -> None:
    made = event(b"{}")
    assert (made["isBase64Encoded"], base64.b64decode(made["body"])) == (True, b"{}")
    assert read_socket_request(made).body == b"{}"
