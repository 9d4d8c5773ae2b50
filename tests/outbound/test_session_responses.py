"""The response to a peer of DCP who waits for mail: signed by the session's identity, and sent to its WebSocket."""

import itertools
import json
from dataclasses import dataclass, field, replace

import pytest
from tests.protocols.dcp.guarded import NOW, OWNER, US, at_once, numbered

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.outbound.session_responses import SessionResponses
from postroom.protocols.dcp.connection_events import ConnectionEvent, RequestAnswered, RequestFailed, SessionOpened
from postroom.protocols.dcp.endpoint import Clock
from postroom.protocols.dcp.guardian import AnsweredLater, Guardian
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest, new_payload
from postroom.protocols.dcp.reasons import WATCH_REPLACED
from postroom.protocols.dcp.receiving import Receiver
from postroom.protocols.dcp.session_names import NamesOfIdentities, SessionNames
from postroom.storage.directory.notification_targets import NotificationTarget, TargetKind
from postroom.storage.directory.watching_sessions import WatchingSession
from postroom.storage.secrets.dcp_identities import DcpIdentity

AT = Clock(NOW, NOW)


@dataclass
class FakeIdentities:
    keys: tuple[EthereumKey, ...] = (US,)

    def newest_first(self) -> tuple[DcpIdentity, ...]:
        return tuple(DcpIdentity(key, SessionNames(key.address, key.secret[::-1])) for key in self.keys)


@dataclass
class FakeSockets:
    """`is_open`: what sending says; None: it fails."""

    is_open: bool | None = True
    sent: list[tuple[str, bytes]] = field(default_factory=list)

    def send(self, connection: str, message: bytes) -> bool:
        if self.is_open is None:
            raise NotNowError(OUTBOUND_FAILED)
        self.sent.append((connection, message))
        return self.is_open


def target(session: WatchingSession) -> NotificationTarget:
    return NotificationTarget("shop.com", "5x", TargetKind.SESSION, session.encode(), 0)


def responses(sockets: FakeSockets, *keys: EthereumKey) -> SessionResponses:
    return SessionResponses(lambda: FakeIdentities(keys or (US,)), lambda: sockets, lambda: NOW)  # type: ignore[arg-type,return-value]


def connected(random: object) -> tuple[ConnectionInitiator, Guardian]:
    """An initiator with a session at a guardian."""
    bytes_of = numbered(random)  # type: ignore[arg-type]
    names = SessionNames(US.address, US.secret[::-1])
    receiver = Receiver(frozenset({US.address}), NamesOfIdentities([names]), MemoryStore(), lambda: bytes_of(16).hex())
    guardian = Guardian(receiver, names, {US.address: US}, bytes_of)
    initiator = ConnectionInitiator(OWNER, store=MemoryStore(), random=bytes_of)
    answer = guardian.answer(initiator.connect(AT), NOW, at_once(lambda _: None)).data
    [opened] = initiator.receive(answer, AT)
    assert isinstance(opened, SessionOpened)
    return initiator, guardian


def watching() -> tuple[ConnectionInitiator, tuple[str, str], bytes]:
    """An initiator that sent a watch and another request, the ids of both, and the acknowledgement."""
    initiator, guardian = connected(itertools.count(1))
    watch, other = (initiator.send(NewRequest(new_payload(name))) for name in ("watch", "status"))
    [message] = initiator.messages(AT)
    answer = guardian.answer(
        message, NOW, at_once(lambda admitted: AnsweredLater() if admitted.operation == "watch" else {"waiting": 0})
    )
    return initiator, (watch, other), answer.data


@pytest.mark.parametrize("is_first", [False, True], ids=["behind the acknowledgement", "before the acknowledgement"])
def test_the_initiator_takes_it_for_the_answer_to_its_request(is_first: bool) -> None:
    initiator, (watch, other), acknowledgement = watching()
    sockets = FakeSockets()
    assert initiator.dcpsid is not None
    session = WatchingSession("connection=", initiator.dcpsid, watch, US.address)
    assert responses(sockets).carry(target(session), "n", "")
    [(connection, response)] = sockets.sent
    assert connection == "connection="
    arrived = [response, acknowledgement] if is_first else [acknowledgement, response]
    events: list[ConnectionEvent] = [event for each in arrived for event in initiator.receive(each, AT)]
    assert {event.id for event in events if isinstance(event, RequestAnswered)} == {watch, other}
    initiator.send(NewRequest(new_payload("status")))
    assert initiator.messages(AT), "the session goes on, with the nonce of the acknowledgement"


def test_it_says_nothing_but_that_there_is_mail() -> None:
    sockets = FakeSockets()
    responses(sockets).carry(target(WatchingSession("c", "X-Y", "r", US.address)), "n", "content")
    [(_, response)] = sockets.sent
    assert json.loads(response)["body"] == {
        "type": "response", "id": "r", "time": int(NOW), "success": True, "dcpsid": "X-Y", "nonce": None,
    }  # fmt: skip


def test_a_watch_that_was_replaced_is_answered_by_an_error() -> None:
    initiator, (watch, other), acknowledgement = watching()
    assert initiator.dcpsid is not None
    session, sockets = WatchingSession("connection=", initiator.dcpsid, watch, US.address), FakeSockets()
    assert responses(sockets).refuse(session, NotNowError(WATCH_REPLACED), 0)
    [(connection, response)] = sockets.sent
    assert connection == "connection="
    events = [event for each in (acknowledgement, response) for event in initiator.receive(each, AT)]
    [failed] = [event for event in events if isinstance(event, RequestFailed)]
    assert (failed.id, failed.error.code, failed.error.origin) == (watch, "WatchReplaced", US.address)
    assert {event.id for event in events if isinstance(event, RequestAnswered)} == {other}
    initiator.send(NewRequest(new_payload("status")))
    assert initiator.messages(AT), "the session goes on"


def test_the_identity_that_the_session_was_opened_at_signs_it() -> None:
    sockets = FakeSockets()
    older = EthereumKey.generate()
    responses(sockets, US, older).carry(target(WatchingSession("c", "X-Y", "r", older.address)), "n", "")
    assert json.loads(sockets.sent[0][1])["owner"] == older.address


def test_of_an_identity_that_was_taken_out_nothing_is_sent() -> None:
    sockets = FakeSockets()
    assert not responses(sockets).carry(target(WatchingSession("c", "X-Y", "r", Address("0" * 40))), "n", "")
    assert sockets.sent == []


def test_an_identity_that_may_be_new_is_waited_for() -> None:
    session = WatchingSession("c", "X-Y", "r", Address("0" * 40))
    young = replace(target(session), made_at_ms=int(NOW * 1000) - 100_000)
    with pytest.raises(NotNowError, match="signing"):
        responses(FakeSockets()).carry(young, "n", "")


def test_a_closed_websocket_is_told_and_a_failure_is_retried() -> None:
    waits = target(WatchingSession("c", "X-Y", "r", US.address))
    assert not responses(FakeSockets(is_open=False)).carry(waits, "n", "")
    with pytest.raises(NotNowError):
        responses(FakeSockets(is_open=None)).carry(waits, "n", "")
