"""Ids of sessions that a target gives without storing them, and the first nonce of each (DCP: connect).

The target's half has the time of the connect, random bytes, and an HMAC over these, the initiator's half and the
initiator's address. So strangers cannot make a target store anything, and nobody can use the session of another.
"""

import base64
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.connect import MAX_HALF, MIN_HALF, session_id

CONNECT_SECONDS: Final = 120
"""How long the first nonce of a session can be used."""
RANDOM_BYTES: Final = 12

_TIME_BYTES: Final = 4
_TAG_BYTES: Final = 16
_HALF_LENGTH: Final = 43
"""The length of the three parts together in base64url."""
_PADDING: Final = "."
"""No character of base64url. The target's half must not be shorter than the initiator's."""
_ID: Final = re.compile(rf"[A-Za-z0-9._~/-]{{{MIN_HALF + 1 + _HALF_LENGTH},{2 * MAX_HALF + 1}}}")


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """What the id of a session tells. `identity`: the address that it was opened at; `opened`: when.

    `first_nonce`: of its first message; `first_until`: when that can no longer be used. Times: seconds since the epoch.
    """

    identity: Address
    first_nonce: str
    first_until: float
    opened: float = 0.0


class SessionIds(Protocol):
    """What knows the ids of the sessions that may be used here."""

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        """The session with this id that this peer opened here; None: there is none."""


@dataclass(frozen=True, slots=True)
class SessionNames:
    """The names of one identity's sessions. `secret`: 32 bytes that only this target knows."""

    identity: Address
    secret: bytes = field(repr=False)

    def new(self, initiators_half: str, peer: Address, *, now: float, random: bytes) -> str:
        """The id of a new session. `random`: RANDOM_BYTES bytes."""
        return self._name(initiators_half, peer, int(now).to_bytes(_TIME_BYTES) + random)

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        """The session with this id, if this peer opened it here."""
        if not _ID.fullmatch(dcpsid):
            return None
        unpadded = dcpsid.rstrip(_PADDING)
        initiators_half, half = unpadded[: -_HALF_LENGTH - 1], unpadded[-_HALF_LENGTH:]
        try:
            head = base64.b64decode(half + "=", altchars=b"-_", validate=True)[:-_TAG_BYTES]
        except ValueError:
            return None
        if not hmac.compare_digest(dcpsid, self._name(initiators_half, peer, head)):
            return None
        opened = int.from_bytes(head[:_TIME_BYTES])
        return OpenedSession(self.identity, self.first_nonce(dcpsid, peer), opened + CONNECT_SECONDS, opened)

    def first_nonce(self, dcpsid: str, peer: Address) -> str:
        """The nonce of a session's first message."""
        return base64.urlsafe_b64encode(self._digest("nonce", dcpsid, peer)[:24]).decode()

    def _name(self, initiators_half: str, peer: Address, head: bytes) -> str:
        tag = self._digest("session", initiators_half, peer, head.hex())[:_TAG_BYTES]
        half = base64.urlsafe_b64encode(head + tag).decode().rstrip("=")
        return session_id(initiators_half, half.ljust(len(initiators_half), _PADDING))

    def _digest(self, *parts: str) -> bytes:
        """No part contains a line end."""
        return hmac.digest(self.secret, "\n".join(parts).encode(), "sha256")


@dataclass(frozen=True, slots=True)
class NamesOfIdentities:
    """The names of several identities' sessions: the newest opens sessions, the others serve those that they opened."""

    names: Sequence[SessionNames]

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        """The session with this id that this peer opened at one of the identities."""
        return next((found for each in self.names if (found := each.opened(dcpsid, peer))), None)


@dataclass(frozen=True, slots=True)
class OneSession:
    """The only session of a connection. `session`: as it was opened with `peer`."""

    dcpsid: str
    peer: Address
    session: OpenedSession

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        """The session, if these are its id and its peer."""
        return self.session if (dcpsid, peer) == (self.dcpsid, self.peer) else None
