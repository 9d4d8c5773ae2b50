"""Messages and answers as API Gateway and Lambda exchange them for a WebSocket (payload 1.0)."""

from typing import Final, TypedDict

from postroom.api.http import DCP_PATH, JSON
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.runtime.http_events import read_event_body

MAX_SOCKET_BYTES: Final = 128 * 1024
"""Of a message and of its answer (AWS, API Gateway quotas: WebSocket message payload)."""
_AROUND_BYTES: Final = 8192
"""Of an answer, around its results: its signature, and what stands around the result of each of ten requests."""


class Identity(TypedDict):
    """The part `requestContext.identity` of an event."""

    sourceIp: str


class SocketContext(TypedDict):
    """The part `requestContext` of an event."""

    connectionId: str
    domainName: str
    identity: Identity


class SocketEvent(TypedDict, total=False):
    """The members that are read of the event for a message."""

    body: str
    isBase64Encoded: bool
    requestContext: SocketContext


class SocketResult(TypedDict):
    """The result whose body API Gateway sends as the answer; a refusal has its status in the body."""

    statusCode: int
    body: str


def read_socket_request(event: SocketEvent) -> HttpRequest:
    """The request that a message is: the same as if it were posted, but for the size of the answer."""
    context = event["requestContext"]
    body = read_event_body(event.get("body", ""), is_base64=event.get("isBase64Encoded", False))
    return HttpRequest(
        method="POST",
        path=DCP_PATH,
        host=context["domainName"],
        query={},
        headers={"content-type": JSON},
        body=body,
        source=context["identity"]["sourceIp"],
        connection=context["connectionId"],
        # The answer repeats the ids of the requests.
        answer_bytes=max(0, MAX_SOCKET_BYTES - _AROUND_BYTES - len(body)),
    )


def write_socket_answer(response: HttpResponse) -> SocketResult:
    """The function's result for a response. All that is sent is JSON: a signed answer, or a problem document."""
    return {"statusCode": 200, "body": response.body.decode()}
