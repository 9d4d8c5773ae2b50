"""The flows of watch: an owner waits for mail over a WebSocket, and the courier tells them, once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.faults.clock import CLOCK
from tests.faults.dcp import OWNER, DcpFlow, DcpRun, opened
from tests.faults.dcp_wire import Exchange, Json, UnansweredError, Wire
from tests.faults.flows import Run
from tests.faults.judge import Judge
from tests.faults.messages import Message, is_taken, nlweb, who_is
from tests.faults.notifications import NotificationFlow, forget_targets
from tests.faults.owners import Owners
from tests.faults.queues import Queues, event_of
from tests.faults.stack import FaultStack
from tests.functions.samples import RECEIVER, SOCKET, SOCKET_HOST
from tests.protocols.dcp.guarded import Peer

from postroom.api.dcp import WATCH
from postroom.core.errors import NotNowError
from postroom.crypto.ethereum import Address
from postroom.outbound.notification_messages import WatchReplaced
from postroom.protocols.dcp.error_payload import error_of
from postroom.protocols.dcp.reasons import WATCH_REPLACED
from postroom.protocols.dcp.responses import response_body
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.storage.directory.notification_targets import MAX_SESSIONS, SESSION_SECONDS
from postroom.storage.directory.watching_sessions import WatchingSession

_LIST, _DCPSID, _REQUEST = "messages", "X-Y", "a request"
_GONE = 410
_UNTIL_KNOWN_SECONDS = 31
"""A second more than DIRECTORY_CACHE_SECONDS, when every worker knows who waits."""


@dataclass(frozen=True)
class Look:
    """What the owner knows of a batch with a watch and a list of messages. `listed`: the messages; None: unknown."""

    request: str
    dcpsid: str
    acknowledged: bool
    listed: frozenset[str] | None

    @staticmethod
    def of(exchange: Exchange) -> "Look":
        """What a batch was answered."""
        body, answer = exchange.body, exchange.answer
        watch, listing = (request["id"] for request in body["payload"])
        # A batch that is refused as a whole has one response, and no nonce.
        responses = {each["id"]: each for each in answer["payload"]} if answer and answer["nonce"] else {}
        acknowledged = bool(responses) and watch not in responses
        listed = responses.get(listing, {"success": False})
        if not listed["success"]:
            return Look(watch, body["dcpsid"], acknowledged, None)
        envelopes = (each["envelope"] for each in listed["payload"]["body"]["messages"])
        return Look(watch, body["dcpsid"], acknowledged, frozenset(map(who_is, envelopes)))


@dataclass(frozen=True)
class WatchFlow(DcpFlow):
    """The victim is the mailbox API: an owner sends a watch, and lists their messages behind it.

    A message is filed while the victim waits before a call, and another one in the end.
    """

    def prepare(self, stack: FaultStack) -> Run:
        """Forget earlier runs, and open a session."""
        self.leave(stack)
        stack.wipe()
        stack.internet.forget()
        run = DcpRun([nlweb(), nlweb()], wire=Wire(stack, over_socket=True))
        run.peers = [opened(run.wire, OWNER, "watch")]
        return run

    def overtake(self, stack: FaultStack, run: Run) -> None:
        """File a message."""
        _file(stack, run.messages[0])

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        [owner] = peers
        with suppress(UnansweredError):
            owner.send(_batch(owner))

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """An owner who does not know that they wait does so in a new session; more mail comes; then late copies do."""
        assert isinstance(run, DcpRun)
        queues, looks = Queues(stack, run.copies), [Look.of(run.wire.exchanges()[-1])]
        self._rest(stack, queues)
        faults = list(_faults_of_look(stack, looks[0]))
        if not looks[0].acknowledged:
            owner = opened(run.wire, OWNER, "anew")
            owner.send(_batch(owner))
            looks.append(Look.of(run.wire.exchanges()[-1]))
            faults += _faults_of_look(stack, looks[1])
        CLOCK.sleep(_UNTIL_KNOWN_SECONDS)
        _file(stack, run.messages[1])
        self._rest(stack, queues)
        # A late copy of the message that a watch was replaced answers it again: nobody knows of it any more.
        faults += self._faults_of_others(stack)
        queues.hand_out_copies()
        self._rest(stack, queues)
        told = [_told(stack, look.request) for look in looks]
        if not looks[-1].acknowledged or not told[-1]:
            faults.append("an owner who waits was not told of mail")
        faults += [f"a watch was answered {times} times" for times in told if times > 1]
        dcpsids = {look.request: look.dcpsid for look in looks} | {request: f"{request}-Y" for request in self._others}
        faults += _faults_of_sent(stack, dcpsids, run.wire.guardian, replaced=self._others)
        faults += [*_faults_of_rows(stack), *Judge(stack, queues).faults_of_queues()]
        self.leave(stack)
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """Remove those who wait, because other flows have none."""
        forget_targets(stack)

    @property
    def _others(self) -> tuple[str, ...]:
        """The requests of sessions that waited before, in their order."""
        return ()

    def _faults_of_others(self, stack: FaultStack) -> Iterator[str]:
        """The problems of sessions that waited before."""
        return iter(())


@dataclass(frozen=True)
class ReplacingFlow(WatchFlow):
    """The same, while as many sessions wait as may: the first one loses its place, and is told so, if that succeeds."""

    def prepare(self, stack: FaultStack) -> Run:
        """Let the others wait."""
        run = super().prepare(stack)
        for number, request in enumerate(self._others):
            session = WatchingSession(SOCKET, f"{request}-Y", request, _identity(stack))
            at_ms = int(CLOCK() * 1000) - 1000 * (len(self._others) - number)
            stack.deployed.storage.targets.watch(RECEIVER, session, random_id=f"{number:032x}", now_ms=at_ms)
        return run

    @property
    def _others(self) -> tuple[str, ...]:
        return tuple(f"{_REQUEST} {number}" for number in range(MAX_SESSIONS))

    def _faults_of_others(self, stack: FaultStack) -> Iterator[str]:
        told = [_told(stack, request) for request in self._others]
        # A session that is looked for anew takes the place of a second one.
        if any(times != 1 for times in told[2:]) or max(told) > 1:
            yield f"the sessions that waited before were told {told} times"


@dataclass(frozen=True)
class ToldFlow(NotificationFlow):
    """The victim is the courier, and a session waits for mail. `busy`: what API Gateway answers to the victim; earlier
    runs were answered 503.

    `too_late`: by the victim's run, no WebSocket is open that was when the session began to wait.
    """

    too_late: bool = False

    def prepare(self, stack: FaultStack) -> Run:
        """Let the session wait, and do the earlier runs."""
        run = super().prepare(stack)
        run.ahead = SESSION_SECONDS + 1 if self.too_late else 0
        return run

    def _add_targets(self, stack: FaultStack) -> None:
        session = WatchingSession(SOCKET, _DCPSID, _REQUEST, _identity(stack))
        stack.deployed.storage.targets.watch(RECEIVER, session, random_id=f"{0:032x}", now_ms=int(CLOCK() * 1000))

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Process everything; then deliver late copies."""
        CLOCK.ahead = run.ahead
        queues, faults = Queues(stack, run.copies), []
        told, waits = _told(stack, _REQUEST), bool(stack.deployed.storage.targets.of(RECEIVER))
        if answers:
            queues.finish(self.queue, run.batch, answers[0])
        self._rest(stack, queues)
        now_told = _told(stack, _REQUEST)
        if not now_told and not self._ends_untold:
            faults.append("an owner who waits was not told of mail")
        # The row is there until the response is known to have arrived: if it is not removed, the response comes again.
        if now_told > told + waits:
            faults.append("a watch was answered again, after its row had been removed")
        queues.hand_out_copies()
        self._rest(stack, queues)
        if _told(stack, _REQUEST) != now_told:
            faults.append("a watch was answered again because of a late copy")
        faults += _faults_of_sent(stack, {_REQUEST: _DCPSID}, _identity(stack))
        if [who for _, who in Owners.watched(stack.deployed).shown()] != [each.who for each in run.messages]:
            faults.append("the messages are not listed")
        faults += [*_faults_of_rows(stack), *Judge(stack, queues).faults_of_queues()]
        self.leave(stack)
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    @property
    def _ends_untold(self) -> bool:
        """Whether the watch ends although nobody was told: the WebSocket is gone."""
        return self.busy == _GONE or self.too_late


