"""The meaning of a delivery service's answer (JSON-RPC 2.0 §5; dm3 §2.3.1; decision "Fallback")."""

from collections.abc import Mapping
from typing import Final

from postroom.client.sending import SendOutcome, text_or_empty
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.net.https import HttpsResponse
from postroom.protocols.dm3.codes import INTERNAL_ERROR, UNAVAILABLE
from postroom.protocols.dm3.jsonrpc import VERSION

_LONGEST_SHOWN: Final = 200


class NoResultError(Exception):
    """There is no result. `is_unavailable`: the next delivery service is to be tried; otherwise none is.

    `is_rpc`: whether the answer was JSON-RPC, or there was none; otherwise another URL of the service may answer.
    `code`: of JSON-RPC; None if the answer is not JSON-RPC. `reason`: the service's machine code, which need not be
    from our list; may be empty. `url`: where it was asked.
    """

    def __init__(
        self,
        fate: SendOutcome,
        detail: str,
        *,
        url: str,
        code: int | None = None,
        reason: str = "",
        is_unavailable: bool = False,
        is_rpc: bool = True,
    ) -> None:
        super().__init__(detail)
        self.fate = fate
        self.detail = detail
        self.url = url
        self.code = code
        self.reason = reason
        self.is_unavailable = is_unavailable
        self.is_rpc = is_rpc


def read_result(url: str, answer: HttpsResponse | NotNowError) -> JsonValue:
    """The result of a call to `url`. `answer`: the response, or why there is none. Raises NoResultError."""
    if isinstance(answer, NotNowError):
        detail = answer.detail or answer.reason.sentence
        raise NoResultError(SendOutcome.NOT_NOW, detail, url=url, reason=str(answer.reason), is_unavailable=True)
    value = _json(answer)
    # Many servers have an object `error` in their own errors.
    if isinstance(value, dict) and value.get("jsonrpc") == VERSION and not 300 <= answer.status < 400:
        error = value.get("error")
        if isinstance(error, dict) and type(code := error.get("code")) is int:
            raise _refusal(url, answer.status, code, error)
        if "result" in value and 200 <= answer.status < 300:
            return value["result"]
    detail = f"HTTP {answer.status} with no JSON-RPC answer: {answer.body[:_LONGEST_SHOWN].decode(errors='replace')!r}"
    raise NoResultError(SendOutcome.NOT_NOW, detail, url=url, is_unavailable=True, is_rpc=False)


def _refusal(url: str, status: int, code: int, error: Mapping[str, JsonValue]) -> NoResultError:
    """The error for an error object; our own services put their reason into `data`."""
    data = error.get("data")
    said = data if isinstance(data, dict) else {}
    is_unavailable = status >= 500 or code in (UNAVAILABLE, INTERNAL_ERROR)
    return NoResultError(
        SendOutcome.NOT_NOW if is_unavailable else SendOutcome.REFUSED,
        text_or_empty(said.get("detail")) or text_or_empty(error.get("message")) or "no reason was given",
        url=url,
        code=code,
        reason=text_or_empty(said.get("reason")),
        is_unavailable=is_unavailable,
    )


def _json(answer: HttpsResponse) -> JsonValue:
    try:
        return parse(answer.body, max_bytes=len(answer.body))
    except TheirError:
        return None
