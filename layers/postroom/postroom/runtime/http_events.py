"""Requests and responses as API Gateway and Lambda exchange them (HTTP API, payload 2.0)."""

import base64
from http import HTTPStatus
from typing import Final, TypedDict

from postroom.api.http import BYTES
from postroom.http.request import HttpRequest
from postroom.http.response import MAX_ANSWER_BYTES, HttpResponse

_UNREADABLE: Final = b"\xff"


class Http(TypedDict):
    """The part `requestContext.http` of an event."""

    method: str
    sourceIp: str


class RequestContext(TypedDict):
    """The part `requestContext` of an event."""

    http: Http
    domainName: str


class HttpEvent(TypedDict, total=False):
    """The members of an HTTP API event that are read."""

    rawPath: str
    headers: dict[str, str]
    queryStringParameters: dict[str, str]
    body: str
    isBase64Encoded: bool
    requestContext: RequestContext


class HttpResult(TypedDict):
    """The result that API Gateway turns into an HTTP response."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


def read_request(event: HttpEvent) -> HttpRequest:
    """The request of an event."""
    context = event["requestContext"]
    return HttpRequest(
        method=context["http"]["method"],
        path=event.get("rawPath", ""),
        host=context["domainName"],
        query=event.get("queryStringParameters", {}),
        # API Gateway writes their names in lower case, other front ends may not.
        headers={name.lower(): value for name, value in event.get("headers", {}).items()},
        body=read_event_body(event.get("body", ""), is_base64=event.get("isBase64Encoded", False)),
        source=context["http"]["sourceIp"],
    )


def write_response(response: HttpResponse) -> HttpResult:
    """The function's result for a response.

    To a HEAD, too, it has the body: API Gateway sends its length, and not the body itself (RFC 9110 §9.3.2).
    """
    body = response.body
    # As text in JSON it may become three times as long, and Lambda returns 6 MB; a part may begin within a character.
    encoded = (
        len(body) > MAX_ANSWER_BYTES or response.status == HTTPStatus.PARTIAL_CONTENT or response.content_type == BYTES
    )
    return {
        "statusCode": response.status,
        "headers": {"Content-Type": response.content_type, **response.headers},
        "body": base64.b64encode(body).decode() if encoded else body.decode(),
        "isBase64Encoded": encoded,
    }


def read_event_body(body: str, *, is_base64: bool) -> bytes:
    """The body of an event; bytes that no parser accepts, if it is not base64, or not Unicode."""
    try:
        return base64.b64decode(body, validate=True) if is_base64 else body.encode()
    except ValueError:
        return _UNREADABLE
