"""Answers of the mailbox API: plain values, independent of Lambda's events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from postroom.api.operations import BYTES, JSON
from postroom.core.errors import NotNowError, TheirError
from postroom.http.answers import problem
from postroom.reasons import Reason

_PRIVATE: Final = {"Cache-Control": "no-store"}
"""What is somebody's own is kept by nobody in between."""
_ASKS_FOR_TOKEN: Final = {"WWW-Authenticate": 'Bearer realm="mailbox"'}


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, media type, body, further headers; for metrics the `reason` of a refusal, and how many messages that
    belong to the answer are `unreadable`."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: Reason | None = None
    unreadable: int = 0


def said(value: object, headers: Mapping[str, str] | None = None) -> Reply:
    """A 200 with a value in JSON."""
    return said_as_json(msgspec.json.encode(value), headers)


def said_as_json(
    body: bytes, headers: Mapping[str, str] | None = None, *, status: int = 200, unreadable: int = 0
) -> Reply:
    """A 200 with what is JSON already, or another answer with a part of it."""
    return Reply(status, JSON, body, {**_PRIVATE, **(headers or {})}, unreadable=unreadable)


def said_as_bytes(body: bytes, headers: Mapping[str, str] | None = None, *, status: int = 200) -> Reply:
    """The same with what is nobody's text."""
    return Reply(status, BYTES, body, {**_PRIVATE, **(headers or {})})


def not_modified(etag: str) -> Reply:
    """A 304: what was asked for is there already."""
    return Reply(304, JSON, b"", {**_PRIVATE, "ETag": etag})


def refused(error: TheirError | NotNowError, headers: Mapping[str, str] | None = None) -> Reply:
    """A refusal as a problem document."""
    answer = problem(error)
    challenge = _ASKS_FOR_TOKEN if error.reason.status == 401 else {}
    said_too = {**_PRIVATE, **answer.headers, **challenge, **(headers or {})}
    unreadable = int(error.reason is Reason.MESSAGE_UNREADABLE)
    return Reply(answer.status, answer.content_type, answer.body.encode(), said_too, error.reason, unreadable)
