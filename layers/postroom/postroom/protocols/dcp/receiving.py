"""The checks of a received message, in their order (DCP: Message Receipt Implementation Details; Validity).

Parsing, signature, session and its peer, type, nonce; then of each request: validity, authorization, id, stamp. Every
target runs these, and every initiator does for the requests of its target. What a stranger may choose is read once
before the signature is verified, and nothing is written before that.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, signed_text_digest
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.authorization import signers_of
from postroom.protocols.dcp.connect import read_connect
from postroom.protocols.dcp.messages import (
    JsonObject,
    MalformedRequest,
    Request,
    RequestBatch,
    Response,
    ResponseBatch,
    check_number,
    is_answer,
    read_requests,
    read_responses,
)
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_ID_MISSING,
    DCP_RESPONSE_INVALID,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_TARGET_STARTING,
    DCP_TIME_TRAVEL,
)
from postroom.protocols.dcp.session_names import OpenedSession, SessionIds
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, SessionStore
from postroom.protocols.dcp.signed_message import MAX_BYTES, MAX_MESSAGES, SignedMessage, read_signed_message
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
    max_messages: int = MAX_MESSAGES
    not_before: float = 0

    def forgets_at(self, validity: Validity) -> float:
        """When the stamp of a request with this validity can be forgotten, in seconds since the epoch."""
        return forget_at(validity, *self.widest)

    def revoked_until(self, validity: Validity, now: float) -> float:
        """How long the stamp of a request that is revoked must be remembered, in seconds since the epoch.

        Whoever revokes it may not know its ttl, so it may be the longest one. `validity`: of that request. Raises
        TheirError(DCP_TIME_TRAVEL): it is dated later than the longest ttl from now.
        """
        ttl, slop = self.widest
        if validity.time > now + ttl.max:
            raise TheirError(DCP_TIME_TRAVEL, f"what is revoked may be dated {ttl.max:g} s from now, and no later")
        return max(validity.time, now) + ttl.max + slop

    @property
    def widest(self) -> tuple[TtlLimits, float]:
        """The ttl and the slop by which stamps are remembered."""
        return self.widest_ttl or self.ttl, self.slop if self.widest_slop is None else self.widest_slop


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
    `payload_texts`: as of `SignedMessage`, one for each request.
    """

    peer: Address
    identity: Address
    dcpsid: str
    requests: tuple[Request | MalformedRequest, ...]
    payload_texts: tuple[bytes, ...]
    batch_id: str | None
    following: str
    now: float


@dataclass(frozen=True, slots=True)
class ReceivedResponses:
    """Responses of a session's peer, or without a dcpsid, of anybody. `nonce` None: the known one stays."""

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
    """A request that is valid now, and of whom. It takes effect only after `Receiver.count`, which lets it count once.

    `resources`: those that authorized it in full: the signature of each, and an entry of `allow` with an identity of
    ours as its guardian and the peer as its accessor. `identity`: the address that its session was opened at;
    `is_in_batch`: it came in a batch, whose acknowledgement brings the next nonce. `digest`: of the payload, in hex,
    if a resource is named. `mark`: unique to this request in this run. `now`: the time of receipt, and `until`: when
    its stamp can be forgotten, in seconds since the epoch.
    """

    request: Request
    peer: Address
    identity: Address
    dcpsid: str
    is_in_batch: bool
    resources: frozenset[Address]
    digest: str
    validity: Validity
    mark: str
    now: float
    until: float

    @property
    def operation(self) -> str:
        """What is requested."""
        return self.request.payload.operation

    @property
    def data(self) -> JsonValue:
        """Its arguments."""
        return self.request.payload.data

    def use(self, owner: str | None = None) -> RequestUse:
        """What must be remembered of it. `owner`: to whom all its resources belong, whichever of them signed; None:
        that is not known, so that the stamp is of each resource.
        """
        owners = tuple(sorted(self.resources)) if owner is None else (owner,)
        payload = self.digest if owner is None and self.resources else ""
        return RequestUse(
            self.peer,
            self.request.id,
            self.validity.stamp,
            owners,
            self.mark,
            self.now,
            self.until,
            payload,
            self.validity.time,
            frozenset(allowance.accessor for allowance in self.request.payload.allow) if owners else frozenset(),
        )


