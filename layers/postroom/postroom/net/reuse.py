"""The reuse of HTTP connections: which ones can take another request, and the closing of those that are kept."""

from collections.abc import Iterable
from typing import Final, Protocol
from weakref import finalize

import httpcore

GONE: Final = (httpcore.NetworkError, httpcore.RemoteProtocolError)
"""Raised where a connection that was used before has been ended in the meantime, and otherwise."""


def is_reusable(connection: httpcore.HTTPConnection) -> bool:
    """Whether the last request was answered, neither side ended the connection, and nothing follows the answer."""
    if not connection.is_available() or connection.has_expired():
        return False
    # What follows would be taken for the next answer, before that request is sent. httpcore does not show it.
    http11 = connection._connection
    return isinstance(http11, httpcore.HTTP11Connection) and not http11._h11_state.trailing_data[0]


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Close it."""
        ...


def close_with(owner: object, kept: Iterable[Closable]) -> None:
    """Close whatever is kept when nothing refers to its owner any more."""
    finalize(owner, close_all, kept)


def close_all(kept: Iterable[Closable]) -> None:
    """Close all of these."""
    for each in kept:
        each.close()
