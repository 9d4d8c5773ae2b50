"""A soak test from beginning to end: it sends messages, kills processes, drains the queues, and audits the result."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from tests.soak.crew import Crew, hire
from tests.soak.dcp_ledger import DcpLedger
from tests.soak.dcp_peers import DcpPeers
from tests.soak.evidence import audited, look
from tests.soak.ledger import Ledger
from tests.soak.memory import EMULATOR, HERE, MARKS, Memory, emulator_pid, own_pid
from tests.soak.messages import Writer
from tests.soak.mix import deaths, over_dcp, plan
from tests.soak.posting import Posting
from tests.soak.stack import RECEIVER, SoakStack, open_stack
from tests.soak.tally import counted

from postroom.protocols.nlweb.manifest import identity_reply
from postroom.storage.audit.findings import Findings

MOST_WAITING: Final = 2_000
"""With so many messages in the queues, the senders wait, because the embedded AWS slows down with its backlog."""
LOOK_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 1_200
_DEAD_LETTERS: Final = {"DeadLetterQueueUrl": "ClaimsQueueUrl", "CourierDeadLetterQueueUrl": "CourierQueueUrl"}
_RECEIVE: Final = 10
_SEE_EVERY: Final = 50


@dataclass(frozen=True)
class Order:
    """The parameters of a soak. `minutes`: no messages are sent after this time."""

    messages: int
    minutes: float
    seed: int


@dataclass(frozen=True)
class Sight:
    """The progress of a run."""

    sent: int
    waiting: int
    killed: int
    memory: dict[str, int]


@dataclass(frozen=True)
class Result:
    """The result of a soak.

    `findings`: those of `postroom audit`. `counts`: those of the processes. `seconds`: of sending, and of draining.
    """

    order: Order
    ledger: Ledger
    over_dcp: DcpLedger
    findings: Findings
    counts: Counter[str]
    killed: Counter[str]
    memory: Memory
    posts: int
    unanswered: int
    dcp_messages: int
    dcp_unanswered: int
    dcp_lost: int
    not_now: int
    redriven: int
    feedback: int
    feedback_failed: int
    discarded: int
    given_up: int
    seconds: tuple[float, float]

    @property
    def clean(self) -> bool:
        """Whether there are no problems, and no more notes than posts without a final answer."""
        notes = len(self.findings.problems) - self.findings.wrong
        problems = self.ledger.problems.total() + self.over_dcp.problems.total()
        return not problems and self.findings.clean and notes <= self.unanswered + self.not_now


class Watch:
    """A thread that measures the queues, restarts processes, and records their memory."""

    def __init__(self, stack: SoakStack, crew: Crew, memory: Memory) -> None:
        self.waiting = 0
        self.held: dict[str, int] = {}
        self._stack, self._crew, self._memory = stack, crew, memory
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch")

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.waiting = self._stack.demo.waiting()
            self.held = self._memory.look()
            for hand in self._crew.pollers:
                hand.start_again_if_dead()


def soak(order: Order, see: Callable[[Sight], None]) -> Result:
    """Run a soak. `see`: is called with the progress."""
    rng = Random(order.seed)
    with TemporaryDirectory(prefix="postroom-soak-") as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        with open_stack(folder) as stack, hire(stack, folder / "logs", folder / "tally", rng) as crew:
            pids = {function: hand.pid for function, hand in crew.eldest.items()}
            memory = Memory({EMULATOR: emulator_pid(), HERE: own_pid(), **pids})
            ledger = Ledger(json.dumps(identity_reply(RECEIVER, None), separators=(",", ":")))
            dcp_ledger = DcpLedger()
            begun = time.monotonic()
            with Watch(stack, crew, memory) as watch:
                posting = Posting(crew.inboxes, ledger.answered)
                peers = DcpPeers(stack, crew.mailbox_apis, dcp_ledger, rng)
                _send(order, rng, Writer(stack, rng), posting, peers, crew, watch, memory, see)
                _until(lambda: posting.open == peers.open == 0)
                posting.close()
                unfinished = peers.close()
                sent = time.monotonic()
                redriven = _drain(stack, watch, lambda: see(_sight(order.messages, watch, crew)))
                memory.mark(100)
            for hand in crew.all:
                hand.stop()
            evidence = look(
                stack, folder / "logs",
                waiting=stack.demo.waiting() + stack.demo.waiting(*_DEAD_LETTERS),
                died=sum(hand.died for hand in crew.all),
                unanswered=posting.open,
            )  # fmt: skip
            ledger.audit(evidence)
            dcp_ledger.audit(peers.effects(), unfinished=unfinished)
            findings = audited(stack, folder / "logs")
            killed: Counter[str] = Counter()
            for hand in crew.all:
                killed[hand.function] += hand.killed
            return Result(
                order, ledger, dcp_ledger, findings, counted(folder / "tally"), killed, memory, posting.posts,
                posting.unanswered, peers.api.requests, peers.api.unanswered, peers.api.lost, posting.not_now, redriven,
                stack.sink.received, stack.sink.failed, len(evidence.discards), len(evidence.given_up),
                (sent - begun, time.monotonic() - sent),
            )  # fmt: skip


def _send(
    order: Order, rng: Random, writer: Writer, posting: Posting, peers: DcpPeers, crew: Crew, watch: Watch,
    memory: Memory, see: Callable[[Sight], None],
) -> None:  # fmt: skip
    planned = plan(order.messages, rng)
    dying = deaths(len(planned), len(crew.killable), rng)
    dcp = over_dcp(len(planned), rng)
    marks = {len(planned) * percent // 100: percent for percent in MARKS[:-1]}
    until = time.monotonic() + order.minutes * 60
    for number, each in enumerate(planned):
        while watch.waiting > MOST_WAITING:
            time.sleep(LOOK_SECONDS)
        if time.monotonic() > until:
            return
        posting.post(writer.write(each))
        while dcp and dcp[0][0] <= number:
            peers.begin(dcp.pop(0)[1])
        # A process that has just been killed must be restarted before it can be killed again.
        while dying and dying[0][0] <= number and crew.killable[dying[0][1]].kill():
            dying.pop(0)
        if number in marks:
            memory.mark(marks[number])
        if number % _SEE_EVERY == 0:
            see(_sight(number + 1, watch, crew))


def _drain(stack: SoakStack, watch: Watch, see: Callable[[], None]) -> int:
    """Wait until all queues are empty; redrive dead letters as an operator would. Returns how many were redriven."""
    until, redriven = time.monotonic() + DRAIN_SECONDS, 0
    while time.monotonic() < until:
        redriven += sum(_redrive(stack, dead_letters, queue) for dead_letters, queue in _DEAD_LETTERS.items())
        if stack.demo.waiting() + stack.demo.waiting(*_DEAD_LETTERS) == 0:
            break
        see()
        time.sleep(LOOK_SECONDS)
    return redriven


def _redrive(stack: SoakStack, dead_letters: str, queue: str) -> int:
    sqs, outputs = stack.deployment.client("sqs"), stack.deployment.outputs
    messages = sqs.receive_message(QueueUrl=outputs[dead_letters], MaxNumberOfMessages=_RECEIVE).get("Messages", [])
    for message in messages:
        sqs.send_message(QueueUrl=outputs[queue], MessageBody=message["Body"])
        sqs.delete_message(QueueUrl=outputs[dead_letters], ReceiptHandle=message["ReceiptHandle"])
    return len(messages)


def _sight(sent: int, watch: Watch, crew: Crew) -> Sight:
    return Sight(sent, watch.waiting, sum(hand.killed for hand in crew.all), watch.held)


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + DRAIN_SECONDS
    while not done() and time.monotonic() < end:
        time.sleep(LOOK_SECONDS / 10)
