"""One end of a connection: what initiators and targets have in common. Neither reads a clock, or sends by itself."""

import base64
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.connection_events import (
    ConnectionEvent,
    RequestAnswered,
    RequestFailed,
    RequestReceived,
    RequestUnanswered,
    SessionEnded,
)
from postroom.protocols.dcp.error_payload import ErrorPayload, Result, error_of, read_error
from postroom.protocols.dcp.messages import REQUEST_BATCH, JsonObject, Response
from postroom.protocols.dcp.payload import NewRequest, RequestIds, new_payload, request_body, with_validity
from postroom.protocols.dcp.peer_clock import PeerClock, validity_time
from postroom.protocols.dcp.reasons import (
    DCP_OPERATION_UNKNOWN,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
)
from postroom.protocols.dcp.receiving import (
    Admitted,
    ReceivedConnect,
    ReceivedRequests,
    ReceivedResponses,
    ReceiveLimits,
    Receiver,
    Refused,
)
from postroom.protocols.dcp.responses import answer_body, response_body
from postroom.protocols.dcp.session_names import SessionIds
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.states import ConnectionState, ConnectionStep, Table

_TOKEN_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, in seconds. `wall`: since the epoch; `monotonic`: by a clock that only goes on."""

    wall: float
    monotonic: float


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How requests are sent. `ttl`: seconds that they count; None: the receiver's default.

    `max_messages`: of a batch; 1: no batches; `hex_prefix`: addresses are written with 0x, as the reference needs them;
    `ntp`: our clock is right, so the peer's is not needed.
    """

    ttl: float | None = None
    max_messages: int = 10
    hex_prefix: bool = False
    ntp: bool = False


class SessionEndedError(Exception):
    """The session is over or about to be, and takes no more requests."""


@dataclass
class RequestQueue:
    """The requests of one end: those that wait for a nonce, and those that were sent and are not answered yet.

    `nonce`: of the next message; None: it has to wait. `sent`: the operations, by the id of their request; `messages`:
    the ids of each message's requests, until there is a response to the message itself; `last`: the ids of the last
    message's requests, and its own.
    """

    nonce: str | None = None
    waiting: "deque[tuple[str, NewRequest]]" = field(default_factory=deque)
    sent: dict[str, JsonValue] = field(default_factory=dict)
    messages: dict[str, list[str]] = field(default_factory=dict)
    last: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class QueuedResponse:
    """A response that is to be sent. `dcpsid` None: of no session; `nonce`: that it brings, if any."""

    id: str
    result: Result
    dcpsid: str | None
    nonce: str | None = None


