"""The flows of DCP: peers of the mailbox API, whose messages sign the mailbox out, or read it."""

import uuid
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count

from tests.faults.clock import CLOCK
from tests.faults.dcp_judge import SIGN_OUT, attempts, faults_of
from tests.faults.dcp_wire import Json, UnansweredError, Wire, forget_when_signed_out, sign_outs
from tests.faults.flows import Flow, Run
from tests.faults.stack import FaultStack
from tests.functions.samples import RECEIVER, dcp_key
from tests.protocols.dcp.guarded import Peer

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.operations import CLOSE, KEEPALIVE
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.storage.directory.notification_targets import PREFIX
from postroom.storage.layout import RowKey, row_key, segment_name
from postroom.storage.mail.ids import id_of
from postroom.storage.mail.segments import Line, lay_out

OWNER = dcp_key()
HOLDER = EthereumKey.from_secret(sha256(b"the holder of a cheque").digest())
_GIVE_BACK = "dynamodb DeleteItem"
"""The call by which an id and a stamp are given back."""
_COUNT = {"MessageUnreadable", "ContentUnavailable"}
"""What says that something is there."""
_TTL_SECONDS = 600


@dataclass
class DcpRun(Run):
    """A run. `peers`: each with a session, as they are before the victim runs; `cheque`: the owner's for HOLDER.

    `missing`: the name and the bytes of an object that a row names, and that is not there.
    """

    wire: Wire = field(kw_only=True)
    peers: list[Peer] = field(default_factory=list)
    cheque: Json = field(default_factory=dict)
    missing: tuple[str, bytes] | None = None


