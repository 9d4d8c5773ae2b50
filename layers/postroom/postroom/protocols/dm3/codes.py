"""JSON-RPC codes of reasons (dm3 §2.3.1, §2.4.3; settlement dm3 7)."""

from typing import Final

from postroom.reasons import Kind, Reason

PARSE_ERROR: Final = -32700
NOT_A_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
WRONG_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
INVALID_INPUT: Final = -32000
NOT_FOUND: Final = -32001
UNAVAILABLE: Final = -32002
UNAUTHORIZED: Final = -32003
NOT_OFFERED: Final = -32004
LIMIT_EXCEEDED: Final = -32005
WRONG_VERSION: Final = -32006
SPAM: Final = -32010
TOO_BIG: Final = -32011

TEXTS: Final = {
    PARSE_ERROR: "Parse error",
    NOT_A_REQUEST: "Invalid Request",
    UNKNOWN_METHOD: "Method not found",
    WRONG_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    INVALID_INPUT: "Invalid input",
    NOT_FOUND: "Resource not found",
    UNAVAILABLE: "Resource unavailable",
    UNAUTHORIZED: "Unauthorized",
    NOT_OFFERED: "Method not supported",
    LIMIT_EXCEEDED: "Limit exceeded",
    WRONG_VERSION: "JSON-RPC version not supported",
    SPAM: "Spam",
    TOO_BIG: "Too big",
}
"""The error text that the specification gives to each code."""

_CODES: Final = {
    Reason.NOT_JSON: PARSE_ERROR,
    Reason.NOT_I_JSON: PARSE_ERROR,
    Reason.RPC_NOT_A_REQUEST: NOT_A_REQUEST,
    Reason.RPC_UNKNOWN_METHOD: UNKNOWN_METHOD,
    Reason.RPC_WRONG_PARAMS: WRONG_PARAMS,
    Reason.RPC_WRONG_VERSION: WRONG_VERSION,
    Reason.RPC_METHOD_NOT_OFFERED: NOT_OFFERED,
    Reason.RPC_BATCH_TOO_LONG: LIMIT_EXCEEDED,
    Reason.MAILBOX_FULL: LIMIT_EXCEEDED,
    Reason.TOO_LARGE: TOO_BIG,
    Reason.ENVELOPE_INVALID: INVALID_INPUT,
    Reason.ENCRYPTION_SCHEME_UNKNOWN: INVALID_INPUT,
    Reason.SEALED_VALUE_INVALID: INVALID_INPUT,
    Reason.NAME_INVALID: INVALID_INPUT,
    Reason.MESSAGE_INVALID: INVALID_INPUT,
    Reason.MESSAGE_TYPE_UNSUPPORTED: INVALID_INPUT,
    Reason.RECEIVER_UNKNOWN: NOT_FOUND,
    Reason.PROFILE_UNKNOWN: UNAVAILABLE,
    Reason.PROFILE_INVALID: UNAVAILABLE,
    Reason.PROFILE_URI_UNSUPPORTED: UNAVAILABLE,
    Reason.SENDER_SIGNATURE_INVALID: UNAUTHORIZED,
    Reason.SENDER_NOT_WANTED: SPAM,
}


def code_of(reason: Reason) -> int:
    """The code of a reason. What may pass is unavailable now; what has no business at this door is a fault of ours."""
    if reason.kind is Kind.RETRY:
        return UNAVAILABLE
    return _CODES.get(reason, INTERNAL_ERROR)
