"""What a target remembers: the sessions' nonces, and the requests that it received (DCP: Target Startup Notes).

Each method is one atomic step, and may be called again after its result was lost. What was remembered until a time
before `now` counts as absent, whether or not it was removed.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from postroom.crypto.ethereum import Address


@dataclass(frozen=True, slots=True)
class NonceUse:
    """The use of a session's nonce by one message. All times are seconds since the epoch.

    `following`: the nonce after it, which is new in each run, so that a store knows a step that it made before;
    `first`: `nonce` is the session's first one, and the session is remembered from now on; `until`: how long, until its
    next use says otherwise, and no shorter than its first nonce can be used; `peer`: whose session it is; `opened`:
    when; `closes`: the message closes it for good.
    """

    peer: Address
    dcpsid: str
    nonce: str
    following: str
    first: bool
    now: float
    until: float
    opened: float = 0.0
    closes: bool = False


@dataclass(frozen=True, slots=True)
class RequestUse:
    """The use of a request's id and stamp. All times are seconds since the epoch.

    `peer`: whose id it is. `owners`: whose stamp it is; none: the stamp is in the space that all requests share
    that nobody authorized. `payload`: a digest of the authorized payload, so that it does not count again with other
    signatures; "": its owner is the same whoever signed it. `mark`: unique to this request in this run; `until`: how
    long it is remembered; `dated`: when its sender says it was made. `bearers`: who may have presented it before.
    """

    peer: Address
    id: str
    stamp: str
    owners: tuple[str, ...]
    mark: str
    now: float
    until: float
    payload: str = ""
    dated: float = 0.0
    bearers: frozenset[Address] = frozenset()


def row_digest(kind: str, owner: str, text: str) -> bytes:
    """The key of what is remembered, which has the same length whatever a peer sent, and shows nothing of it.

    Neither `kind` nor `owner` contains a line end.
    """
    # A text may have halves of surrogate pairs.
    return sha256("\n".join((kind, owner, text)).encode(errors="surrogatepass")).digest()


def stamp_digests(use: RequestUse) -> list[bytes]:
    """The keys of the payload and of the stamp of each owner, in an order that does not depend on the request."""
    payload = [row_digest("payload", "", use.payload)] if use.payload else []
    return payload + [row_digest("stamp", owner, use.stamp) for owner in sorted(use.owners) or ("",)]


class SessionStore(Protocol):
    """Where a target keeps them. Every method may raise NotNowError, and then may have taken effect or not."""

    def use_nonce(self, use: NonceUse) -> None:
        """Replace a session's nonce by the following one.

        Raises TheirError: DCP_SESSION_OVER, DCP_NONCE_INVALID.
        """

    def use_request(self, use: RequestUse) -> None:
        """Remember the id and the stamp of a request; if it is refused, neither.

        Of several at once with the same payload, or with the same owners and stamp, one is not refused. Raises
        TheirError: DCP_ID_REUSED, DCP_DUPLICATE.
        """

    def revoke(self, use: RequestUse) -> None:
        """Remember the stamp of a request that is revoked, and no id. Raises TheirError(DCP_DUPLICATE)."""

    def give_back(self, use: RequestUse) -> None:
        """Forget the use of an id and a stamp, if it is still this one: it had no effect, and may come again."""


class ConnectionStore(SessionStore, Protocol):
    """Where an end of a connection keeps them, which ends a session itself if its peer breaks the protocol."""

    def close(self, dcpsid: str) -> None:
        """Close a session for good; it is remembered as long as before, so that its first nonce cannot reopen it."""