@dataclass(frozen=True)
class DcpFlow(Flow):
    """The victim is the mailbox API, which peers send messages to."""

    def prepare(self, stack: FaultStack) -> Run:
        """Forget earlier runs, and open sessions."""
        stack.wipe()
        stack.internet.forget()
        self.leave(stack)
        run = DcpRun([], wire=Wire(stack))
        self._begin(run)
        return run

    def act(self, stack: FaultStack, run: Run) -> list[Json]:
        """Send messages. The wire notes the answers: a function has none that dies."""
        assert isinstance(run, DcpRun)
        # They stay as they are for whoever overtakes this run, and for what comes after it.
        self._talk(run, [replace(peer) for peer in run.peers])
        return []

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Peers go on as the protocol says, late copies of all messages arrive, and then a new request does."""
        assert isinstance(run, DcpRun)
        wire = run.wire
        faults = self._go_on(run)
        for exchange in wire.exchanges():
            with suppress(UnansweredError):
                wire.answer(exchange.message)
        signed_out = sign_outs(stack)
        faults += faults_of(wire.exchanges(), signed_out)
        owner = opened(wire, OWNER, "anew")
        if not _present(owner, written(wire, SIGN_OUT, OWNER, "anew")):
            faults.append("a new request in a new session is refused")
        elif sign_outs(stack) != signed_out + 1:
            faults.append("a new request in a new session was answered with success, and took no effect")
        self.leave(stack)
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """Forget that the mailbox was signed out."""
        forget_when_signed_out(stack, "sign_outs")

    def _begin(self, run: DcpRun) -> None:
        """Open sessions, and write a cheque."""

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        """Send messages, until one is not answered."""
        raise NotImplementedError

    def _go_on(self, run: DcpRun) -> list[str]:
        """Send what peers send afterwards; returns what is wrong with the answers."""
        return []


@dataclass(frozen=True)
class SessionFlow(DcpFlow):
    """An owner opens a session, signs out, and says that they are there."""

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        with suppress(UnansweredError):
            owner = opened(run.wire, OWNER, "session")
            _present(owner, written(run.wire, SIGN_OUT, OWNER, "a sign-out"))
            owner.send(owner.request(KEEPALIVE))


@dataclass(frozen=True)
class BatchFlow(DcpFlow):
    """An owner sends a batch with the same payload twice."""

    def _begin(self, run: DcpRun) -> None:
        run.peers = [opened(run.wire, OWNER, "batch")]

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        [owner] = peers
        same = written(run.wire, SIGN_OUT, OWNER, "a sign-out")
        with suppress(UnansweredError):
            owner.send(owner.batch(*({**owner.request(), **same} for _ in range(2)), owner.request(KEEPALIVE)))


@dataclass(frozen=True)
class ChequeFlow(DcpFlow):
    """The holder of a cheque presents it in two sessions, and afterwards in a third."""

    def _begin(self, run: DcpRun) -> None:
        run.peers = [opened(run.wire, HOLDER, each) for each in ("one", "two")]
        run.cheque = written(run.wire, SIGN_OUT, HOLDER, "a cheque")

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        for holder in peers:
            with suppress(UnansweredError):
                _present(holder, run.cheque)

    def _go_on(self, run: DcpRun) -> list[str]:
        _present(opened(run.wire, HOLDER, "three"), run.cheque)
        return []


@dataclass(frozen=True)
class CloseFlow(DcpFlow):
    """An owner closes a session, and sends more in it, under each nonce that they know of it."""

    def _begin(self, run: DcpRun) -> None:
        run.peers = [opened(run.wire, OWNER, "close")]

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        [owner] = peers
        with suppress(UnansweredError):
            owner.send(owner.request(CLOSE))
            _present(owner, written(run.wire, SIGN_OUT, OWNER, "too late"))

    def _go_on(self, run: DcpRun) -> list[str]:
        [owner] = run.peers
        told = [each.answer["nonce"] for each in run.wire.exchanges() if each.answer and each.answer["nonce"]]
        for number, nonce in enumerate(dict.fromkeys(told)):
            late = replace(owner, nonce=nonce, counter=count(100 * (number + 1)))
            _present(late, written(run.wire, SIGN_OUT, OWNER, f"much too late {number}"))
        return []


@dataclass(frozen=True)
class ReadFlow(DcpFlow):
    """The holder of a cheque reads by it, and presents it again afterwards.

    `fails`: the read fails by itself, because a row is malformed, which is gone afterwards. `is_missing`: because the
    object of a message is missing, which is there afterwards.
    """

    fails: bool = False
    is_missing: bool = False

    def _begin(self, run: DcpRun) -> None:
        run.peers = [opened(run.wire, HOLDER, "one")]
        if self.fails:
            row = _malformed_row(run.wire.stack)
            run.wire.stack.deployed.clients.dynamodb.put_item(TableName=row["TableName"], Item=row["Key"])
            run.cheque = written(run.wire, "targets", HOLDER, "a cheque")
        elif self.is_missing:
            row, name, data = _without_its_object(run.wire.stack)
            run.missing = name, data
            run.cheque = written(run.wire, "message", HOLDER, "a cheque", id=id_of(row))
        else:
            run.cheque = written(run.wire, "messages", HOLDER, "a cheque")

    def _talk(self, run: DcpRun, peers: list[Peer]) -> None:
        [holder] = peers
        with suppress(UnansweredError):
            _present(holder, run.cheque)

    def _go_on(self, run: DcpRun) -> list[str]:
        if self.fails:
            run.wire.stack.deployed.clients.dynamodb.delete_item(**_malformed_row(run.wire.stack))
        if run.missing:
            run.wire.stack.deployed.storage.objects.put(*run.missing)
        before = run.wire.exchanges()
        again = _present(opened(run.wire, HOLDER, "two"), run.cheque)
        # A stamp stays used if giving it back failed, or if nobody knows what became of it.
        known = all(each.status for each in before) and _GIVE_BACK not in run.wire.stack.tap.failed
        succeeded = any(each.succeeded for each in attempts(before))
        if (self.fails or self.is_missing) and succeeded:
            return ["a read of what is malformed or missing succeeded"]
        codes = {each.answer["payload"].get("code") for each in before if each.answer and each.answer["payload"]}
        if not codes.isdisjoint(_COUNT):
            return ["a read that said that a message is there may be requested again"] if again else []
        if known and not succeeded and not again:
            return ["a read that failed may not be requested again"]
        return []


def opened(wire: Wire, key: EthereumKey, name: str) -> Peer:
    """A peer with a session. `name`: makes its ids and stamps its own. Raises UnansweredError."""
    peer = Peer.connected(wire, key, half=name.ljust(21, "-"), now=CLOCK())
    peer.guardian = wire.guardian
    return peer


def written(wire: Wire, operation: str, holder: EthereumKey, stamp: str, **data: str) -> Json:
    """A payload that the owner authorized for a holder, with their signature: a cheque."""
    validity: Json = {"time": int(CLOCK()), "stamp": stamp, "ttl": _TTL_SECONDS}
    allow = [Allowance(OWNER.address, wire.guardian, holder.address)]
    payload = new_payload(operation, {"mailbox": RECEIVER, **data}, allow=allow, validity=validity)
    body = request_body(NewRequest(payload, (OWNER,)), payload, "", hex_prefix=False)
    return {"payload": body["payload"], "auth": body["auth"]}


def _present(peer: Peer, cheque: Json) -> bool:
    """Whether the answer to a request with this payload is success. Raises UnansweredError."""
    return bool(peer.send({**peer.request(), **cheque})["success"])


def _malformed_row(stack: FaultStack) -> Json:
    """The table and the key of a row of the mailbox's notification targets."""
    key = {"pk": {"S": f"{PREFIX}{RECEIVER}"}, "sk": {"S": "target#0"}}
    return {"TableName": stack.deployed.tables["DirectoryTable"], "Key": key}


def _without_its_object(stack: FaultStack) -> tuple[RowKey, str, bytes]:
    """File a message whose segment is missing; returns its row, and the segment."""
    at_ms, claim = int(CLOCK() * 1000), uuid.uuid4().hex
    line = Line(row_key(RECEIVER, 1, at_ms, claim), "sender.example", "{}", {"protocol": "nlweb"})
    name = segment_name(at_ms, claim)
    data, [place] = lay_out([line], name)
    stack.deployed.storage.register.file(line.row, place, line.conversation)
    return line.row, name, data
