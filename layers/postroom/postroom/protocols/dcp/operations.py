"""The operations that are part of DCP itself, and what of them needs no application (DCP: Reserved Operations)."""

from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.dcp.reasons import DCP_OPERATION_UNKNOWN

CONNECT: Final = "connect"
CLOSE: Final = "close"
KEEPALIVE: Final = "keepalive"
V3: Final = "v3"


def is_answered_without_result(operation: str) -> bool:
    """Whether a request in a session is answered by the protocol alone.

    Raises TheirError(DCP_OPERATION_UNKNOWN): a session is connected only once.
    """
    if operation == CONNECT:
        raise TheirError(DCP_OPERATION_UNKNOWN, "the session is connected already")
    return operation in (CLOSE, KEEPALIVE)
