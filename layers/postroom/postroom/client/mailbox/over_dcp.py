"""The requests of a mailbox's owner as operations of DCP, and their results as responses. Sans-I/O."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from postroom.api.dcp import OWNER_OPERATIONS
from postroom.api.http import ID, KEY, NAME
from postroom.client.dcp.errors import DcpError, MessageRefusedError, NotConnectedError, RequestFailedError
from postroom.client.mailbox.containers import DCP_PART_BYTES
from postroom.client.mailbox.errors import UnexpectedAnswerError
from postroom.client.mailbox.exchange import Answer, MailboxRequest, MailboxResponse, NoAnswer
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.reasons import reason_of

_WAIT: Final = "wait"
_REST_OF: Final = re.compile(r"bytes=([0-9]{1,18})-", re.ASCII)
_PASSING: Final = (ErrorCode.EEXPIRED, ErrorCode.ETIMETRAVEL)
"""The clock of the guardian is known by its answer to the request, and another one counts."""
_PATHS: Final = {
    name: (each.method, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(each.path))))
    for name, each in OWNER_OPERATIONS.items()
}


@dataclass(frozen=True, slots=True)
class OperationCall:
    """An operation, and its data."""

    operation: str
    data: dict[str, JsonValue]

    @property
    def mailbox(self) -> JsonValue:
        """Its name."""
        return self.data["mailbox"]

    def waiting(self, seconds: float) -> "OperationCall":
        """The same operation with another wait; 0: none."""
        query = self.data.get("query")
        given = {name: value for name, value in query.items() if name != _WAIT} if isinstance(query, dict) else {}
        if seconds:
            given[_WAIT] = str(seconds)
        rest = {name: value for name, value in self.data.items() if name != "query"}
        return OperationCall(self.operation, {**rest, "query": given} if given else rest)


def operation_of(request: MailboxRequest) -> OperationCall | None:
    """The operation that a request means; None: it is not one of an owner who is signed in."""
    for name, (method, path) in _PATHS.items():
        found = path.fullmatch(request.path) if method == request.method else None
        if found:
            return OperationCall(name, _data_of(request, name, found.groupdict()))
    return None


def response_to(call: OperationCall, result: JsonValue) -> Answer:
    """The response with the result of an operation."""
    if not isinstance(result, dict):
        return NoAnswer("The host's answer is not that of a mailbox.")
    names = {"etag": "etag", "content_range": "content-range", "retry_after": "retry-after"}
    headers = {header: str(result[name]) for name, header in names.items() if name in result}
    body, status = result.get("body"), 206 if "content-range" in headers else 200
    if body is None:
        return MailboxResponse(status, headers, b"")
    if not OWNER_OPERATIONS[call.operation].ranged:
        return MailboxResponse(status, headers, json.dumps(body).encode())
    try:
        return MailboxResponse(status, headers, b64decode(str(body), validate=True))
    except ValueError:
        return NoAnswer("The host's answer is not that of a mailbox.")


def ends_wait(page: JsonValue) -> bool:
    """Whether the result of listing messages has any, names some that cannot be read, or has a next page."""
    body = page.get("body") if isinstance(page, dict) else None
    return isinstance(body, dict) and bool(body.get("messages") or body.get("unreadable") or body.get("more"))


def failure_of(error: DcpError) -> Answer:
    """The answer that says the same as an error: no answer, where the request may be sent again.

    Raises UnexpectedAnswerError if the host has no guardian.
    """
    if isinstance(error, NotConnectedError) and isinstance(error.__cause__, MessageRefusedError):
        error = error.__cause__
    match error:
        case MessageRefusedError(reason=""):
            raise UnexpectedAnswerError(f"{error}")
        case RequestFailedError(code=code) if code in _PASSING:
            return NoAnswer(str(error))
        case RequestFailedError():
            return _problem(error.code or "", error.error.message)
        case NotConnectedError(code=None):
            return NoAnswer(str(error))
        case NotConnectedError(code=ErrorCode.EADDRCHANGE):
            return NoAnswer(str(error), untrusted=True)
        case NotConnectedError():
            return _problem(error.code or "", error.detail)
        case MessageRefusedError():
            return _problem(error.reason, str(error))
        case _:
            return NoAnswer(str(error))


def _problem(code: str, detail: str) -> MailboxResponse:
    """A refusal as a problem document."""
    try:
        status = reason_of(code).status
    except ValueError:
        status = 0
    # Reasons that are told under a signature have the status 200.
    status = status if status >= 400 else 400
    body = {"title": "", "status": status, "detail": detail, "reason": code}
    return MailboxResponse(status, {}, json.dumps(body).encode())


def _data_of(request: MailboxRequest, operation: str, variables: Mapping[str, str]) -> dict[str, JsonValue]:
    named = {f"{{{name}}}": unquote(value) for name, value in variables.items()}
    headers = {name.lower(): value for name, value in request.headers.items()}
    data: dict[str, JsonValue] = {"mailbox": named[NAME]}
    if name := next((each for each in (ID, KEY) if each in named), ""):
        data["id"] = named[name]
    if request.query:
        data["query"] = dict(request.query)
    if request.body:
        as_bytes = OWNER_OPERATIONS[operation].body is bytes
        data["body"] = b64encode(request.body).decode() if as_bytes else json.loads(request.body)
    members = {"match": "if-match", "none_match": "if-none-match", "range": "range"}
    data |= {member: headers[name] for member, name in members.items() if name in headers}
    if rest := _REST_OF.fullmatch(headers.get("range", "")):
        data["range"] = f"bytes={rest[1]}-{int(rest[1]) + DCP_PART_BYTES - 1}"
    return data
