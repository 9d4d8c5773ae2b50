"""Responses: plain values, independent of Lambda's events."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import WRONG_CONTENT_ENCODING

RETRY_AFTER_SECONDS: Final = 5
MAX_ANSWER_BYTES: Final = 1_900_000
"""The largest body that repeats something of the request: ids of calls, a handler's reply.

As text within ASCII JSON it may become three times as long, and Lambda returns at most 6 MB.
"""


_CHALLENGE: Final = {"WWW-Authenticate": "NLWeb"}
"""A 401 must have a challenge (RFC 9110 §15.5.2): messages are signed as NLWeb says."""

# Made once: with other options than its own, json.dumps makes an encoder for each call.
_write_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status, media type, body, further headers.

    For logs and metrics: `reason` of a refusal; `about`: the message that came, or those that were acknowledged;
    `unreadable`: the number of messages of the answer that cannot be read; `wait_refused`: too many requests wait for
    messages already; `ends_connection`: of a message after which the connection that it came by is closed, where there
    is one; `parts`: the result of each call of a batch, in the same form.
    """

    status: int
    content_type: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: Reason | None = None
    about: Mapping[str, str | int | list[str]] = field(default_factory=dict)
    unreadable: int = 0
    wait_refused: bool = False
    ends_connection: bool = False
    parts: "tuple[HttpResponse, ...]" = ()


def json_response(value: JsonValue, about: Mapping[str, str | int] | None = None) -> HttpResponse:
    """A 200 with a JSON body; `about` as in HttpResponse."""
    return HttpResponse(200, "application/json", _write_json(value).encode(), about=about or {})


def text_response(text: str, content_type: str = "text/plain; charset=utf-8") -> HttpResponse:
    """A 200 with a text."""
    return HttpResponse(200, content_type, text.encode())


def problem(error: TheirError | NotNowError, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A refusal as a problem document (RFC 9457), with a `reason` of our own list.

    The only sender's text in it are DNS names that were looked up for a synchronous request.
    """
    reason = error.reason
    body: dict[str, JsonValue] = {
        "title": HTTPStatus(reason.status).phrase,
        "status": reason.status,
        "detail": f"{reason.sentence} ({error.detail})" if error.detail else reason.sentence,
        "reason": str(reason),
    }
    coding = {"Accept-Encoding": "identity"} if reason == WRONG_CONTENT_ENCODING else {}  # RFC 9110 §15.5.16
    challenge = _CHALLENGE if reason.status == HTTPStatus.UNAUTHORIZED else {}
    wait = {"Retry-After": str(RETRY_AFTER_SECONDS)} if reason.kind is Kind.RETRY else {}
    return HttpResponse(
        reason.status,
        "application/problem+json",
        json.dumps(body, ensure_ascii=False).encode(),
        {**wait, **challenge, **coding, **(headers or {})},
        reason,
    )
