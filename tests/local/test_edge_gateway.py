"""The event and the answer, as the API Gateway Developer Guide describes payload format 2.0."""

import base64
import json
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.local.gateway import (
    MAX_PAYLOAD_BYTES,
    Api,
    GatewayRequest,
    GatewayRoute,
    build_event,
    failure,
    find_route,
    read_result,
)

API = Api("111111111111", "abc123", ())
ROUTE = GatewayRoute("POST /inbox", "function")


def event(body: bytes = b"", target: str = "/inbox", headers=(), **changes):
    values = {
        "method": "POST",
        "target": target,
        "headers": tuple(headers),
        "body": body,
        "host": "nlweb.receiver.example",
        "source_ip": "192.0.2.7",
        "protocol": "HTTP/1.1",
    }
    return build_event(GatewayRequest(**values | changes), API, ROUTE, {}, 1_700_000_000.25, "1234-abcd")


# --- routes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "key", "parameters"),
    [
        ("GET", "/pets/dog/1", "GET /pets/dog/1", {}),
        ("GET", "/pets/dog/2", "GET /pets/dog/{id}", {"id": "2"}),
        ("POST", "/pets/dog/1", "ANY /{proxy+}", {"proxy": "pets/dog/1"}),
        ("GET", "/pets/cat/1", "GET /pets/{proxy+}", {"proxy": "cat/1"}),
        ("GET", "/both", "GET /both", {}),
        ("PUT", "/both", "ANY /both", {}),
        ("PUT", "/both/", "ANY /{proxy+}", {"proxy": "both/"}),
        ("GET", "/", "$default", {}),
    ],
)
def test_the_most_specific_route_wins(method, path, key, parameters) -> None:
    keys = [
        "$default",
        "ANY /{proxy+}",
        "GET /pets/{proxy+}",
        "GET /pets/dog/{id}",
        "GET /pets/dog/1",
        "ANY /both",
        "GET /both",
    ]
    for routes in (keys, keys[::-1]):
        route, found = find_route([GatewayRoute(k, "f") for k in routes], method, path)
        assert (route.key, found) == (key, parameters)


@pytest.mark.parametrize("path", ["/", "/inbox/", "/INBOX", "/inbox/x", "/x"])
def test_without_a_matching_route_there_is_none(path) -> None:
    assert find_route([GatewayRoute("POST /inbox", "f")], "POST", path) is None
    assert find_route([GatewayRoute("POST /inbox", "f")], "GET", "/inbox") is None


# --- events -------------------------------------------------------------------------------------------------


def test_an_event_has_the_members_of_format_2() -> None:
    found = event(headers=[("host", "nlweb.receiver.example"), ("user-agent", "curl/8")])
    assert found["version"] == "2.0"
    assert found["routeKey"] == found["requestContext"]["routeKey"] == "POST /inbox"
    assert (found["rawPath"], found["rawQueryString"]) == ("/inbox", "")
    context = found["requestContext"]
    assert (context["accountId"], context["apiId"], context["stage"]) == ("111111111111", "abc123", "$default")
    assert (context["domainName"], context["domainPrefix"]) == ("nlweb.receiver.example", "nlweb")
    assert context["http"] == {
        "method": "POST",
        "path": "/inbox",
        "protocol": "HTTP/1.1",
        "sourceIp": "192.0.2.7",
        "userAgent": "curl/8",
    }
    assert (context["time"], context["timeEpoch"]) == ("14/Nov/2023:22:13:20 +0000", 1_700_000_000_250)
    assert not {"body", "cookies", "queryStringParameters", "pathParameters"} & found.keys()
    assert found["isBase64Encoded"] is False


def test_headers_of_one_name_are_joined_by_commas() -> None:
    assert event(headers=[("x-a", "1"), ("x-b", "2"), ("x-a", "3")])["headers"]["x-a"] == "1,3"


def test_the_gateways_headers_are_added_and_hop_by_hop_headers_removed() -> None:
    headers = event(b"xy", headers=[("transfer-encoding", "chunked"), ("connection", "close")])["headers"]
    assert not {"transfer-encoding", "connection"} & headers.keys()
    assert headers["content-length"] == "2"
    assert (headers["x-forwarded-proto"], headers["x-forwarded-port"]) == ("https", "443")
    assert headers["x-amzn-trace-id"].startswith("Root=1-6553f100-")


def test_x_forwarded_for_is_extended_by_the_client() -> None:
    assert event(headers=[("x-forwarded-for", "9.9.9.9")])["headers"]["x-forwarded-for"] == "9.9.9.9,192.0.2.7"


