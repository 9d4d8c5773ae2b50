"""The shape of API Gateway's requests in Lambda (HTTP API, payload 2.0), and of their answers."""

from typing import TypedDict


class Http(TypedDict):
    """The part `requestContext.http` of an event."""

    method: str
    sourceIp: str


class RequestContext(TypedDict):
    """The part `requestContext` of an event."""

    http: Http
    domainName: str


class HttpEvent(TypedDict, total=False):
    """What is read of an HTTP API event."""

    rawPath: str
    headers: dict[str, str]
    queryStringParameters: dict[str, str]
    body: str
    isBase64Encoded: bool
    requestContext: RequestContext


class HttpResult(TypedDict):
    """What API Gateway makes an HTTP response of."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


def headers_of(event: HttpEvent) -> dict[str, str]:
    """The headers, their names in lower case: API Gateway makes them so, other front doors may not."""
    return {name.lower(): value for name, value in event.get("headers", {}).items()}
