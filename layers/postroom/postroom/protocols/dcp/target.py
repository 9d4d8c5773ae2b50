"""The target of a connection: it waits for a connect, and opens the session."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.connect import VERSION
from postroom.protocols.dcp.connection_events import ConnectionEvent, SessionOpened
from postroom.protocols.dcp.endpoint import Clock, Endpoint, QueuedResponse, SendOptions
from postroom.protocols.dcp.receiving import ReceivedConnect, ReceiveLimits
from postroom.protocols.dcp.session_names import (
    RANDOM_BYTES,
    NamesOfIdentities,
    OneSession,
    OpenedSession,
    SessionNames,
)
from postroom.protocols.dcp.session_store import ConnectionStore
from postroom.protocols.dcp.states import TARGET, ConnectionState, ConnectionStep

_SECRET_BYTES = 32


class ConnectionTarget(Endpoint):
    """The target of one connection. `store`: shared by all connections of a target, as stamps count on each of them;
    `random`: so many random bytes.
    """

    def __init__(
        self,
        key: EthereumKey,
        *,
        store: ConnectionStore,
        random: Callable[[int], bytes],
        limits: ReceiveLimits | None = None,
        options: SendOptions | None = None,
    ) -> None:
        super().__init__(
            key,
            table=TARGET,
            sessions=NamesOfIdentities(()),
            store=store,
            random=random,
            limits=limits or ReceiveLimits(),
            options=options or SendOptions(ntp=True),
        )

    def _connect_received(self, connect: ReceivedConnect, clock: Clock) -> Iterator[ConnectionEvent]:
        if self.state is not ConnectionState.NEW:
            yield from super()._connect_received(connect, clock)
            return
        names = SessionNames(self._key.address, self._random(_SECRET_BYTES))
        dcpsid = names.new(connect.half, connect.peer, now=clock.wall, random=self._random(RANDOM_BYTES))
        first_nonce = names.first_nonce(dcpsid, connect.peer)
        until = clock.wall + self._receiver.limits.session_seconds
        session = OneSession(dcpsid, connect.peer, OpenedSession(self._key.address, first_nonce, until, clock.wall))
        self.dcpsid = dcpsid
        self._receiver = replace(self._receiver, sessions=session)
        self._outgoing.nonce = connect.nonce
        self._take(ConnectionStep.CONNECT_RECEIVED)
        if connect.batch_id:
            self._responses.append(QueuedResponse(connect.batch_id, None, dcpsid))
        self._responses.append(QueuedResponse(connect.id, {"version": VERSION}, dcpsid, first_nonce))
        yield SessionOpened(dcpsid, connect.peer)
