"""The checks of a received message, in their order (DCP: Message Receipt Implementation Details; Validity).

Parsing, signature, session and its peer, type, nonce; then of each request: validity, id, stamp. Every target runs
these, and every initiator does for the requests of its target. Nothing is written before the signature is verified.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.authorization import is_signed_by
from postroom.protocols.dcp.connect import read_connect
from postroom.protocols.dcp.messages import (
    JsonObject,
    Request,
    RequestBatch,
    Response,
    ResponseBatch,
    read_body,
)
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_ID_MISSING,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_TARGET_STARTING,
    DCP_TIME_TRAVEL,
)
from postroom.protocols.dcp.session_names import OpenedSession, SessionIds
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, SessionStore
from postroom.protocols.dcp.signed_message import MAX_BYTES, read_signed_message
from postroom.protocols.dcp.validity import (
    DEFAULT_SLOP_SECONDS,
    TtlLimits,
    Validity,
    check_validity,
    forget_at,
    read_validity,
)

MAX_RESOURCES: Final = 16
"""Of one request: those that authorized it in full. Each has a row for the stamp."""
DEFAULT_TTL: Final = TtlLimits(min=15, max=600, default=120)


@dataclass(frozen=True, slots=True)
class ReceiveLimits:
    """What is received. `slop`: the difference of clocks that is allowed, in seconds; `session_seconds`: how long a
    session is kept after its last message.

    `widest_ttl`, `widest_slop`: what any later setting can grant; stamps are remembered by these. `not_before`: no
    request is received before this time, in seconds since the epoch, because what was received before the start is
    not known (DCP: Target Startup Notes, 2).
    """

    ttl: TtlLimits = DEFAULT_TTL
    slop: float = DEFAULT_SLOP_SECONDS
    widest_ttl: TtlLimits | None = None
    widest_slop: float | None = None
    session_seconds: float = 3600
    max_bytes: int = MAX_BYTES
    max_messages: int = 100
    not_before: float = 0

    def forgets_at(self, validity: Validity) -> float:
        """When the stamp of a request with this validity can be forgotten, in seconds since the epoch."""
        return forget_at(validity, self.widest_ttl or self.ttl, self._widest_slop)

    def revoked_until(self, validity: Validity, now: float) -> float:
        """How long the stamp of a request that is revoked must be remembered, in seconds since the epoch.

        Whoever revokes it may not know its ttl, so it may be the longest one. `validity`: of that request. Raises
        TheirError(DCP_TIME_TRAVEL): it is dated later than the longest ttl from now.
        """
        longest = (self.widest_ttl or self.ttl).max
        if validity.time > now + longest:
            raise TheirError(DCP_TIME_TRAVEL, f"what is revoked may be dated {longest:g} s from now, and no later")
        return max(validity.time, now) + longest + self._widest_slop

    @property
    def _widest_slop(self) -> float:
        return self.slop if self.widest_slop is None else self.widest_slop


@dataclass(frozen=True, slots=True)
class ReceivedConnect:
    """A request for a new session. `half`: the initiator's half of its id; `batch_id`: of the batch that it was in.

    `nonce`: for the first request to the initiator.
    """

    peer: Address
    id: str
    half: str
    nonce: str | None
    batch_id: str | None


@dataclass(frozen=True, slots=True)
class ReceivedRequests:
    """Requests of a session, whose nonce was used. `following`: the nonce for the answer; `now`: the time of receipt.

    `identity`: the address that the session was opened at; `batch_id` None: one request without a batch.
    """

    peer: Address
    identity: Address
    dcpsid: str
    requests: tuple[Request, ...]
    batch_id: str | None
    following: str
    now: float


@dataclass(frozen=True, slots=True)
class ReceivedResponses:
    """Responses of a session's peer, or before there is a session, of anybody. `nonce` None: the known one stays."""

    peer: Address
    dcpsid: str | None
    responses: tuple[Response, ...]
    nonce: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that is refused as a whole. `id`: of the message; `identity` None: its session was not opened here."""

    peer: Address
    identity: Address | None
    dcpsid: str | None
    id: str
    error: TheirError | NotNowError

    @property
    def is_foreign(self) -> bool:
        """Whether it is not of the peer of a session here: the connection that it came by must be closed."""
        return self.error.reason == DCP_SESSION_FOREIGN


Received: TypeAlias = ReceivedConnect | ReceivedRequests | ReceivedResponses | Refused


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that counts now, and never again. `resources`: those that authorized it in full: the signature of each,
    and an entry of `allow` with an identity of ours as its guardian and the peer as its accessor.

    `identity`: the address that its session was opened at; `is_in_batch`: it came in a batch, whose acknowledgement
    brings the next nonce.
    """

    request: Request
    peer: Address
    identity: Address
    is_in_batch: bool
    resources: frozenset[Address]
    use: RequestUse

    @property
    def operation(self) -> str:
        """What is requested."""
        return self.request.payload.operation

    @property
    def data(self) -> JsonValue:
        """Its arguments."""
        return self.request.payload.data