class Endpoint:
    """One end of a connection. `table`: its states; `sessions`: those that it knows before it is open."""

    def __init__(
        self,
        key: EthereumKey,
        *,
        table: Table,
        sessions: SessionIds,
        store: ConnectionStore,
        random: Callable[[int], bytes],
        limits: ReceiveLimits,
        options: SendOptions,
    ) -> None:
        self.state = ConnectionState.NEW
        self.dcpsid: str | None = None
        self.target_version: str | None = None
        """The version that the target told when it accepted our connect."""
        self.routes_v3 = False
        """Whether requests with the operation v3 are received."""
        self._key, self._table, self._random, self._options = key, table, random, options
        self._store = store
        self._receiver = Receiver(frozenset({key.address}), sessions, store, self._token, limits)
        self._outgoing = RequestQueue()
        self._peer_clock: PeerClock | None = None
        self._responses: deque[QueuedResponse] = deque()
        self._ids = RequestIds(self._token)
        self._next_nonces: dict[str, str] = {}
        """The nonce that the response to a request brings, by the request's id."""

    @property
    def address(self) -> Address:
        """Of the identity at this end."""
        return self._key.address

    @property
    def awaits_answer(self) -> bool:
        """Whether the peer has not answered the connect, or the last message with requests, at all."""
        outgoing = self._outgoing
        return self.state is ConnectionState.CONNECTING or (bool(outgoing.sent) and outgoing.nonce is None)

    @property
    def last_requests(self) -> frozenset[str]:
        """The ids of the last message with requests: its own, and theirs."""
        return self._outgoing.last

    # --- what the application does -----------------------------------------------------------------------------------

    def send(self, request: NewRequest) -> str:
        """Queue a request, and tell its id.

        Raises SessionEndedError; ValueError as `RequestIds.use`.
        """
        if self.state in (ConnectionState.CLOSING, ConnectionState.CLOSED):
            raise SessionEndedError(f"the session is {self.state}")
        if request.id:
            self._ids.use(request.id)
        return self._queue(request)

    def respond(self, admitted: Admitted, result: Result) -> None:
        """Queue the response to a request; if the session is over, it is dropped."""
        if self.state is not ConnectionState.CLOSED:
            self._respond(admitted.request.id, result)

    def close(self) -> None:
        """Queue a close behind all that is queued. Raises SessionEndedError if there is no open session."""
        if self.state is not ConnectionState.OPEN:
            raise SessionEndedError(f"the session is {self.state}")
        self._queue(NewRequest(new_payload(operations.CLOSE)))
        self._take(ConnectionStep.CLOSE_SENT)

    def fail(self, error: ErrorPayload | None = None) -> list[ConnectionEvent]:
        """End the session at once, because its messages do not arrive, or are not answered in time."""
        return [] if self.state is ConnectionState.CLOSED else list(self._end(ConnectionStep.BROKEN, error))

    # --- messages ----------------------------------------------------------------------------------------------------

    def messages(self, clock: Clock) -> list[bytes]:
        """The signed messages that are to be sent now, in order: all responses, and requests if there is a nonce."""
        requests = self.requests_message(clock)
        return self.response_messages(clock) + ([] if requests is None else [requests])

    def response_messages(self, clock: Clock) -> list[bytes]:
        """The signed messages with all responses that are to be sent."""
        found = []
        while self._responses:
            found.append(self._next_responses(clock))
        return found

    def requests_message(self, clock: Clock) -> bytes | None:
        """The signed message with requests that is to be sent now; None: there is none, or no nonce."""
        if self._outgoing.nonce and self._outgoing.waiting and self.state is not ConnectionState.CLOSED:
            return self._next_requests(self._outgoing.nonce, clock)
        return None

    def receive(self, data: bytes, clock: Clock) -> list[ConnectionEvent]:
        """What a received message brings."""
        return [] if self.state is ConnectionState.CLOSED else list(self._receive(data, clock))

    def _receive(self, data: bytes, clock: Clock) -> Iterator[ConnectionEvent]:
        try:
            received = self._receiver.receive(data, clock.wall)
        except TheirError as error:
            yield from self._break(error)
            return
        match received:
            case ReceivedConnect() as connect:
                yield from self._connect_received(connect, clock)
            case ReceivedRequests() if self.state not in (ConnectionState.OPEN, ConnectionState.CLOSING):
                yield from self._break(TheirError(DCP_SESSION_FOREIGN, "the session is not open yet"))
            case ReceivedRequests() as requests:
                yield from self._requests_received(requests)
            case ReceivedResponses() as responses if self._expects(responses):
                yield from self._responses_received(responses, clock)
            case ReceivedResponses():
                # Anybody can sign one, and a target signs such for sessions that it does not know.
                yield from self._break(TheirError(DCP_RESPONSE_UNEXPECTED, "it has no dcpsid"))
            case Refused() as refused if self._may_answer(refused):
                result = error_of(refused.error, self._key.address)
                self._responses.append(QueuedResponse(refused.id, result, refused.dcpsid))
            case Refused() as refused:
                yield from self._break(refused.error)

    def _expects(self, received: ReceivedResponses) -> bool:
        """Whether responses are of this session; the initiator overrides this for the one that opens it."""
        return received.dcpsid is not None

    def _may_answer(self, refused: Refused) -> bool:
        """Whether a message that is refused is answered: in the session of its peer, and while there is no session.

        Anybody else who got a refusal with the dcpsid of this session could inject it as the answer to a request.
        """
        if self.state in (ConnectionState.OPEN, ConnectionState.CLOSING):
            return refused.dcpsid is not None
        return self.state is ConnectionState.NEW and not refused.is_foreign

    def _connect_received(self, connect: ReceivedConnect, clock: Clock) -> Iterator[ConnectionEvent]:
        """A session is connected once, and by its initiator only; the target overrides this."""
        del connect, clock
        yield from self._break(TheirError(DCP_OPERATION_UNKNOWN, "this end has a session, or is an initiator"))

    def _requests_received(self, received: ReceivedRequests) -> Iterator[ConnectionEvent]:
        first = received.batch_id or received.requests[0].id
        self._next_nonces[first] = received.following
        if received.batch_id:
            self._respond(received.batch_id, None)
        for index, request in enumerate(received.requests):
            if self.state is ConnectionState.CLOSED:
                self._refuse(request.id, TheirError(DCP_SESSION_OVER))
                continue
            try:
                admitted = self._receiver.admit(received, index)
                is_answered = operations.is_answered_without_result(admitted.operation, routes_v3=self.routes_v3)
                if not is_answered:
                    self._receiver.count(admitted)
            except (TheirError, NotNowError) as error:
                self._refuse(request.id, error)
                continue
            if not is_answered:
                yield RequestReceived(admitted)
                continue
            self._respond(request.id, None)
            if admitted.operation == operations.CLOSE:
                yield from self._end(ConnectionStep.CLOSE_RECEIVED, None)

    def _responses_received(self, received: ReceivedResponses, clock: Clock) -> Iterator[ConnectionEvent]:
        outgoing = self._outgoing
        outgoing.nonce = received.nonce or outgoing.nonce
        for response in received.responses:
            self._peer_clock = PeerClock(response.time, clock.monotonic)
            of_message = outgoing.messages.pop(response.id, None)
            if of_message is None and response.id not in outgoing.sent:
                yield from self._break(TheirError(DCP_RESPONSE_UNEXPECTED))
                return
            # Whoever captured the message gets such a refusal by sending it again, after it was performed.
            may_be_performed = of_message is not None and not response.success and not received.nonce
            for name in [response.id] if of_message is None or response.success else of_message:
                if name not in outgoing.sent:
                    continue
                operation = outgoing.sent.pop(name)
                if operation == operations.CLOSE and self.state is ConnectionState.CLOSING:
                    yield from self._end(ConnectionStep.CLOSE_ANSWERED, None)
                    return
                yield _outcome(name, response, may_be_performed=may_be_performed)
        # Requests of earlier messages may be answered much later; they bring no nonce.
        if not outgoing.nonce and outgoing.last.isdisjoint({*outgoing.sent, *outgoing.messages}):
            yield from self._break(TheirError(DCP_SESSION_OVER, "the peer gave no nonce for a next request"))

    def _next_responses(self, clock: Clock) -> bytes:
        most = self._options.max_messages
        if most > 1:
            most += 1  # a batch of so many requests is acknowledged beside its responses
        dcpsid, taken = self._responses[0].dcpsid, [self._responses.popleft()]
        while self._responses and self._responses[0].dcpsid == dcpsid and len(taken) < most:
            taken.append(self._responses.popleft())
        nonce = next((each.nonce for each in taken if each.nonce), None)
        bodies = [response_body(each.id, each.result, now=clock.wall, dcpsid=dcpsid) for each in taken]
        batch_id = self._token() if len(bodies) > 1 else None
        return self._signed(answer_body(bodies, dcpsid=dcpsid, nonce=nonce, batch_id=batch_id))

    def _next_requests(self, nonce: str, clock: Clock) -> bytes:
        outgoing = self._outgoing
        count = min(len(outgoing.waiting), self._options.max_messages)
        taken = [outgoing.waiting.popleft() for _ in range(count)]
        outgoing.nonce = None
        outgoing.sent |= {name: request.operation for name, request in taken}
        outgoing.last = frozenset(name for name, _ in taken)
        bodies = [self._body(name, request, clock) for name, request in taken]
        batch_id = self._ids.new() if len(taken) > 1 else None
        outgoing.messages[batch_id or taken[0][0]] = [name for name, _ in taken]
        if batch_id is None:
            return self._signed({**bodies[0], "dcpsid": self.dcpsid, "nonce": nonce})
        outgoing.last |= {batch_id}
        return self._signed(
            {"type": REQUEST_BATCH, "id": batch_id, "payload": list(bodies), "dcpsid": self.dcpsid, "nonce": nonce}
        )

    def _body(self, name: str, request: NewRequest, clock: Clock) -> dict[str, JsonValue]:
        payload = request.payload if request.auth else self._with_validity(request.payload, clock)
        return request_body(request, payload, name, hex_prefix=self._options.hex_prefix)

    def _with_validity(self, payload: JsonObject, clock: Clock) -> dict[str, JsonValue]:
        known = None if self._options.ntp else self._peer_clock
        time = validity_time(known, clock.monotonic, clock.wall)
        return with_validity(payload, time=time, ttl=self._options.ttl, stamp=self._token())

    def _signed(self, body: dict[str, JsonValue]) -> bytes:
        return sign_body(body, self._key, hex_prefix=self._options.hex_prefix)

    # --- ends --------------------------------------------------------------------------------------------------------

    def _queue(self, request: NewRequest) -> str:
        name = request.id or self._ids.new()
        self._outgoing.waiting.append((name, request))
        return name

    def _respond(self, name: str, result: Result) -> None:
        self._responses.append(QueuedResponse(name, result, self.dcpsid, self._next_nonces.pop(name, None)))

    def _refuse(self, name: str, error: TheirError | NotNowError) -> None:
        """Respond with a refusal. `name`: "": the request has no id, so that nothing can be said of it."""
        if name:
            self._respond(name, error_of(error, self._key.address))

    def _break(self, error: TheirError | NotNowError) -> Iterator[ConnectionEvent]:
        """End the session because of a message that must not be: it can never be used again."""
        self._responses.clear()
        if self.dcpsid:
            self._store.close(self.dcpsid)
        yield from self._end(ConnectionStep.BROKEN, error_of(error, self._key.address))

    def _end(self, step: ConnectionStep, error: ErrorPayload | None) -> Iterator[ConnectionEvent]:
        self._take(step)
        outgoing, self._outgoing = self._outgoing, RequestQueue()
        yield from (RequestUnanswered(name, was_sent=True) for name in outgoing.sent)
        yield from (RequestUnanswered(name, was_sent=False) for name, _ in outgoing.waiting)
        yield SessionEnded(error)

    def _take(self, step: ConnectionStep) -> None:
        self.state = self._table[self.state, step]

    def _token(self) -> str:
        return base64.urlsafe_b64encode(self._random(_TOKEN_BYTES)).decode().rstrip("=")


def _outcome(name: str, response: Response, *, may_be_performed: bool) -> ConnectionEvent:
    """What became of a request that was answered. `may_be_performed`: although the answer is an error."""
    if response.success:
        return RequestAnswered(name, response.payload)
    error = read_error(response.payload)
    return RequestUnanswered(name, was_sent=True, refusal=error) if may_be_performed else RequestFailed(name, error)
