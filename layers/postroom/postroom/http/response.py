"""Responses: plain values, independent of Lambda's events."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind, Reason

RETRY_AFTER_SECONDS: Final = 5
MAX_ANSWER_BYTES: Final = 1_900_000
"""Of a body in which something stands as it came: ids of calls, a handler's reply. As text within ASCII JSON it is
three times as long at most, and Lambda returns 6 MB."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status, media type, body, further headers.

    For logs and metrics: `reason` of a refusal; `about` a queued message: what its line in the ledger says;
    `unreadable`: how many messages that belong to the answer cannot be read; `parts`: what became of each call of a
    body that holds several, in that same way.
    """

    status: int
    content_type: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: Reason | None = None
    about: Mapping[str, str | int] = field(default_factory=dict)
    unreadable: int = 0
    parts: "tuple[HttpResponse, ...]" = ()


def json_response(value: JsonValue, about: Mapping[str, str | int] | None = None) -> HttpResponse:
    """A 200 with a JSON body; `about` as of HttpResponse."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpResponse(200, "application/json", body, about=about or {})


def text_response(text: str, content_type: str = "text/plain; charset=utf-8") -> HttpResponse:
    """A 200 with a text."""
    return HttpResponse(200, content_type, text.encode())


def problem(error: TheirError | NotNowError, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A refusal as a problem document (RFC 9457), `reason` from our vocabulary.

    Of the sender's own text it repeats at most the DNS names that were looked up for a synchronous request.
    """
    reason = error.reason
    body: dict[str, JsonValue] = {
        "title": HTTPStatus(reason.status).phrase,
        "status": reason.status,
        "detail": f"{reason.sentence} ({error.detail})" if error.detail else reason.sentence,
        "reason": str(reason),
    }
    wait = {"Retry-After": str(RETRY_AFTER_SECONDS)} if reason.kind is Kind.RETRY else {}
    return HttpResponse(
        reason.status,
        "application/problem+json",
        json.dumps(body, ensure_ascii=False).encode(),
        {**wait, **(headers or {})},
        reason,
    )
