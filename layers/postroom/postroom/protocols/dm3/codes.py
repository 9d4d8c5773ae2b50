"""The error codes of JSON-RPC and their texts (dm3 §2.3.1, §2.4.3; decision "JSON-RPC")."""

from typing import Final

from postroom.core.reason import Kind, Reason

INTERNAL_ERROR: Final = -32603
UNAVAILABLE: Final = -32002

TEXTS: Final = {
    -32700: "Parse error",
    -32600: "Invalid Request",
    -32601: "Method not found",
    -32602: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    -32000: "Invalid input",
    -32001: "Resource not found",
    UNAVAILABLE: "Resource unavailable",
    -32003: "Unauthorized",
    -32004: "Method not supported",
    -32005: "Limit exceeded",
    -32006: "JSON-RPC version not supported",
    -32010: "Spam",
    -32011: "Too big",
}
"""The error text that the specification gives for each code."""


def code_of(reason: Reason) -> int:
    """The code of a reason. If the rules give none: unavailable if it is temporary, otherwise an internal error."""
    if reason.json_rpc is not None:
        return reason.json_rpc
    return UNAVAILABLE if reason.kind is Kind.RETRY else INTERNAL_ERROR
