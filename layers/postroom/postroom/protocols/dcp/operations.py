"""The operations that are part of DCP itself, and what of them needs no application (DCP: Reserved Operations)."""

from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.dcp.reasons import DCP_NO_ROUTER, DCP_OPERATION_UNKNOWN

CONNECT: Final = "connect"
CLOSE: Final = "close"
KEEPALIVE: Final = "keepalive"
V3: Final = "v3"


def is_answered_without_result(operation: str, *, routes_v3: bool) -> bool:
    """Whether a request in a session is answered by the protocol alone. `routes_v3`: the application serves v3.

    Raises TheirError: DCP_OPERATION_UNKNOWN, because a session is connected only once; DCP_NO_ROUTER.
    """
    if operation == CONNECT:
        raise TheirError(DCP_OPERATION_UNKNOWN, "the session is connected already")
    if operation == V3 and not routes_v3:
        raise TheirError(DCP_NO_ROUTER)
    return operation in (CLOSE, KEEPALIVE)
