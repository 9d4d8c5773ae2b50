"""The events and answers of WebSocket APIs, as the API Gateway Developer Guide describes them."""

import base64
import json

import pytest

from postroom.local.socket_gateway import (
    MAX_MESSAGE_BYTES,
    SocketApi,
    SocketConnection,
    build_message_event,
    describe_connection,
    find_connection,
    is_too_long,
    read_socket_result,
    write_failure,
)

API = SocketApi("111111111111", "abc123", "live", {"$default": "function"})
CONNECTION = SocketConnection("L0SM9cOFvHcCIhw=", "abc123.execute-api.example", "192.0.2.7", 1_700_000_000.25)


def test_an_event_has_the_members_of_a_message() -> None:
    found = build_message_event(API, CONNECTION, "hello", 1_700_000_001.5, "1234-abcd")
    assert (found["body"], found["isBase64Encoded"]) == ("hello", False)
    context = found["requestContext"]
    assert (context["routeKey"], context["eventType"], context["messageDirection"]) == ("$default", "MESSAGE", "IN")
    assert (context["connectionId"], context["apiId"], context["stage"]) == ("L0SM9cOFvHcCIhw=", "abc123", "live")
    assert (context["domainName"], context["identity"]) == ("abc123.execute-api.example", {"sourceIp": "192.0.2.7"})
    assert (context["connectedAt"], context["requestTimeEpoch"]) == (1_700_000_000_250, 1_700_000_001_500)
    assert context["requestTime"] == "14/Nov/2023:22:13:21 +0000"


def test_bytes_are_base64() -> None:
    found = build_message_event(API, CONNECTION, b"\xff\x00", 0.0, "1234-abcd")
    assert (base64.b64decode(found["body"]), found["isBase64Encoded"]) == (b"\xff\x00", True)


@pytest.mark.parametrize(
    ("message", "too_long"),
    [
        ("x" * MAX_MESSAGE_BYTES, False), ("x" * MAX_MESSAGE_BYTES + "x", True), ("é" * MAX_MESSAGE_BYTES, True),
        (bytes(MAX_MESSAGE_BYTES + 1), True),
    ],
    ids=["128 kB", "more", "characters of two bytes", "bytes"],
)  # fmt: skip
def test_a_message_has_at_most_128_kb(message: str | bytes, *, too_long: bool) -> None:
    assert is_too_long(message) is too_long


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        ({"statusCode": 200, "body": "grüße"}, "grüße"),
        ({"statusCode": 503, "body": "not now"}, "not now"),
        ({"statusCode": 200}, None),
        ({"statusCode": 200, "body": "x" * MAX_MESSAGE_BYTES}, "x" * MAX_MESSAGE_BYTES),
    ],
)
def test_the_body_of_a_result_is_sent_whatever_its_status(result: dict, sent: str | None) -> None:
    assert read_socket_result(json.dumps(result).encode()) == sent


@pytest.mark.parametrize(
    "result",
    [
        "text", None, [], {"body": "no status"}, {"statusCode": 200, "body": 7},
        {"statusCode": 200, "body": "x" * (MAX_MESSAGE_BYTES + 1)},
        {"statusCode": 200, "body": "é" * MAX_MESSAGE_BYTES},
    ],
)  # fmt: skip
def test_an_invalid_result_is_refused(result: object) -> None:
    with pytest.raises(ValueError, match=r"statusCode|body"):
        read_socket_result(json.dumps(result).encode())


def test_a_failure_names_connection_and_request_and_nothing_of_ours() -> None:
    assert json.loads(write_failure("L0SM=", "1234")) == {
        "message": "Internal server error",
        "connectionId": "L0SM=",
        "requestId": "1234",
    }


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/live/@connections/L0SM9cOFvHcCIhw%3D", "L0SM9cOFvHcCIhw="),
        ("/live/@connections/a?b=c", "a"),
        ("/live/@connections/", None),
        ("/live/@connections", None),
        ("/dead/@connections/a", None),
        ("/live/a", None),
        ("/@connections/a", None),
    ],
)
def test_a_backend_names_a_connection_by_its_path(target: str, name: str | None) -> None:
    assert find_connection(target, "live") == name


def test_a_backend_is_told_since_when_a_connection_is_open_and_from_where() -> None:
    assert json.loads(describe_connection(CONNECTION)) == {
        "connectedAt": "2023-11-14T22:13:20Z",
        "identity": {"sourceIp": "192.0.2.7"},
    }
