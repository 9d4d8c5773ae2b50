"""The states of a connection, and the steps between them, as a table for each end (DCP: Connection)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ConnectionState(StrEnum):
    """Of one end of a connection."""

    NEW = "new"
    CONNECTING = "connecting"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class ConnectionStep(StrEnum):
    """What changes the state."""

    CONNECT_SENT = "connect sent"
    CONNECT_RECEIVED = "connect received"
    CONNECT_ACCEPTED = "connect accepted"
    CONNECT_REFUSED = "connect refused"
    CLOSE_SENT = "close sent"
    CLOSE_RECEIVED = "close received"
    CLOSE_ANSWERED = "close answered"
    BROKEN = "broken"


Table = Mapping[tuple[ConnectionState, ConnectionStep], ConnectionState]

_OPENED: Final = {
    (ConnectionState.OPEN, ConnectionStep.CLOSE_SENT): ConnectionState.CLOSING,
    (ConnectionState.OPEN, ConnectionStep.CLOSE_RECEIVED): ConnectionState.CLOSED,
    (ConnectionState.OPEN, ConnectionStep.BROKEN): ConnectionState.CLOSED,
    (ConnectionState.CLOSING, ConnectionStep.CLOSE_RECEIVED): ConnectionState.CLOSED,
    (ConnectionState.CLOSING, ConnectionStep.CLOSE_ANSWERED): ConnectionState.CLOSED,
    (ConnectionState.CLOSING, ConnectionStep.BROKEN): ConnectionState.CLOSED,
    (ConnectionState.NEW, ConnectionStep.BROKEN): ConnectionState.CLOSED,
}
INITIATOR: Final[Table] = MappingProxyType(
    {
        (ConnectionState.NEW, ConnectionStep.CONNECT_SENT): ConnectionState.CONNECTING,
        (ConnectionState.CONNECTING, ConnectionStep.CONNECT_ACCEPTED): ConnectionState.OPEN,
        (ConnectionState.CONNECTING, ConnectionStep.CONNECT_REFUSED): ConnectionState.CLOSED,
        (ConnectionState.CONNECTING, ConnectionStep.BROKEN): ConnectionState.CLOSED,
        **_OPENED,
    }
)
TARGET: Final[Table] = MappingProxyType(
    {(ConnectionState.NEW, ConnectionStep.CONNECT_RECEIVED): ConnectionState.OPEN, **_OPENED}
)
