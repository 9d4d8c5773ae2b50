"""API Gateway's part (HTTP API, payload format 2.0) between HTTP and a function. No I/O.

Source: AWS, API Gateway Developer Guide, "Create AWS Lambda proxy integrations for HTTP APIs", "Create routes for HTTP
APIs" and "Quotas". Where these are silent, it follows what others saw of the live service:

| question | here | seen |
|---|---|---|
| which bodies are text, not base64 | text/* and application/json, xml, javascript | ministackorg/ministack pull 766 |
| a body without a Content-Type | base64 | the same |
| is `rawPath` decoded | yes | middleapi/standard-server pull 93 |
| a text type with bytes that are not UTF-8, or with a Content-Encoding | base64 | our choice: nothing may be lost |
| is Cookie also in `headers` | no | our choice, as adapters expect it |
| function throttled | 429 | our choice; 503 has been reported as well |
| function busy for as long as `patience.py` has it, or unreachable | 503 | cortexlabs/cortex issue 1225 |
| request that is too large for Lambda (6 MB as an event) but not for the API (10 MB) | 413 | our choice |
| a client that falls silent within a request | 408 | our choice |

Not implemented: stages other than `$default`, CORS, authorizers, throttling, mutual TLS, the limit on header size.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

MAX_REQUEST_BYTES = 10 * 1024 * 1024
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
"""The largest event and result of Lambda, as JSON."""

_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/javascript"})


@dataclass(frozen=True)
class GatewayRequest:
    """An HTTP request. `target` is path and query as sent; header names are lower-case, in order of arrival."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    host: str
    source_ip: str
    protocol: str


@dataclass(frozen=True)
class GatewayResponse:
    """An HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class GatewayRoute:
    """A route key (`POST /inbox`, `ANY /x/{proxy+}`, `$default`) and its function (name or ARN)."""

    key: str
    function: str


@dataclass(frozen=True)
class Api:
    """A deployed HTTP API."""

    account: str
    api_id: str
    routes: tuple[GatewayRoute, ...]


def find_route(routes: Iterable[GatewayRoute], method: str, path: str) -> tuple[GatewayRoute, dict[str, str]] | None:
    """Return the route of a request and its path parameters, or None (404).

    The most specific route is chosen: full matches before those with a greedy variable, these before `$default`; a
    named method before ANY; a literal segment before a variable.
    """
    best: tuple[tuple[bool, tuple[bool, ...], bool], GatewayRoute, dict[str, str]] | None = None
    default = None
    for route in routes:
        if route.key == "$default":
            default = route
            continue
        verb, _, pattern = route.key.partition(" ")
        parameters = _match(pattern, path) if verb in (method, "ANY") else None
        if parameters is None:
            continue
        segments = tuple("{" in segment for segment in pattern.split("/"))
        rank = (pattern.endswith("+}"), segments, verb == "ANY")
        if best is None or rank < best[0]:
            best = (rank, route, parameters)
    if best:
        return best[1], best[2]
    return (default, {}) if default else None


def _match(pattern: str, path: str) -> dict[str, str] | None:
    wanted, given = pattern.split("/"), path.split("/")
    parameters: dict[str, str] = {}
    for number, segment in enumerate(wanted):
        if segment.startswith("{") and segment.endswith("+}"):
            rest = "/".join(given[number:])
            return parameters | {segment[1:-2]: rest} if rest else None
        if number >= len(given):
            return None
        if segment.startswith("{") and segment.endswith("}"):
            if not given[number]:
                return None
            parameters[segment[1:-1]] = given[number]
        elif segment != given[number]:
            return None
    return parameters if len(wanted) == len(given) else None


def split_target(target: str) -> tuple[str, str]:
    """Return the decoded path and the query string as sent."""
    path, _, query = target.partition("?")
    return unquote(path), query


def build_event(
    request: GatewayRequest, api: Api, route: GatewayRoute, parameters: Mapping[str, str], now: float, request_id: str
) -> dict[str, Any]:
    """Return the event (payload format 2.0) for the function; `now` in epoch seconds."""
    path, query = split_target(request.target)
    headers, cookies = _event_headers(request, now, request_id)
    moment = datetime.fromtimestamp(now, UTC)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": api.account,
            "apiId": api.api_id,
            "domainName": request.host,
            "domainPrefix": request.host.partition(".")[0],
            "http": {
                "method": request.method,
                "path": path,
                "protocol": request.protocol,
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": route.key,
            "stage": "$default",
            "time": moment.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = _joined(parse_qsl(query, keep_blank_values=True))
    if parameters:
        event["pathParameters"] = dict(parameters)
    if request.body:
        text = _as_text(request.body, headers)
        event["isBase64Encoded"] = text is None
        event["body"] = base64.b64encode(request.body).decode() if text is None else text
    return event


def _event_headers(request: GatewayRequest, now: float, request_id: str) -> tuple[dict[str, str], list[str]]:
    kept: list[tuple[str, str]] = []
    cookies: list[str] = []
    for name, value in request.headers:
        if name == "cookie":
            cookies += [cookie.strip() for cookie in value.split(";") if cookie.strip()]
        elif name not in _HOP_BY_HOP and name != "content-length":
            kept.append((name, value))
    kept += [("x-forwarded-for", request.source_ip)]
    headers = _joined(kept)
    headers["content-length"] = str(len(request.body))
    headers["x-forwarded-port"] = "443"
    headers["x-forwarded-proto"] = "https"
    headers["x-amzn-trace-id"] = f"Root=1-{int(now):08x}-{request_id.replace('-', '')[:24]}"
    return headers, cookies


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _as_text(body: bytes, headers: Mapping[str, str]) -> str | None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if "content-encoding" in headers or not (kind.startswith("text/") or kind in _TEXT_TYPES):
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def read_result(payload: bytes) -> GatewayResponse:
    """Return the HTTP response for a function's result (JSON); an invalid result is a 500.

    An object with `statusCode` describes the response. For any other result the response is 200, application/json, with
    a string unchanged and everything else as JSON.
    """
    if len(payload) > MAX_PAYLOAD_BYTES:
        return failure(HTTPStatus.INTERNAL_SERVER_ERROR)
    result = json.loads(payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return GatewayResponse(HTTPStatus.OK, (("content-type", "application/json"),), text.encode())
    try:
        return _stated_answer(result)
    except (ValueError, TypeError, AttributeError, binascii.Error):
        return failure(HTTPStatus.INTERNAL_SERVER_ERROR)


def _stated_answer(result: Mapping[str, Any]) -> GatewayResponse:
    status = result["statusCode"]
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        raise ValueError(status)
    headers = {str(name).lower(): str(value) for name, value in (result.get("headers") or {}).items()}
    headers = {n: v for n, v in headers.items() if n not in _HOP_BY_HOP and n != "content-length"}
    text = result.get("body") or ""
    if not isinstance(text, str):
        raise TypeError(text)
    body = base64.b64decode(text, validate=True) if result.get("isBase64Encoded") else text.encode()
    headers.setdefault("content-type", "text/plain;charset=UTF-8")
    cookies = [("set-cookie", str(cookie)) for cookie in result.get("cookies") or []]
    return GatewayResponse(status, (*headers.items(), *cookies), body)


def failure(status: HTTPStatus) -> GatewayResponse:
    """Return a response of API Gateway itself: `{"message": ...}`."""
    message = _MESSAGES.get(status, status.phrase)
    return GatewayResponse(status, (("content-type", "application/json"),), json.dumps({"message": message}).encode())


_MESSAGES = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Request Entity Too Large"}
