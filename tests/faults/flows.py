"""Flows of the fault tests: the preparation, the run of one function, and everything until all queues are empty."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest

from tests.faults.clock import CLOCK
from tests.faults.fake_internet import BUSY, DARK, SENDER, STRICT, Trouble
from tests.faults.judge import Judge
from tests.faults.kinds import HOUR
from tests.faults.messages import End, Message, is_refused, is_taken
from tests.faults.owners import Owners
from tests.faults.queues import Queues, event_of
from tests.faults.stack import FaultStack, Json
from tests.functions.samples import SOCKET_HOST

from postroom.core.errors import NotNowError
from postroom.pipeline.silent_zones import PROVEN_SECONDS
from postroom.storage.limits.sender_zones import SenderZones

INBOXES = "the inboxes"
"""The victims that messages are posted to: InboxFunction, Dm3Function."""
OWNERS = "the owners"
"""A victim that is not a function: the process of the owners, who read and acknowledge."""

_ROUNDS = 30
_ROUND_SECONDS = 900
_DARK_ROUNDS = 1
_COURIERS = ("CourierFunction", "FeedbackFunction")
_LEASE_SECONDS = 60
_DEAD_FOR_SECONDS = 6.5 * 86_400
"""So near to the horizon that the dead-letter handler discards."""
_BETWEEN_POSTS_SECONDS = 3
"""A secret that was read within this time is taken from memory."""
_FORGOTTEN = b"reply given and not remembered"
"""Logged by the inbox if a reply could not be stored; then a repeated request is executed again."""


@dataclass
class Run:
    """A run, passed from process to process. `batch`: the messages for the victim. `ahead`: the clock's offset."""

    messages: list[Message]
    batch: list[Json] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    ahead: float = 0
    acknowledged: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Flow:
    """A flow. `make`: the messages of a run. `function`: the victim, or INBOXES or OWNERS.

    `dns`: how all DNS fails meanwhile.
    """

    name: str
    function: str
    make: Callable[[], list[Message]]
    queue: str = "ClaimsQueue"
    dns: Trouble | None = None
    keyless: bool = False
    """Whether senders' keys are not published yet when the victim looks them up."""
    proven: bool = False
    """Whether DARK proved a key before."""
    redriven: bool = False
    """Whether the remaining messages become dead letters, and are redriven with new queue ids."""
    stays: int = 0
    """How many messages of the batch stay in the queue, although nothing failed."""
    received: int = 1
    """How often the batch was delivered, including to the victim."""
    hours_later: int | None = None
    """If not None: the victim processes what a first run left in the queue, after this number of hours (a summary)."""
    done: bool = False
    """Whether another run did everything for the batch, and died before SQS deleted it."""
    seconds_a_call: float = 0
    """The seconds of each call of the victim, by its clock."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """The victim's settings, if they differ."""

    def prepare(self, stack: FaultStack) -> Run:
        """Do everything before the run of the victim."""
        stack.wipe()
        stack.internet.forget()
        run, queues = Run(self.make()), Queues(stack)
        if self.proven:
            clients, table = stack.deployed.clients, stack.deployed.tables["LimitsTable"]
            SenderZones(clients.dynamodb, table, PROVEN_SECONDS).prove(DARK, int(CLOCK()) + PROVEN_SECONDS)
        if self.function != INBOXES:
            assert all(is_taken(stack.call(message.inbox, message.posted())) for message in run.messages)
        if self.function in (*_COURIERS, OWNERS):
            claims = queues.receive("ClaimsQueue")
            queues.finish("ClaimsQueue", claims, stack.call("WorkerFunction", event_of("ClaimsQueue", claims)))
        if self.function == "DeadLetterFunction":
            queues.move("ClaimsQueue", "DeadLetterQueue")
            run.ahead = _DEAD_FOR_SECONDS
        elif self.function not in (INBOXES, OWNERS):
            if self.queue == "WaitingQueue":
                stack.internet.dns(**dict.fromkeys((SENDER, DARK), Trouble.SERVFAIL))
                claims = queues.receive("ClaimsQueue")
                queues.finish("ClaimsQueue", claims, stack.call("WorkerFunction", event_of("ClaimsQueue", claims)))
                run.ahead = CLOCK.ahead = HOUR
            if self.queue == "LookUpsQueue":
                queues.move("ClaimsQueue", self.queue)
            if self.hours_later is not None:
                batch = queues.receive(self.queue)
                queues.finish(self.queue, batch, stack.call(self.function, event_of(self.queue, batch)))
                run.ahead = CLOCK.ahead = self.hours_later * HOUR
            for _ in range(self.received):
                run.batch = queues.receive(self.queue)
                queues.release(self.queue, run.batch)
            if self.done:
                stack.call(self.function, event_of(self.queue, run.batch))
            assert run.batch, "nothing is there for the victim to do"
        run.copies = queues.copies
        stack.internet.dns(**({"example": self.dns} if self.dns else {DARK: Trouble.SERVFAIL}))
        stack.internet.buffers({STRICT: 403, BUSY: 503, SOCKET_HOST: 503})
        if self.keyless:
            stack.internet.publish(keys=False)
        return run

    def act(self, stack: FaultStack, run: Run) -> list[Json]:
        """Run the victim; returns the answers of its function."""
        CLOCK.ahead = run.ahead
        if self.function == OWNERS:
            gone: list[str] = []
            with suppress(NotNowError):  # they are not sure, and look again
                for who in Owners.at_home(stack.deployed).acknowledge_all():
                    gone += [who]
            return [{"acknowledged": gone}]
        if self.function == INBOXES:
            return [self._posted(stack, message) for message in run.messages]
        return [stack.call(self.function, event_of(self.queue, run.batch) if run.batch else {})]

    def overtake(self, stack: FaultStack, run: Run) -> None:
        """Do what happens while the victim waits: the same as it does, by another process."""
        self.act(stack, run)

    def _posted(self, stack: FaultStack, message: Message) -> Json:
        CLOCK.sleep(_BETWEEN_POSTS_SECONDS)
        answer: Json = stack.call(message.inbox, message.posted())
        return answer

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Do everything afterwards; returns the problems. `answers`: None if the victim died."""
        CLOCK.ahead = run.ahead
        queues = Queues(stack, run.copies)
        if self.dns:
            stack.internet.dns()
        if self.keyless:
            stack.internet.publish(keys=True)
        if self.function == OWNERS and answers:
            run.acknowledged |= set(answers[0]["acknowledged"])
        sent = {message.who: message for message in run.messages}
        judge = Judge(stack, queues, sent, run.acknowledged, self._unanswered(run, answers))
        if run.batch and answers:
            queues.finish(self.queue, run.batch, answers[0])
        if self.queue == "WaitingQueue":
            queues.release(self.queue, run.batch)  # the time that they were hidden for is over
        faults = []
        if self.dns and answers and not self._waits(queues, answers):
            faults.append("DNS was in trouble, and nothing had to wait for it")
        if self.redriven:
            queues.move(self.queue, "DeadLetterQueue")
            queues.move("DeadLetterQueue", self.queue)
        # A sender that got 200 does not resend, so the message depends on us alone.
        replies = self._heard(stack, run, answers)
        for message in run.messages:
            if not replies[message.who]:
                replies[message.who] = self._send_again(stack, message)
        self._rest(stack, queues)
        faults += [*judge.faults(), *judge.audited()]
        # After the owners have acknowledged, uncertain senders resend, and late copies of all queue messages arrive.
        judge.acknowledge_all()
        for message in run.messages:
            replies[message.who] += self._send_again(stack, message)
        faults += _faults_of_replies(run.messages, replies)
        queues.hand_out_copies()
        self._rest(stack, queues)
        faults += [*judge.faults(), *judge.faults_of_queues(), *judge.faults_of_objects()]
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """Remove what only this flow needs."""

    def _waits(self, queues: Queues, answers: list[Json]) -> bool:
        """Whether something is left to be done later, or the sender was asked to resend."""
        if self.function == INBOXES:
            return any(answer["statusCode"] == 503 for answer in answers)
        places = (self.queue,) if self.function in _COURIERS else ("RetryQueue", "LookUpsQueue", "WaitingQueue")
        return any(queues.holds(place) for place in places)

    def _heard(self, stack: FaultStack, run: Run, answers: list[Json]) -> dict[str, list[str]]:
        """The answers to senders whose messages were accepted, without replies that could not be stored."""
        heard: dict[str, list[str]] = {message.who: [] for message in run.messages}
        if self.function == INBOXES and _FORGOTTEN not in stack.log.read_bytes():
            for message, answer in zip(run.messages, answers, strict=False):  # no answers if it died
                heard[message.who] += [answer["body"]] if _is_final(message, answer) else []
        return heard

    def _unanswered(self, run: Run, answers: list[Json]) -> Counter[str]:
        """How often each message got neither 200 nor a refusal, because the victim died or answered 503."""
        if self.function != INBOXES:
            return Counter()
        posts = zip_longest(run.messages, answers)
        return Counter(message.who for message, answer in posts if not (answer and _is_final(message, answer)))

    def _send_again(self, stack: FaultStack, message: Message) -> list[str]:
        """Resend the messages of senders without a final answer; returns the answers."""
        if self.function != INBOXES:
            return []
        CLOCK.ahead += _LEASE_SECONDS
        answer = stack.call(message.inbox, message.posted())
        assert _is_final(message, answer), answer
        return [answer["body"]]

    def _rest(self, stack: FaultStack, queues: Queues) -> None:
        """Let SQS deliver what is left, with time passing, until nothing is left, or it takes too long."""
        for number in range(_ROUNDS):
            if number == _DARK_ROUNDS:
                stack.internet.dns()
                stack.internet.buffers({STRICT: 403})
            busy = queues.work_off()
            if self.function == "DeadLetterFunction" and queues.holds("DeadLetterQueue"):
                queues.release_received()
                stack.call("DeadLetterFunction", {})
                busy = True
            if not busy:
                return
            CLOCK.ahead += _ROUND_SECONDS


def _is_final(message: Message, answer: Json) -> bool:
    """Whether an answer is final: the message was accepted, or rightly refused."""
    return is_refused(answer) if message.ends == (End.REFUSED,) else is_taken(answer)


def _faults_of_replies(sent: list[Message], replies: dict[str, list[str]]) -> Iterator[str]:
    for message in sent:
        if message.ends == (End.ANSWERED,) and len(set(replies[message.who])) != 1:
            yield f"{message.who} was executed again: {replies[message.who]}"