@dataclass(frozen=True, slots=True)
class Receiver:
    """The checks of what is received. `identities`: the addresses that are guardians here; `sessions`: those that may
    be used; `new_nonce`: makes a random nonce; `check_rate`: raises NotNowError for a peer that sends too much.
    """

    identities: frozenset[Address]
    sessions: SessionIds
    store: SessionStore
    new_nonce: Callable[[], str]
    limits: ReceiveLimits = ReceiveLimits()
    check_rate: Callable[[Address], None] = lambda _peer: None

    def receive(self, data: bytes, now: float) -> Received:
        """Check a message as a whole, and use its nonce. `now`: seconds since the epoch.

        Raises TheirError for what cannot be answered under a signature: what `read_signed_message` raises,
        DCP_ID_MISSING, DCP_RESPONSE_UNEXPECTED, DCP_RESPONSE_INVALID.
        """
        limits = self.limits
        message = read_signed_message(data, max_bytes=limits.max_bytes, max_messages=limits.max_messages)
        body, peer = message.body, message.owner
        name, dcpsid = body.get("id"), body.get("dcpsid")
        if not isinstance(name, str) or not name:
            raise TheirError(DCP_ID_MISSING)
        known = self.sessions.opened(dcpsid, peer) if isinstance(dcpsid, str) else None
        if is_answer(body):
            return self._receive_responses(body, peer, is_ours=dcpsid is None or known is not None)
        try:
            self.check_rate(peer)
            check_number(body, limits.max_messages)
            if known and isinstance(dcpsid, str):
                return self._receive_requests(message, known, dcpsid, now)
            if dcpsid is None:
                return _receive_connect(body, peer)
            return Refused(peer, None, None, name, TheirError(DCP_SESSION_FOREIGN))
        except (TheirError, NotNowError) as error:
            if known and isinstance(dcpsid, str):
                return Refused(peer, known.identity, dcpsid, name, error)
            # Without a dcpsid nobody believes it: a stranger must not get a refusal that can be injected elsewhere.
            return Refused(peer, None, None, name, error)

    def admit(self, received: ReceivedRequests, index: int) -> Admitted:
        """Check one of the requests itself. Nothing is written.

        Raises TheirError: DCP_VALIDITY_INVALID, DCP_TIME_TRAVEL, DCP_EXPIRED, DCP_BODY_INVALID; NotNowError:
        DCP_TARGET_STARTING.
        """
        limits, now, request = self.limits, received.now, received.requests[index]
        if isinstance(request, MalformedRequest):
            raise request.error
        if now < limits.not_before:
            raise NotNowError(DCP_TARGET_STARTING, f"in {limits.not_before - now:.0f} seconds it will")
        validity = read_validity(request.payload.validity)
        check_validity(validity, limits.ttl, limits.slop, now)
        resources, digest = self._authorized(request, received.peer, received.payload_texts[index])
        return Admitted(
            request,
            received.peer,
            received.identity,
            received.dcpsid,
            received.batch_id is not None,
            resources,
            digest,
            validity,
            f"{received.following}.{index}",
            now,
            limits.forgets_at(validity),
        )

    def count(self, admitted: Admitted, owner: str | None = None) -> None:
        """Remember the id and stamp of a request: it counts now, and never again. `owner`: as for `Admitted.use`.

        Raises TheirError: DCP_ID_REUSED, DCP_DUPLICATE; NotNowError as the store does.
        """
        self.store.use_request(admitted.use(owner))

    def _receive_responses(self, body: JsonObject, peer: Address, *, is_ours: bool) -> ReceivedResponses:
        """Responses are never answered: what is wrong with them ends the connection."""
        if not is_ours:
            raise TheirError(DCP_RESPONSE_UNEXPECTED, "its owner has no session with this dcpsid here")
        try:
            answer = read_responses(body)
        except TheirError as error:
            raise TheirError(DCP_RESPONSE_INVALID, error.detail) from None
        match answer:
            case Response() as response:
                return ReceivedResponses(peer, response.dcpsid, (response,), response.nonce)
            case ResponseBatch() as batch:
                return ReceivedResponses(peer, batch.dcpsid, batch.responses, batch.nonce)

    def _receive_requests(
        self, signed: SignedMessage, known: OpenedSession, dcpsid: str, now: float
    ) -> ReceivedRequests:
        message, peer, texts = read_requests(signed.body), signed.owner, signed.payload_texts
        first = message.nonce == known.first_nonce
        if first and now > known.first_until:
            raise TheirError(DCP_SESSION_OVER)
        following = self.new_nonce()
        until = max(now + self.limits.session_seconds, known.first_until)
        requests, batch_id = (message.requests, message.id) if isinstance(message, RequestBatch) else ((message,), None)
        received = ReceivedRequests(peer, known.identity, dcpsid, requests, texts, batch_id, following, now)
        nonce, closes = message.nonce or "", any(self._closes(received, index) for index in range(len(requests)))
        self.store.use_nonce(NonceUse(peer, dcpsid, nonce, following, first, now, until, known.opened, closes))
        return received

    def _closes(self, received: ReceivedRequests, index: int) -> bool:
        """Whether one of the requests closes the session, which is done with the use of its nonce, in one write."""
        request = received.requests[index]
        if isinstance(request, MalformedRequest) or request.payload.operation != operations.CLOSE:
            return False
        with suppress(TheirError, NotNowError):
            self.admit(received, index)
            return True
        return False

    def _authorized(self, request: Request, peer: Address, payload_text: bytes) -> tuple[frozenset[Address], str]:
        """The resources that authorized a request in full, and the digest of its payload if one is named."""
        named = {
            allowance.resource
            for allowance in request.payload.allow
            if allowance.guardian in self.identities and allowance.accessor == peer
        }
        if len(named) > MAX_RESOURCES:
            raise TheirError(
                DCP_BODY_INVALID, f"payload.allow has more than {MAX_RESOURCES} resources of this guardian"
            )
        if not named:
            return frozenset(), ""
        digest = signed_text_digest(payload_text)
        return signers_of(request, named, digest), digest.hex()


def read_first_message(request: Request, batch: RequestBatch | None) -> str:
    """The initiator's half of the session's id, in a message without a dcpsid. `batch`: that the request is first in.

    Raises TheirError: DCP_BODY_INVALID, DCP_VERSION_UNSUPPORTED.
    """
    if request.payload.operation != operations.CONNECT:
        raise TheirError(DCP_BODY_INVALID, f"only {operations.CONNECT} has no dcpsid")
    if batch is not None and len(batch.requests) > 1:
        raise TheirError(DCP_BODY_INVALID, f"{operations.CONNECT} must be alone in its batch")
    return read_connect(request.payload)


def _receive_connect(body: JsonObject, peer: Address) -> ReceivedConnect:
    match read_requests(body):
        case Request() as request:
            return ReceivedConnect(peer, request.id, read_first_message(request, None), request.nonce, None)
        case RequestBatch(requests=(MalformedRequest() as malformed, *_)):
            raise malformed.error
        case RequestBatch(requests=(Request() as request, *_)) as batch:
            half = read_first_message(request, batch)
            return ReceivedConnect(peer, request.id, half, request.nonce or batch.nonce, batch.id)
    raise TypeError("a batch without a message was read")
