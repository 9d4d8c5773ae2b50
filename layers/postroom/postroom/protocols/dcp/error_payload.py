"""Errors in the payload of a response (DCP: Connection.ErrorPayload)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_DUPLICATE,
    DCP_EXPIRED,
    DCP_ID_REUSED,
    DCP_NO_ROUTER,
    DCP_NONCE_INVALID,
    DCP_OPERATION_UNKNOWN,
    DCP_RESPONSE_INVALID,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_TIME_TRAVEL,
    DCP_VALIDITY_INVALID,
    DCP_VERSION_UNSUPPORTED,
)


class ErrorCode(StrEnum):
    """The codes of errors of the protocol itself (DCP: Error Codes)."""

    ETARGETVERSION = "ETARGETVERSION"
    EVERSION = "EVERSION"
    EADDRCHANGE = "EADDRCHANGE"
    EEXPIRED = "EEXPIRED"
    ETIMETRAVEL = "ETIMETRAVEL"
    EDUP = "EDUP"
    EINVAL = "EINVAL"
    ENOV3 = "ENOV3"


_CODES: Final[Mapping[Reason, ErrorCode]] = {
    DCP_BODY_INVALID: ErrorCode.EINVAL,
    DCP_VALIDITY_INVALID: ErrorCode.EINVAL,
    DCP_RESPONSE_UNEXPECTED: ErrorCode.EINVAL,
    DCP_RESPONSE_INVALID: ErrorCode.EINVAL,
    DCP_SESSION_FOREIGN: ErrorCode.EINVAL,
    DCP_SESSION_OVER: ErrorCode.EINVAL,
    DCP_NONCE_INVALID: ErrorCode.EINVAL,
    DCP_ID_REUSED: ErrorCode.EINVAL,
    DCP_OPERATION_UNKNOWN: ErrorCode.EINVAL,
    DCP_DUPLICATE: ErrorCode.EDUP,
    DCP_NO_ROUTER: ErrorCode.ENOV3,
    DCP_EXPIRED: ErrorCode.EEXPIRED,
    DCP_TIME_TRAVEL: ErrorCode.ETIMETRAVEL,
    DCP_VERSION_UNSUPPORTED: ErrorCode.EVERSION,
}
_PROTOCOL: Final = "protocol"
_OTHER_TEXTS: Final = ("fileName",)
_OTHER_NUMBERS: Final = ("lineNumber", "columnNumber")


@dataclass(frozen=True, slots=True)
class ErrorPayload:
    """An error. `origin`: the identity that it happened at; `is_protocol`: it is one of the protocol itself.

    `others`: fileName, lineNumber and columnNumber, if a peer sent them. A stack is neither written nor kept.
    """

    name: str
    message: str
    code: str | None = None
    origin: Address | str | None = None
    is_protocol: bool = False
    others: Mapping[str, JsonValue] = field(default_factory=dict)

    def as_json(self) -> dict[str, JsonValue]:
        """The payload of a response."""
        members: dict[str, JsonValue] = {"type": _PROTOCOL} if self.is_protocol else {}
        members |= {"name": self.name, "message": self.message}
        members |= {} if self.code is None else {"code": self.code}
        members |= {} if self.origin is None else {"origin": self.origin}
        return {**members, **self.others}


Result: TypeAlias = "JsonValue | ErrorPayload"
"""What a request is answered. None: success without a payload."""


def error_of(error: TheirError | NotNowError, origin: Address) -> ErrorPayload:
    """The payload of a refusal: a protocol error if the text has a code for it, otherwise with our reason as its code.

    The message of EVERSION is the versions that are accepted (DCP: Connection.connect), which its detail must be.
    """
    code = _CODES.get(error.reason)
    message = f"{error.reason.sentence} ({error.detail})" if error.detail else error.reason.sentence
    if code is ErrorCode.EVERSION:
        message = error.detail
    return ErrorPayload("Error", message, code or str(error.reason), origin, is_protocol=code is not None)


def read_error(value: JsonValue) -> ErrorPayload:
    """The error in the payload of a response without success.

    What has neither name nor message is an error with the name Error, and no message.
    """
    members = value if isinstance(value, dict) else {}
    others = {name: members[name] for name in _OTHER_TEXTS if isinstance(members.get(name), str)}
    others |= {name: members[name] for name in _OTHER_NUMBERS if type(members.get(name)) in (int, float)}
    return ErrorPayload(
        _text(members.get("name")) or "Error",
        _text(members.get("message")) or "",
        _text(members.get("code")),
        _text(members.get("origin")),
        members.get("type") == _PROTOCOL,
        others,
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