@dataclass(frozen=True)
class RacedFlow(ToldFlow):
    """Two notifications of the session are queued: the victim has one, and while it waits, another courier works off
    what else is there.
    """

    def prepare(self, stack: FaultStack) -> Run:
        """Queue both."""
        run = super().prepare(stack)
        queues = Queues(stack, run.copies)
        queues.finish(self.queue, run.batch, stack.call(self.function, event_of(self.queue, run.batch)))
        received = queues.receive(self.queue)
        run.batch = [each for each in received if "notification" in json.loads(each["Body"])][:1]
        queues.release(self.queue, [each for each in received if each not in run.batch])
        return run

    def overtake(self, stack: FaultStack, run: Run) -> None:
        """Process what is left in the queue."""
        assert Queues(stack).work_off()

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """As for one notification; and one response came, because a second one would end the session."""
        told = _told(stack, _REQUEST)
        faults = super().settle(stack, run, answers)
        return [f"two notifications made {told} responses", *faults] if told > 1 else faults


@dataclass(frozen=True)
class ReplacedFlow(ToldFlow):
    """The victim is the courier, which tells a session that it was replaced."""

    def prepare(self, stack: FaultStack) -> Run:
        """Queue that."""
        stack.wipe()
        stack.internet.forget()
        session = WatchingSession(SOCKET, _DCPSID, _REQUEST, _identity(stack))
        replaced = WatchReplaced(RECEIVER, session.encode(), int(CLOCK() * 1000))
        stack.deployed.storage.courier_queue.send(replaced.encode(), group=replaced.group)
        stack.internet.buffers({SOCKET_HOST: 503})
        run, queues = Run([]), Queues(stack)
        for _ in range(self.turns - 1):
            batch = queues.receive(self.queue)
            queues.finish(self.queue, batch, stack.call(self.function, event_of(self.queue, batch)))
        run.batch = queues.receive(self.queue)
        queues.release(self.queue, run.batch)
        run.copies, run.ahead = queues.copies, SESSION_SECONDS + 1 if self.too_late else 0
        stack.internet.buffers({SOCKET_HOST: self.busy})
        return run

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Process everything."""
        CLOCK.ahead = run.ahead
        queues = Queues(stack, run.copies)
        if answers:
            queues.finish(self.queue, run.batch, answers[0])
        self._rest(stack, queues)
        faults = list(_faults_of_sent(stack, {_REQUEST: _DCPSID}, _identity(stack), replaced=(_REQUEST,)))
        if not _told(stack, _REQUEST) and not self._ends_untold:
            faults.append("a session was not told that it was replaced")
        faults += Judge(stack, queues).faults_of_queues()
        self.leave(stack)
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))


def _identity(stack: FaultStack) -> Address:
    """The guardian's."""
    return stack.deployed.storage.dcp_identities.newest_first()[0].key.address


