"""The flows: what lies ready, what the victim does, and how everything comes to rest afterwards."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest

from tests.faults.clock import CLOCK
from tests.faults.fake_internet import BUSY, DARK, STRICT, Trouble
from tests.faults.judge import Judge
from tests.faults.kinds import HOUR
from tests.faults.messages import End, Message, is_refused, is_taken
from tests.faults.owners import Owners
from tests.faults.queues import Queues, event_of
from tests.faults.stack import FaultStack, Json

from postroom.core.errors import NotNowError

OWNERS = "the owners"
"""A victim that is no function: the process of the owners, who read and acknowledge."""

_ROUNDS = 30
_ROUND_SECONDS = 900
_DARK_ROUNDS = 1
_LEASE_SECONDS = 60
_DEAD_FOR_SECONDS = 6.5 * 86_400
"""Near enough to the horizon that the dead-letter handler decides."""
_BETWEEN_POSTS_SECONDS = 3
"""For less a secret is fresh, and read from memory."""
_FORGOTTEN = b"reply given and not remembered"
"""What the inbox logs, if the store did not take a reply: who asks again is answered anew."""


@dataclass
class Run:
    """One run, handed from process to process. `batch`: what the victim is handed. `ahead`: of the clock."""

    messages: list[Message]
    batch: list[Json] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    ahead: float = 0
    acknowledged: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Flow:
    """`make`: the messages of a run. `function`: the victim, or OWNERS. `dns`: the trouble of all DNS meanwhile."""

    name: str
    function: str
    make: Callable[[], list[Message]]
    queue: str = "ClaimsQueue"
    dns: Trouble | None = None
    keyless: bool = False
    """Whether senders' keys are not published yet when the victim judges."""
    redriven: bool = False
    """Whether what is left goes through the dead letters, and comes back under new queue ids."""
    received: int = 1
    """How often the queue handed the batch out, the victim's turn included."""
    hours_later: int | None = None
    """The victim gets what its function's first turn left in the queue, so long after: the summary of an hour."""
    seconds_a_call: float = 0
    """What each of the victim's calls takes, by its clocks."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """The victim's, where they are not those of all."""

    def prepare(self, stack: FaultStack) -> Run:
        """Everything up to the victim's turn."""
        stack.wipe()
        stack.internet.forget()
        run, queues = Run(self.make()), Queues(stack)
        if self.function != "InboxFunction":
            assert all(is_taken(stack.call("InboxFunction", message.posted())) for message in run.messages)
        if self.function in ("CourierFunction", OWNERS):
            claims = queues.receive("ClaimsQueue")
            queues.finish("ClaimsQueue", claims, stack.call("WorkerFunction", event_of("ClaimsQueue", claims)))
        if self.function == "DeadLetterFunction":
            queues.move("ClaimsQueue", "DeadLetterQueue")
            run.ahead = _DEAD_FOR_SECONDS
        elif self.function not in ("InboxFunction", OWNERS):
            if self.hours_later is not None:
                batch = queues.receive(self.queue)
                queues.finish(self.queue, batch, stack.call(self.function, event_of(self.queue, batch)))
                run.ahead = CLOCK.ahead = self.hours_later * HOUR
            for _ in range(self.received):
                run.batch = queues.receive(self.queue)
                queues.release(self.queue, run.batch)
            assert run.batch, "nothing is there for the victim to do"
        run.copies = queues.copies
        stack.internet.dns(**({"example": self.dns} if self.dns else {DARK: Trouble.SERVFAIL}))
        stack.internet.buffers({STRICT: 403, BUSY: 503})
        if self.keyless:
            stack.internet.publish(keys=False)
        return run

    def act(self, stack: FaultStack, run: Run) -> list[Json]:
        """The victim's turn: what its function answers."""
        CLOCK.ahead = run.ahead
        if self.function == OWNERS:
            gone: list[str] = []
            with suppress(NotNowError):  # they are not sure, and look again
                for who in Owners.at_home(stack.deployed).acknowledge_all():
                    gone += [who]
            return [{"acknowledged": gone}]
        if self.function == "InboxFunction":
            return [self._posted(stack, message) for message in run.messages]
        return [stack.call(self.function, event_of(self.queue, run.batch) if run.batch else {})]

    def _posted(self, stack: FaultStack, message: Message) -> Json:
        CLOCK.sleep(_BETWEEN_POSTS_SECONDS)
        answer: Json = stack.call(self.function, message.posted())
        return answer

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Everything afterwards, and what is wrong then. `answers`: none where the victim died."""
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
        faults = []
        if self.dns and answers and not self._waits(queues, answers):
            faults.append("DNS was in trouble, and nothing had to wait for it")
        if self.redriven:
            queues.move(self.queue, "DeadLetterQueue")
            queues.move("DeadLetterQueue", self.queue)
        # Whoever was told that we have it does not send it again: what became of it hangs on us alone.
        replies = self._heard(stack, run, answers)
        for message in run.messages:
            if not replies[message.who]:
                replies[message.who] = self._send_again(stack, message)
        self._rest(stack, queues)
        faults += [*judge.faults(), *judge.audited()]
        # Later than everything: whoever is not sure sends again, and copies of whatever was handed out come, when the
        # owners have what they were shown.
        judge.acknowledge_all()
        for message in run.messages:
            replies[message.who] += self._send_again(stack, message)
        faults += _faults_of_replies(run.messages, replies)
        queues.hand_out_copies()
        self._rest(stack, queues)
        faults += [*judge.faults(), *judge.faults_of_queues()]
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """What the flow needs and others have not, goes."""

    def _waits(self, queues: Queues, answers: list[Json]) -> bool:
        """Whether something is left to be done later, or its sender was asked to come again."""
        if self.function == "InboxFunction":
            return any(answer["statusCode"] == 503 for answer in answers)
        return queues.holds("CourierQueue" if self.function == "CourierFunction" else "RetryQueue") > 0

    def _heard(self, stack: FaultStack, run: Run, answers: list[Json]) -> dict[str, list[str]]:
        """What the victim told each sender whose message it took; no reply that it said it cannot remember."""
        heard: dict[str, list[str]] = {message.who: [] for message in run.messages}
        if self.function == "InboxFunction" and _FORGOTTEN not in stack.log.read_bytes():
            for message, answer in zip(run.messages, answers, strict=False):  # no answers, where it died
                heard[message.who] += [answer["body"]] if _is_final(message, answer) else []
        return heard

    def _unanswered(self, run: Run, answers: list[Json]) -> Counter[str]:
        """How often the sender of each message was told neither 200 nor no: the victim died, or said 503."""
        if self.function != "InboxFunction":
            return Counter()
        posts = zip_longest(run.messages, answers)
        return Counter(message.who for message, answer in posts if not (answer and _is_final(message, answer)))

    def _send_again(self, stack: FaultStack, message: Message) -> list[str]:
        """A sender who heard nothing, or is not sure, sends the same again: what it is answered."""
        if self.function != "InboxFunction":
            return []
        CLOCK.ahead += _LEASE_SECONDS
        answer = stack.call("InboxFunction", message.posted())
        assert _is_final(message, answer), answer
        return [answer["body"]]

    def _rest(self, stack: FaultStack, queues: Queues) -> None:
        """Let SQS hand out what is left, as time goes by, until nothing is left, or it takes too long."""
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
    """Whether a sender does not ask again: its message was taken, or refused as it must be."""
    return is_refused(answer) if message.ends == (End.REFUSED,) else is_taken(answer)


def _faults_of_replies(sent: list[Message], replies: dict[str, list[str]]) -> Iterator[str]:
    for message in sent:
        if message.ends == (End.ANSWERED,) and len(set(replies[message.who])) != 1:
            yield f"{message.who} was executed again: {replies[message.who]}"
