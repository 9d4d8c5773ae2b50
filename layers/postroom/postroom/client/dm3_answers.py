"""The meaning of a delivery service's answer (JSON-RPC 2.0 §5; dm3 §2.3.1; decision "Fallback")."""

from typing import Final

from postroom.client.sending import SendOutcome, fate_of, text_or_empty
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.net.https import HttpsResponse
from postroom.protocols.dm3.codes import INTERNAL_ERROR, UNAVAILABLE

_LONGEST_SHOWN: Final = 200


class NoResultError(Exception):
    """There is no result. `is_unavailable`: the next delivery service is to be tried; otherwise none is.

    `code`: of JSON-RPC; None if the answer is not JSON-RPC. `reason`: the service's machine code, which need not be
    from our list; may be empty.
    """

    def __init__(
        self, fate: SendOutcome, detail: str, *, code: int | None = None, reason: str = "", is_unavailable: bool = False
    ) -> None:
        super().__init__(detail)
        self.fate = fate
        self.detail = detail
        self.code = code
        self.reason = reason
        self.is_unavailable = is_unavailable


def read_result(answer: HttpsResponse | NotNowError) -> JsonValue:
    """The result of a call. `answer`: the response, or why there is none. Raises NoResultError."""
    if isinstance(answer, NotNowError):
        detail = answer.detail or answer.reason.sentence
        raise NoResultError(SendOutcome.NOT_NOW, detail, reason=str(answer.reason), is_unavailable=True)
    if answer.status >= 500:
        raise NoResultError(SendOutcome.NOT_NOW, f"HTTP {answer.status}", is_unavailable=True)
    value = _json(answer)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        raise _refusal(value["error"])
    if isinstance(value, dict) and "result" in value and 200 <= answer.status < 300:
        return value["result"]
    detail = f"HTTP {answer.status} with no JSON-RPC answer: {answer.body[:_LONGEST_SHOWN].decode(errors='replace')!r}"
    refused = fate_of(answer.status) is SendOutcome.REFUSED
    raise NoResultError(SendOutcome.REFUSED if refused else SendOutcome.NOT_NOW, detail)


def _refusal(error: JsonValue) -> NoResultError:
    """The error for an error object; our own services put their reason into `data`."""
    members = error if isinstance(error, dict) else {}
    code, data = members.get("code"), members.get("data")
    said = data if isinstance(data, dict) else {}
    detail = text_or_empty(said.get("detail")) or text_or_empty(members.get("message")) or "no reason was given"
    number = code if type(code) is int else None
    return NoResultError(
        SendOutcome.NOT_NOW if number in (UNAVAILABLE, INTERNAL_ERROR) else SendOutcome.REFUSED,
        detail,
        code=number,
        reason=text_or_empty(said.get("reason")),
        is_unavailable=number == UNAVAILABLE,
    )


def _json(answer: HttpsResponse) -> JsonValue:
    try:
        return parse(answer.body, max_bytes=len(answer.body))
    except TheirError:
        return None