def _batch(owner: Peer) -> Json:
    """A watch, and a list of the messages behind it."""
    both = (owner.request(name, {"mailbox": RECEIVER}, keys=(OWNER,)) for name in (WATCH, _LIST))
    return owner.batch(*both)


def _file(stack: FaultStack, message: Message) -> None:
    """Let a message come in, and file it."""
    assert is_taken(stack.call(message.inbox, message.posted()))
    queues = Queues(stack)
    claims = queues.receive("ClaimsQueue")
    queues.finish("ClaimsQueue", claims, stack.call("WorkerFunction", event_of("ClaimsQueue", claims)))


def _told(stack: FaultStack, request: str) -> int:
    """How often the response to a request arrived."""
    return sum(
        each.arrived and read_signed_message(each.message).body["id"] == request for each in stack.internet.sent()
    )


def _faults_of_look(stack: FaultStack, look: Look) -> Iterator[str]:
    """What is filed, and was neither listed behind the watch nor told of."""
    filed = {who for _, who in Owners.watched(stack.deployed).shown()}
    if look.acknowledged and look.listed is not None and filed - look.listed and not _told(stack, look.request):
        yield "mail was neither listed behind the watch, nor was its owner told"


def _faults_of_sent(
    stack: FaultStack, dcpsids: Mapping[str, str], guardian: Address, replaced: Sequence[str] = ()
) -> Iterator[str]:
    """What was sent to WebSockets that is no response of the guardian. `dcpsids`: the session of each request;
    `replaced`: requests that may be answered so.
    """
    refusal = error_of(NotNowError(WATCH_REPLACED), guardian)
    for each in stack.internet.sent():
        signed = read_signed_message(each.message)
        request = str(signed.body["id"])
        results = (None, refusal) if request in replaced else (None,)
        responses = [
            {**response_body(request, result, now=0, dcpsid=dcpsids.get(request)), "nonce": None} for result in results
        ]
        is_from_us = (each.connection, signed.owner) == (SOCKET, guardian)
        if not is_from_us or {**signed.body, "time": 0} not in responses:
            yield f"a WebSocket was sent {each}"


def _faults_of_rows(stack: FaultStack) -> Iterator[str]:
    """The sessions that wait although they were told, or are gone."""
    for target in stack.deployed.storage.targets.of(RECEIVER):
        yield f"it still waits: {target}"
