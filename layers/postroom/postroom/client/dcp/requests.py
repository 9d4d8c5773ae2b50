"""Requests of a connection: those that its application makes, and those that it receives."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from postroom.client.dcp.errors import DcpError
from postroom.client.dcp.keystores import AnyKey, unlocked
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import does_authorize
from postroom.protocols.dcp.cheques import request_of
from postroom.protocols.dcp.error_payload import ErrorPayload, Result
from postroom.protocols.dcp.messages import Allowance, JsonObject
from postroom.protocols.dcp.payload import NewRequest, new_payload
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.v3 import V3Message, read_v3, v3_result

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Authorization:
    """What the key of a resource is to authorize; None: the target of the connection, our own identity."""

    key: EthereumKey
    guardian: Address | None = None
    accessor: Address | None = None

    def allowance(self, peer: Address, own: Address) -> Allowance:
        """The entry of `allow`."""
        return Allowance(self.key.address, self.guardian or peer, self.accessor or own)


@dataclass
class DraftRequest:
    """A request that is to be sent. `validity`: what of it is known; the connection adds the rest when it is sent.

    `id`: no other request of ours has it (DCP: Connection.Request), and it does not begin with ~; "": the connection
    makes one.
    """

    operation: str
    data: JsonValue = None
    validity: JsonObject = field(default_factory=dict)
    authorizations: list[Authorization] = field(default_factory=list)
    id: str = ""

    def authorize(self, key: AnyKey, guardian: Address | None = None, accessor: Address | None = None) -> Self:
        """Let the guardian do what is requested to the resource of a key, when it is received from the accessor.

        None: the target of the connection is the guardian, and our identity the accessor. A keystore is unlocked now;
        the key signs the payload when the request is sent. Raises as `Keystore.unlock` does.
        """
        self.authorizations.append(Authorization(unlocked(key), guardian, accessor))
        return self

    def made_for(self, peer: Address, own: Address, *, hex_prefix: bool) -> NewRequest:
        """What is sent to a peer by our own identity."""
        allow = [each.allowance(peer, own) for each in self.authorizations]
        payload = new_payload(
            self.operation, self.data, allow=allow, validity=self.validity, hex_prefix=hex_prefix
        )  # fmt: skip
        keys = {each.key.address: each.key for each in self.authorizations}
        return NewRequest(payload, tuple(keys.values()), id=self.id)


@dataclass(kw_only=True)
class OutgoingRequest(DraftRequest, Generic[R]):
    """A request of a connection (DCP: Connection.Request). `R`: what sending it returns."""

    _send: "Callable[[OutgoingRequest[R]], R]" = field(repr=False)

    def send(self, *keys: AnyKey) -> R:
        """Send it, authorized by each key for the target of the connection, and return its result.

        Raises DcpError, and as `authorize` does.
        """
        for key in keys:
            self.authorize(key)
        return self._send(self)


class AnsweredBeforeError(DcpError):
    """A received request was responded to before."""


@dataclass
class IncomingRequest:
    """A request that was received. It must be responded to once."""

    admitted: Admitted
    _respond: Callable[[Admitted, Result], None] = field(repr=False)
    _identity: Address = field(repr=False)
    _is_answered: bool = False

    @property
    def operation(self) -> str:
        """What is requested."""
        return self.admitted.operation

    @property
    def data(self) -> JsonValue:
        """Its arguments."""
        return self.admitted.data

    @property
    def peer(self) -> Address:
        """The address of the identity that sent it."""
        return self.admitted.peer

    @property
    def resources(self) -> frozenset[Address]:
        """The resources that authorized it in full: for us as the guardian, and for this peer as the accessor."""
        return self.admitted.resources

    def does_authorize(
        self,
        resource: str,
        guardian: str | None = None,
        accessor: str | None = None,
        *,
        verify: bool = True,
    ) -> bool:
        """Whether a resource authorizes this (DCP: Connection.Request.doesAuthorize).

        None: we are the guardian, and the peer is the accessor. Addresses are taken in any form, with or without 0x.
        `verify` False: the signature is not asked for. Raises ValueError for what is no address.
        """
        named = resource, guardian or self._identity, accessor or self.peer
        allowance = Allowance(*map(read_address, named))
        return does_authorize(self.admitted.request, allowance, verify=verify)

    def as_cheque(self) -> NewRequest:
        """What was authorized, unchanged, for `present` of a connection to the guardian (DCP: Third-Party Requests)."""
        return request_of(self.admitted.request)

    def respond(self, result: JsonValue = None) -> None:
        """Respond with success, with a payload or without. Raises AnsweredBeforeError."""
        self._answer(result)

    def fail(self, message: str, *, code: str | None = None, name: str = "Error") -> None:
        """Respond with an error (DCP: ErrorPayload, form 2). Raises AnsweredBeforeError."""
        self._answer(replace(self.error(message, code=code, name=name), is_protocol=True))

    def error(self, message: str, *, code: str | None = None, name: str = "Error") -> ErrorPayload:
        """An error of our identity."""
        return ErrorPayload(name, message, code, self._identity)

    def refuse(self, error: ErrorPayload) -> None:
        """Respond with an error whose origin may be another identity. Raises AnsweredBeforeError."""
        self._answer(replace(error, origin=error.origin or self._identity))

    def _answer(self, result: Result) -> None:
        if self._is_answered:
            raise AnsweredBeforeError(f"the request {self.operation!r} was responded to before")
        self._is_answered = True
        self._respond(self.admitted, result)

    @property
    def is_answered(self) -> bool:
        """Whether it was responded to."""
        return self._is_answered


@dataclass(frozen=True, slots=True)
class IncomingV3(V3Message):
    """A message of version 3 that was received (DCP: v3). It must be responded to once.

    `url`: the route; `message`: what was sent to it; `owner`: whom version 3 takes for its sender, the first resource
    that authorized it in full, otherwise the peer.
    """

    _request: IncomingRequest = field(repr=False)

    @classmethod
    def read(cls, request: IncomingRequest) -> Self:
        """The message in a request. Raises TheirError(DCP_BODY_INVALID)."""
        found = read_v3(request.admitted)
        return cls(found.url, found.message, found.owner, request)

    @property
    def peer(self) -> Address:
        """The address of the identity that sent it."""
        return self._request.peer

    def respond(self, result: JsonValue = None) -> None:
        """Respond with a result: it was resolved. Raises AnsweredBeforeError."""
        self._request.respond(v3_result(result))

    def fail(self, message: str, *, code: str | None = None, name: str = "Error") -> None:
        """Respond with an error: it was rejected. Raises AnsweredBeforeError."""
        self._request.respond(v3_result(self._request.error(message, code=code, name=name)))

    @property
    def is_answered(self) -> bool:
        """Whether it was responded to."""
        return self._request.is_answered
