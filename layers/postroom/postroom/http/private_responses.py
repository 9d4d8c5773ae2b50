"""Responses of the mailbox API, which no cache between us and the owner may store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from postroom.api.http import BYTES, JSON
from postroom.api.reasons import MESSAGE_UNREADABLE
from postroom.core.errors import NotNowError, TheirError
from postroom.http.response import HttpResponse, problem

_PRIVATE: Final = {"Cache-Control": "no-store"}
_ASKS_FOR_TOKEN: Final = {"WWW-Authenticate": 'Bearer realm="mailbox"'}


def respond(value: object, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A 200 with a value as JSON."""
    return respond_json(msgspec.json.encode(value), headers)


def respond_acknowledged(value: object, mailbox: str, claims: Sequence[str]) -> HttpResponse:
    """The same, after messages were acknowledged; the log line names them by their claims."""
    return replace(respond(value), about={"mailbox": mailbox, "claims": list(claims)} if claims else {})


def respond_json(
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    status: int = 200,
    unreadable: int = 0,
    wait_refused: bool = False,
    parts: tuple[HttpResponse, ...] = (),
) -> HttpResponse:
    """A 200 with a body that is JSON already, or another status with a part of it."""
    given = {**_PRIVATE, **(headers or {})}
    return HttpResponse(status, JSON, body, given, unreadable=unreadable, wait_refused=wait_refused, parts=parts)


def respond_bytes(body: bytes, headers: Mapping[str, str] | None = None, *, status: int = 200) -> HttpResponse:
    """The same, with bytes that are not JSON."""
    return HttpResponse(status, BYTES, body, {**_PRIVATE, **(headers or {})})


def not_modified(etag: str) -> HttpResponse:
    """A 304: the client has the content already."""
    return HttpResponse(304, JSON, b"", {**_PRIVATE, "ETag": etag})


def refuse(error: TheirError | NotNowError, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A refusal as a problem document."""
    challenge = _ASKS_FOR_TOKEN if error.reason.status == 401 else {}
    response = problem(error)
    return replace(
        response,
        headers={**_PRIVATE, **response.headers, **challenge, **(headers or {})},
        unreadable=int(error.reason == MESSAGE_UNREADABLE),
    )
