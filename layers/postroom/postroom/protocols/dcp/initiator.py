"""The initiator of a connection: it connects, and decides whether it accepts the target."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.connect import ACCEPTED, MIN_HALF, VERSION, is_accepted, is_session_id
from postroom.protocols.dcp.connection_events import ConnectionEvent, SessionOpened
from postroom.protocols.dcp.endpoint import Clock, Endpoint, SendOptions
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload, read_error
from postroom.protocols.dcp.payload import NewRequest, new_payload
from postroom.protocols.dcp.peer_clock import PeerClock
from postroom.protocols.dcp.receiving import ReceivedResponses, ReceiveLimits
from postroom.protocols.dcp.session_names import NamesOfIdentities, OneSession, OpenedSession
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.states import INITIATOR, ConnectionState, ConnectionStep


@dataclass(frozen=True, slots=True)
class ExpectedSession:
    """The session that the answer to a connect opens: with any peer, and an id that begins with our half."""

    half: str
    session: OpenedSession

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        """The session, if the id begins with our half."""
        del peer
        return self.session if is_session_id(dcpsid, self.half) else None


class ConnectionInitiator(Endpoint):
    """The initiator of one connection. `expected`: the address that the target must have; None: any.

    `store`: of the requests that the target sends; `random`: so many random bytes.
    """

    def __init__(
        self,
        key: EthereumKey,
        *,
        store: ConnectionStore,
        random: Callable[[int], bytes],
        expected: Address | None = None,
        limits: ReceiveLimits | None = None,
        options: SendOptions | None = None,
    ) -> None:
        self._expected = expected
        self._connect_id = ""
        self._session = OpenedSession(key.address, "", 0)
        super().__init__(
            key,
            table=INITIATOR,
            sessions=NamesOfIdentities(()),
            store=store,
            random=random,
            limits=limits or ReceiveLimits(),
            options=options or SendOptions(),
        )

    def connect(self, clock: Clock) -> bytes:
        """The message that opens the session. Requests that are queued follow when it is answered."""
        self._take(ConnectionStep.CONNECT_SENT)
        # No longer than it must be: the target's half must be as long, and the reference's has the least length.
        half = self._token()[:MIN_HALF]
        self._connect_id, first_nonce = self._ids.new(), self._token()
        until = clock.wall + self._receiver.limits.session_seconds
        self._session = OpenedSession(self._key.address, first_nonce, until, clock.wall)
        self._receiver = replace(self._receiver, sessions=ExpectedSession(half, self._session))
        data: JsonValue = {"version": VERSION, "sid": half}
        body = self._body(self._connect_id, NewRequest(new_payload(operations.CONNECT, data)), clock)
        return self._signed({**body, "nonce": first_nonce})

    def _expects(self, received: ReceivedResponses) -> bool:
        return self.state is ConnectionState.CONNECTING or super()._expects(received)

    def _responses_received(self, received: ReceivedResponses, clock: Clock) -> Iterator[ConnectionEvent]:
        if self.state is not ConnectionState.CONNECTING:
            yield from super()._responses_received(received, clock)
            return
        answer = next((each for each in received.responses if each.id == self._connect_id), None)
        if answer is None:
            yield from self._refuse_target(ErrorCode.EINVAL, "the target answered something that was not requested")
            return
        if not answer.success:
            yield from self._end(ConnectionStep.CONNECT_REFUSED, read_error(answer.payload))
            return
        version = answer.payload.get("version") if isinstance(answer.payload, dict) else None
        if not isinstance(version, str) or not is_accepted(version):
            yield from self._refuse_target(ErrorCode.ETARGETVERSION, f"the target's version is not {ACCEPTED}")
        elif self._expected not in (None, received.peer):
            message = f"the target has the address {received.peer}, and {self._expected} is expected"
            yield from self._refuse_target(ErrorCode.EADDRCHANGE, message)
        elif received.dcpsid is None or not received.nonce:
            yield from self._refuse_target(ErrorCode.EINVAL, "the target gave no dcpsid, or no nonce")
        else:
            self._take(ConnectionStep.CONNECT_ACCEPTED)
            self.dcpsid, self.target_version = received.dcpsid, version
            self._receiver = replace(self._receiver, sessions=OneSession(received.dcpsid, received.peer, self._session))
            self._outgoing.nonce = received.nonce
            self._peer_clock = PeerClock(answer.time, clock.monotonic)
            yield SessionOpened(received.dcpsid, received.peer)

    def _refuse_target(self, code: ErrorCode, message: str) -> Iterator[ConnectionEvent]:
        yield from self._end(
            ConnectionStep.CONNECT_REFUSED, ErrorPayload("Error", message, code, self._key.address, is_protocol=True)
        )