@dataclass(frozen=True, slots=True)
class Receiver:
    """The checks of what is received. `identities`: the addresses that are guardians here; `sessions`: those that may
    be used; `new_nonce`: makes a random nonce.
    """

    identities: frozenset[Address]
    sessions: SessionIds
    store: SessionStore
    new_nonce: Callable[[], str]
    limits: ReceiveLimits = ReceiveLimits()

    def receive(self, data: bytes, now: float) -> Received:
        """Check a message as a whole, and use its nonce. `now`: seconds since the epoch.

        Raises TheirError for what cannot be answered under a signature: what `read_signed_message` raises,
        DCP_ID_MISSING.
        """
        message = read_signed_message(data, max_bytes=self.limits.max_bytes)
        body, peer = message.body, message.owner
        name, dcpsid = body.get("id"), body.get("dcpsid")
        if not isinstance(name, str) or not name:
            raise TheirError(DCP_ID_MISSING)
        if dcpsid is None:
            return self._receive_without_session(body, peer, name)
        known = self.sessions.opened(dcpsid, peer) if isinstance(dcpsid, str) else None
        if known is None or not isinstance(dcpsid, str):
            return Refused(peer, None, None, name, TheirError(DCP_SESSION_FOREIGN))
        try:
            match read_body(body):
                case Request() as request:
                    return self._use_nonce(request.nonce, (request,), None, known, dcpsid, peer, now)
                case RequestBatch() as batch:
                    return self._use_nonce(batch.nonce, batch.requests, batch.id, known, dcpsid, peer, now)
                case answer:
                    return _responses(answer, peer)
        except (TheirError, NotNowError) as error:
            return Refused(peer, known.identity, dcpsid, name, error)

    def admit(self, received: ReceivedRequests, index: int) -> Admitted:
        """Check one of the requests itself, and remember its id and stamp: it counts now, and never again.

        Raises TheirError: DCP_VALIDITY_INVALID, DCP_TIME_TRAVEL, DCP_EXPIRED, DCP_ID_REUSED, DCP_DUPLICATE,
        DCP_BODY_INVALID; NotNowError: DCP_TARGET_STARTING, and as the store does.
        """
        limits, now, request = self.limits, received.now, received.requests[index]
        if now < limits.not_before:
            raise NotNowError(DCP_TARGET_STARTING, f"in {limits.not_before - now:.0f} seconds it will")
        validity = read_validity(request.payload.validity)
        check_validity(validity, limits.ttl, limits.slop, now)
        resources = self._authorized(request, received.peer)
        use = RequestUse(
            received.dcpsid,
            request.id,
            validity.stamp,
            tuple(sorted(resources)),
            f"{received.following}.{index}",
            now,
            limits.forgets_at(validity),
        )
        self.store.use_request(use)
        is_in_batch = received.batch_id is not None
        return Admitted(request, received.peer, received.identity, is_in_batch, resources, use)

    def _receive_without_session(self, body: JsonObject, peer: Address, name: str) -> Received:
        try:
            match read_body(body):
                case Request() as request:
                    return _connect(request, peer, None)
                case RequestBatch() as batch:
                    return _connect(batch.requests[0], peer, batch)
                case answer:
                    return _responses(answer, peer)
        except TheirError as error:
            return Refused(peer, None, None, name, error)

    def _use_nonce(
        self,
        nonce: str | None,
        requests: tuple[Request, ...],
        batch_id: str | None,
        known: OpenedSession,
        dcpsid: str,
        peer: Address,
        now: float,
    ) -> ReceivedRequests:
        check_number(len(requests), self.limits.max_messages)
        first = nonce == known.first_nonce
        if first and now > known.first_until:
            raise TheirError(DCP_SESSION_OVER)
        following = self.new_nonce()
        until = max(now + self.limits.session_seconds, known.first_until)
        self.store.use_nonce(NonceUse(dcpsid, nonce or "", following, first, now, until))
        return ReceivedRequests(peer, known.identity, dcpsid, requests, batch_id, following, now)

    def _authorized(self, request: Request, peer: Address) -> frozenset[Address]:
        named = {
            allowance.resource
            for allowance in request.payload.allow
            if allowance.guardian in self.identities and allowance.accessor == peer
        }
        if len(named) > MAX_RESOURCES:
            raise TheirError(
                DCP_BODY_INVALID, f"payload.allow has more than {MAX_RESOURCES} resources of this guardian"
            )
        return frozenset(resource for resource in named if is_signed_by(request, resource))


def check_number(messages: int, most: int) -> None:
    """Check the number of messages in a batch. Raises TheirError(DCP_BODY_INVALID)."""
    if messages > most:
        raise TheirError(DCP_BODY_INVALID, f"a batch has at most {most} messages")


def read_first_message(request: Request, batch: RequestBatch | None) -> str:
    """The initiator's half of the session's id, in a message without a dcpsid. `batch`: that the request is first in.

    Raises TheirError: DCP_BODY_INVALID, DCP_VERSION_UNSUPPORTED.
    """
    if request.payload.operation != operations.CONNECT:
        raise TheirError(DCP_BODY_INVALID, f"only {operations.CONNECT} has no dcpsid")
    if batch is not None and len(batch.requests) > 1:
        raise TheirError(DCP_BODY_INVALID, f"{operations.CONNECT} must be alone in its batch")
    return read_connect(request.payload)


def _connect(request: Request, peer: Address, batch: RequestBatch | None) -> ReceivedConnect:
    half = read_first_message(request, batch)
    if batch is None:
        return ReceivedConnect(peer, request.id, half, request.nonce, None)
    return ReceivedConnect(peer, request.id, half, request.nonce or batch.nonce, batch.id)


def _responses(answer: Response | ResponseBatch, peer: Address) -> ReceivedResponses:
    match answer:
        case Response() as response:
            return ReceivedResponses(peer, response.dcpsid, (response,), response.nonce)
        case ResponseBatch() as batch:
            return ReceivedResponses(peer, batch.dcpsid, batch.responses, batch.nonce)
