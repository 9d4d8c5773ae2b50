"""Responses to peers of DCP who wait for mail: each is told once, by its WebSocket, or that another took its place."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from postroom.core.errors import NotNowError
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.outbound.ports import Clock
from postroom.storage.directory.notification_targets import NotificationTarget
from postroom.storage.directory.watching_sessions import WatchingSession

if TYPE_CHECKING:
    from postroom.storage.secrets.dcp_identities import DcpIdentities


_IDENTITY_SECONDS: Final = 120
"""By then, every process has read an identity that is new."""


class SocketConnections(Protocol):
    """WebSockets that are open, by their ids."""

    def send(self, connection: str, message: bytes) -> bool:
        """Send a message; False: the WebSocket is not open any more. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class SessionResponses:
    """Answers the requests of sessions that wait for mail. `identities`, `sockets`: make them when they are needed."""

    def __init__(
        self, identities: "Callable[[], DcpIdentities]", sockets: Callable[[], SocketConnections], clock: Clock
    ) -> None:
        self._identities = identities
        self._sockets = sockets
        self._clock = clock

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:  # noqa: ARG002 - a response says nothing else
        """Answer the request of a session; False: its WebSocket is closed, or the identity that it was opened at is no
        guardian any more.

        Raises NotNowError: OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE.
        """
        return self._respond(WatchingSession.decode(target.to), target.made_at_ms)

    def refuse(self, session: WatchingSession, error: NotNowError, since_ms: int) -> bool:
        """Answer the request of a session by an error. As `carry`; `since_ms`: when there was the session."""
        return self._respond(session, since_ms, error)

    def _respond(self, session: WatchingSession, since_ms: int, error: NotNowError | None = None) -> bool:
        # Few mailboxes are watched, and it takes long to import.
        from postroom.protocols.dcp.guardian import write_late_response

        keys = {each.key.address: each.key for each in self._identities().newest_first()}
        key = keys.get(session.identity)
        if key is None:
            if self._clock() * 1000 < since_ms + _IDENTITY_SECONDS * 1000:
                raise NotNowError(SIGNING_KEY_UNAVAILABLE)
            return False
        message = write_late_response(session.request, session.dcpsid, key, self._clock(), error)
        return self._sockets().send(session.connection, message)
