"""A target that answers each signed message with one signed message, and keeps nothing but its store in between."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.connect import VERSION
from postroom.protocols.dcp.error_payload import ErrorPayload, Result, error_of
from postroom.protocols.dcp.messages import Request
from postroom.protocols.dcp.reasons import DCP_RESPONSE_UNEXPECTED, DCP_SESSION_OVER
from postroom.protocols.dcp.receiving import (
    Admitted,
    ReceivedConnect,
    ReceivedRequests,
    ReceivedResponses,
    Receiver,
    Refused,
)
from postroom.protocols.dcp.responses import answer_body, response_body
from postroom.protocols.dcp.session_names import RANDOM_BYTES, SessionNames
from postroom.protocols.dcp.signed_message import sign_body


@dataclass(frozen=True, slots=True)
class FailedOperation:
    """An operation that failed. `without_effect`: it changed nothing, and the error says nothing of what was requested,
    so that the same request may be sent again."""

    error: ErrorPayload | TheirError | NotNowError
    without_effect: bool = False


@dataclass(frozen=True, slots=True)
class AnsweredLater:
    """The result of an operation whose response is sent later (`write_late_response`).

    Only for requests in a batch, whose acknowledgement brings the nonce for what the peer sends meanwhile.
    """


@dataclass(frozen=True, slots=True)
class GuardianAnswer:
    """An answer. `data`: the signed message; `refusals`: what it refuses, the whole message or some of its requests.

    `ends_connection`: the connection that the message came by must be closed, if there is one.
    """

    data: bytes
    refusals: tuple[TheirError | NotNowError, ...] = ()
    ends_connection: bool = False


@dataclass(frozen=True, slots=True)
class PreparedOperation:
    """An operation that may be performed. `owner`: of what it is about, whose stamp the request has (`Admitted.use`).

    `perform`: does it, when the request counts; None: it has no result. Raises TheirError for what it refuses.
    """

    owner: str | None
    perform: Callable[[], "JsonValue | FailedOperation | AnsweredLater"]


Prepare: TypeAlias = Callable[[Admitted], PreparedOperation]
"""Checks what a request says, and who may do it, before anything is written for it. Raises TheirError, NotNowError."""


@dataclass(frozen=True, slots=True)
class Guardian:
    """A target of the sessions of `names`. `keys`: of all its identities; `routes_v3`: the operation v3 is
    performed, too."""

    receiver: Receiver
    names: SessionNames
    keys: Mapping[Address, EthereumKey]
    random: Callable[[int], bytes]
    routes_v3: bool = False

    def answer(self, data: bytes, now: float, prepare: Prepare) -> GuardianAnswer:
        """The signed answer to a message. `now`: seconds since the epoch.

        Raises TheirError for what cannot be answered under a signature, and ends the connection, too: as
        `Receiver.receive`. Raises NotNowError as the store does, before anything was performed.
        """
        match self.receiver.receive(data, now):
            case ReceivedConnect() as connect:
                return self._open(connect, now)
            case ReceivedRequests() as requests:
                return self._answer_requests(requests, prepare)
            case ReceivedResponses():
                raise TheirError(DCP_RESPONSE_UNEXPECTED)
            case Refused(error=NotNowError() as error):
                raise error
            case Refused() as refused:
                identity = refused.identity or self.names.identity
                body = response_body(refused.id, error_of(refused.error, identity), now=now, dcpsid=refused.dcpsid)
                data = self._sign([body], identity, refused.dcpsid, None, None)
                return GuardianAnswer(data, (refused.error,), ends_connection=refused.is_foreign)

    def _open(self, connect: ReceivedConnect, now: float) -> GuardianAnswer:
        dcpsid = self.names.new(connect.half, connect.peer, now=now, random=self.random(RANDOM_BYTES))
        nonce = self.names.first_nonce(dcpsid, connect.peer)
        bodies = [response_body(connect.id, {"version": VERSION}, now=now, dcpsid=dcpsid)]
        if connect.batch_id:
            bodies.insert(0, response_body(connect.batch_id, None, now=now, dcpsid=dcpsid))
        return GuardianAnswer(self._sign(bodies, self.names.identity, dcpsid, nonce, connect.batch_id))

    def _answer_requests(self, received: ReceivedRequests, prepare: Prepare) -> GuardianAnswer:
        def body_of(name: str, result: Result) -> dict[str, JsonValue]:
            return response_body(name, result, now=received.now, dcpsid=received.dcpsid)

        bodies = [body_of(received.batch_id, None)] if received.batch_id else []
        refusals, closed = [], False
        for index, request in enumerate(received.requests):
            result = TheirError(DCP_SESSION_OVER) if closed else self._result(received, index, prepare)
            if isinstance(result, AnsweredLater):
                continue
            if isinstance(result, TheirError | NotNowError):
                refusals.append(result)
                result = error_of(result, received.identity)
            else:
                closed = isinstance(request, Request) and request.payload.operation == operations.CLOSE
            if request.id:
                bodies.append(body_of(request.id, result))
        data = self._sign(bodies, received.identity, received.dcpsid, received.following, received.batch_id)
        return GuardianAnswer(data, tuple(refusals))

    def _result(
        self, received: ReceivedRequests, index: int, prepare: Prepare
    ) -> "Result | AnsweredLater | TheirError | NotNowError":
        try:
            admitted = self.receiver.admit(received, index)
            if operations.is_answered_without_result(admitted.operation, routes_v3=self.routes_v3):
                # Nothing more is written for these: to repeat one changes nothing, and its nonce counts once.
                return None
            prepared = prepare(admitted)
            self.receiver.count(admitted, prepared.owner)
            result = prepared.perform()
        except (TheirError, NotNowError) as error:
            return error
        if not isinstance(result, FailedOperation):
            return result
        if result.without_effect:
            # If it cannot be given back now, it stays used.
            with suppress(NotNowError):
                self.receiver.store.give_back(admitted.use(prepared.owner))
        return result.error

    def _sign(
        self,
        bodies: Sequence[dict[str, JsonValue]],
        identity: Address,
        dcpsid: str | None,
        nonce: str | None,
        batch_id: str | None,
    ) -> bytes:
        body = answer_body(bodies, dcpsid=dcpsid, nonce=nonce, batch_id=batch_id)
        return sign_body(body, self.keys[identity])


def write_late_response(
    request_id: str, dcpsid: str, key: EthereumKey, now: float, error: TheirError | NotNowError | None = None
) -> bytes:
    """The signed response, without a result, to a request that was to be answered later. It brings no nonce.

    `key`: of the identity that the session was opened at; `now`: seconds since the epoch; `error`: why it failed.
    """
    result = error_of(error, key.address) if error else None
    body = response_body(request_id, result, now=now, dcpsid=dcpsid)
    return sign_body(answer_body([body], dcpsid=dcpsid, nonce=None, batch_id=None), key)
