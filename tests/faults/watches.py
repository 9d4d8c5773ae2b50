"""The flows of watch: an owner waits for mail over a WebSocket, and the courier tells them, once."""

import json
from collections.abc import Iterator, Mapping
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
from tests.functions.samples import RECEIVER, SOCKET
from tests.protocols.dcp.guarded import Peer

from postroom.api.dcp import WATCH
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.responses import response_body
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.storage.directory.notification_targets import SESSION_SECONDS
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
        queues.hand_out_copies()
        self._rest(stack, queues)
        told = [_told(stack, look.request) for look in looks]
        if not looks[-1].acknowledged or not told[-1]:
            faults.append("an owner who waits was not told of mail")
        faults += [f"a watch was answered {times} times" for times in told if times > 1]
        faults += _faults_of_sent(stack, {look.request: look.dcpsid for look in looks}, run.wire.guardian)
        faults += [*_faults_of_rows(stack), *Judge(stack, queues).faults_of_queues()]
        self.leave(stack)
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """Remove those who wait, because other flows have none."""
        forget_targets(stack)


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
        identity = stack.deployed.storage.dcp_identities.newest_first()[0].key.address
        session = WatchingSession(SOCKET, _DCPSID, _REQUEST, identity)
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
        identity = stack.deployed.storage.dcp_identities.newest_first()[0].key.address
        faults += _faults_of_sent(stack, {_REQUEST: _DCPSID}, identity)
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


def _faults_of_sent(stack: FaultStack, dcpsids: Mapping[str, str], guardian: Address) -> Iterator[str]:
    """What was sent to WebSockets that is no response of the guardian. `dcpsids`: the session of each request."""
    for each in stack.internet.sent():
        signed = read_signed_message(each.message)
        request = str(signed.body["id"])
        response = {**response_body(request, None, now=0, dcpsid=dcpsids.get(request)), "nonce": None}
        if (each.connection, signed.owner, {**signed.body, "time": 0}) != (SOCKET, guardian, response):
            yield f"a WebSocket was sent {each}"


def _faults_of_rows(stack: FaultStack) -> Iterator[str]:
    """The sessions that wait although they were told, or are gone."""
    for target in stack.deployed.storage.targets.of(RECEIVER):
        yield f"it still waits: {target}"
