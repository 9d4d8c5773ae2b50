"""API Gateway's part (WebSocket API, payload format 1.0) between a WebSocket and a function. No I/O.

Source: AWS, API Gateway Developer Guide, "Working with WebSocket APIs" and "Quotas for configuring and running a
WebSocket API". Where these are silent:

| question | here | why |
|---|---|---|
| is the status of a result looked at | no: its body is sent | our choice: nothing may rely on it |
| binary messages | base64 | as bodies of HTTP APIs |
| in which order are the messages of a connection answered | in any | each is a run: nothing may rely on the order |
| another path than that of the stage | 403 | our choice |
| a frame of more than 32 KB | accepted | Hypercorn hands over whole messages; AWS closes with 1009 |
| pings of WebSockets (RFC 6455 §5.5.2) | do not count as use | our choice: nothing may rely on them |
| who may send to a connection | whoever signs as AWS does; nobody looks at the signature | roles are not known here |

Not implemented: functions of routes other than `$default`, mapping templates that are no fixed text, authorizers,
throttling, API keys.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote

MAX_MESSAGE_BYTES = 128 * 1024
"""Of a message, and of an answer."""
DEFAULT_ROUTE = "$default"
ROUTE_SELECTION: Final = "$request.body.action"
"""The expression by which a message selects its route; the only one that is known here."""
_SELECTING_MEMBER: Final = "action"


@dataclass(frozen=True)
class SocketLimits:
    """How long a WebSocket may be silent, and how long it lasts, in seconds."""

    idle_seconds: float = 600.0
    seconds: float = 7200.0


@dataclass(frozen=True)
class SocketApi:
    """A deployed WebSocket API. `routes`: functions (name or ARN) by route key; `answers`: the texts that other routes
    answer by themselves."""

    account: str
    api_id: str
    stage: str
    routes: Mapping[str, str]
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SocketConnection:
    """A WebSocket that is open. `connected_at`: seconds since the epoch."""

    id: str
    host: str
    source_ip: str
    connected_at: float


def is_too_long(message: str | bytes) -> bool:
    """Whether the WebSocket is closed for this message."""
    return len(message.encode() if isinstance(message, str) else message) > MAX_MESSAGE_BYTES


def find_answer(api: SocketApi, message: str | bytes) -> str | None:
    """Return the text by which the API answers a message itself; None: a function does."""
    try:
        body = json.loads(message)
    except (ValueError, RecursionError):
        return None
    key = body.get(_SELECTING_MEMBER) if isinstance(body, dict) else None
    return api.answers.get(key) if isinstance(key, str) else None


def build_message_event(
    api: SocketApi, connection: SocketConnection, message: str | bytes, now: float, request_id: str
) -> dict[str, Any]:
    """Return the event (payload format 1.0) for a message; `now` in epoch seconds."""
    moment = datetime.fromtimestamp(now, UTC)
    return {
        "requestContext": {
            "routeKey": DEFAULT_ROUTE,
            "messageId": f"{request_id[:15]}=",
            "eventType": "MESSAGE",
            "extendedRequestId": request_id,
            "requestTime": moment.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "messageDirection": "IN",
            "stage": api.stage,
            "connectedAt": int(connection.connected_at * 1000),
            "requestTimeEpoch": int(now * 1000),
            "identity": {"sourceIp": connection.source_ip},
            "requestId": request_id,
            "domainName": connection.host,
            "connectionId": connection.id,
            "apiId": api.api_id,
        },
        "body": message if isinstance(message, str) else base64.b64encode(message).decode(),
        "isBase64Encoded": not isinstance(message, str),
    }


def find_connection(target: str, stage: str) -> str | None:
    """Return the id of the connection that a request of a backend is about, by its path; None: it is about none."""
    path, _, _ = target.partition("?")
    base, _, name = path.rpartition("/")
    return unquote(name) if base == f"/{stage}/@connections" and name else None


def describe_connection(connection: SocketConnection) -> bytes:
    """Return the JSON that tells a backend of a connection."""
    at = datetime.fromtimestamp(connection.connected_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps({"connectedAt": at, "identity": {"sourceIp": connection.source_ip}}).encode()


def read_socket_result(payload: bytes) -> str | None:
    """Return what is sent for a function's result (JSON); None: nothing. Raises ValueError for an invalid result."""
    result = json.loads(payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        raise ValueError("the result has no statusCode")
    body = result.get("body")
    if body is None:
        return None
    if not isinstance(body, str) or len(body.encode()) > MAX_MESSAGE_BYTES:
        raise ValueError("the body is no text, or too long")
    return body


def write_failure(connection_id: str, request_id: str) -> str:
    """Return the answer of API Gateway itself if the function gave none."""
    return json.dumps({"message": "Internal server error", "connectionId": connection_id, "requestId": request_id})