def test_cookies_are_a_list_of_their_own() -> None:
    found = event(headers=[("cookie", "a=1; b=2"), ("cookie", "c=3")])
    assert found["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in found["headers"]


def test_query_strings_are_kept_raw_and_given_decoded_and_joined() -> None:
    found = event(target="/inbox?a=1&a=2%20x&b=&c")
    assert found["rawQueryString"] == "a=1&a=2%20x&b=&c"
    assert found["queryStringParameters"] == {"a": "1,2 x", "b": "", "c": ""}


def test_the_raw_path_is_decoded() -> None:
    assert event(target="/a%20b/%C3%BC?x=%20")["rawPath"] == "/a b/ü"


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "text/plain", "application/xml"],
)
def test_text_is_given_as_text(kind) -> None:
    found = event("ü{}".encode(), headers=[("content-type", kind)])
    assert (found["body"], found["isBase64Encoded"]) == ("ü{}", False)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{}", []),
        (b"{}", [("content-type", "application/octet-stream")]),
        (b"a=1", [("content-type", "application/x-www-form-urlencoded")]),
        (b"{}", [("content-type", "application/problem+json")]),
        (b"\xff\xfe", [("content-type", "application/json")]),
        (b"\x1f\x8b\x08", [("content-type", "application/json"), ("content-encoding", "gzip")]),
        (b"{}", [("content-type", "application/json"), ("content-encoding", "identity")]),
    ],
)
def test_other_bodies_are_base64(body, headers) -> None:
    found = event(body, headers=headers)
    assert found["isBase64Encoded"] is True
    assert base64.b64decode(found["body"]) == body


@given(st.binary(min_size=1, max_size=200), st.sampled_from(["application/json", "text/html", "image/png", ""]))
def test_no_body_is_changed_on_its_way(body, kind) -> None:
    found = json.loads(json.dumps(event(body, headers=[("content-type", kind)])))
    text = found["body"]
    assert (base64.b64decode(text) if found["isBase64Encoded"] else text.encode()) == body


# --- answers ------------------------------------------------------------------------------------------------


def answer(result: object):
    return read_result(json.dumps(result).encode())


@pytest.mark.parametrize(
    ("result", "body"),
    [("hello", b"hello"), ({"a": [1, None]}, b'{"a": [1, null]}'), (None, b"null"), ([1], b"[1]")],
)
def test_without_a_status_code_the_answer_is_inferred(result, body) -> None:
    found = answer(result)
    assert (found.status, found.headers, found.body) == (200, (("content-type", "application/json"),), body)


def test_a_stated_answer_is_given_as_stated() -> None:
    found = answer(
        {"statusCode": 201, "headers": {"X-A": "1", "Content-Type": "text/html"}, "cookies": ["a", "b"], "body": "ü"}
    )
    assert (found.status, found.body) == (201, "ü".encode())
    assert found.headers == (("x-a", "1"), ("content-type", "text/html"), ("set-cookie", "a"), ("set-cookie", "b"))


def test_a_base64_body_is_decoded() -> None:
    assert answer({"statusCode": 200, "body": "AAH/", "isBase64Encoded": True}).body == b"\x00\x01\xff"


def test_the_gateway_frames_the_body_itself() -> None:
    found = answer(
        {"statusCode": 200, "headers": {"Content-Length": "999", "Transfer-Encoding": "chunked"}, "body": "x"}
    )
    assert {name for name, _ in found.headers} == {"content-type"}


def test_a_body_without_a_type_is_plain_text() -> None:
    assert answer({"statusCode": 200, "body": "x"}).headers == (("content-type", "text/plain;charset=UTF-8"),)


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "two hundred"},
        {"statusCode": True},
        {"statusCode": 99},
        {"statusCode": 600},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "body": "~", "isBase64Encoded": True},
        {"statusCode": 200, "headers": ["a"]},
    ],
)
def test_a_result_that_is_no_answer_is_an_internal_server_error(result) -> None:
    assert answer(result) == failure(HTTPStatus.INTERNAL_SERVER_ERROR)


def test_a_result_over_six_megabytes_is_an_internal_server_error() -> None:
    just = b'"' + b"x" * (MAX_PAYLOAD_BYTES - 2) + b'"'
    assert read_result(just).status == 200
    assert read_result(just[:-1] + b'x"').status == 500


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "Not Found"),
        (413, "Request Entity Too Large"),
        (429, "Too Many Requests"),
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
    ],
)
def test_the_gateway_s_own_answers_are_a_message_in_json(status, message) -> None:
    found = failure(HTTPStatus(status))
    assert (found.status, json.loads(found.body)) == (status, {"message": message})
