"""The flows: what lies ready, what the victim does, and how everything comes to rest afterwards."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest

from tests.faults.clock import CLOCK
from tests.faults.judge import Judge
from tests.faults.kinds import HOUR
from tests.faults.letters import End, Letter, is_refused, is_taken
from tests.faults.office import Json, Town
from tests.faults.owners import Owners
from tests.faults.queues import Queues, event_of
from tests.faults.world import BUSY, DARK, STRICT, Trouble

from postroom.core.errors import NotNowError

OWNERS = "the owners"
"""A victim that is no function: the process of the owners, who read and acknowledge."""

_ROUNDS = 30
_ROUND_SECONDS = 900
_DARK_ROUNDS = 1
_LEASE_SECONDS = 60
_DEAD_FOR_SECONDS = 6.5 * 86_400
"""Near enough to the horizon that the keeper decides."""
_BETWEEN_POSTS_SECONDS = 3
"""For less a secret is fresh, and read from memory."""
_FORGOTTEN = b"reply given and not remembered"
"""What the door logs, if the store did not take a reply: who asks again is answered anew."""


@dataclass
class Run:
    """One run, handed from process to process. `batch`: what the victim is handed. `ahead`: of the clock."""

    letters: list[Letter]
    batch: list[Json] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    ahead: float = 0
    acknowledged: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Flow:
    """`make`: the messages of a run. `function`: the victim, or OWNERS. `dns`: the trouble of all DNS meanwhile."""

    name: str
    function: str
    make: Callable[[], list[Letter]]
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

    def prepare(self, town: Town) -> Run:
        """Everything up to the victim's turn."""
        town.wipe()
        town.world.forget()
        run, queues = Run(self.make()), Queues(town)
        if self.function != "InboxFunction":
            assert all(is_taken(town.call("InboxFunction", letter.posted())) for letter in run.letters)
        if self.function in ("CourierFunction", OWNERS):
            claims = queues.receive("ClaimsQueue")
            queues.finish("ClaimsQueue", claims, town.call("WorkerFunction", event_of("ClaimsQueue", claims)))
        if self.function == "KeeperFunction":
            queues.move("ClaimsQueue", "DeadLetterQueue")
            run.ahead = _DEAD_FOR_SECONDS
        elif self.function not in ("InboxFunction", OWNERS):
            if self.hours_later is not None:
                batch = queues.receive(self.queue)
                queues.finish(self.queue, batch, town.call(self.function, event_of(self.queue, batch)))
                run.ahead = CLOCK.ahead = self.hours_later * HOUR
            for _ in range(self.received):
                run.batch = queues.receive(self.queue)
                queues.release(self.queue, run.batch)
            assert run.batch, "nothing is there for the victim to do"
        run.copies = queues.copies
        town.world.dns(**({"example": self.dns} if self.dns else {DARK: Trouble.SERVFAIL}))
        town.world.buffers({STRICT: 403, BUSY: 503})
        if self.keyless:
            town.world.publish(keys=False)
        return run

    def act(self, town: Town, run: Run) -> list[Json]:
        """The victim's turn: what its function answers."""
        CLOCK.ahead = run.ahead
        if self.function == OWNERS:
            gone: list[str] = []
            with suppress(NotNowError):  # they are not sure, and look again
                for who in Owners.at_home(town.deployed).acknowledge_all():
                    gone += [who]
            return [{"acknowledged": gone}]
        if self.function == "InboxFunction":
            return [self._posted(town, letter) for letter in run.letters]
        return [town.call(self.function, event_of(self.queue, run.batch) if run.batch else {})]

    def _posted(self, town: Town, letter: Letter) -> Json:
        CLOCK.sleep(_BETWEEN_POSTS_SECONDS)
        answer: Json = town.call(self.function, letter.posted())
        return answer

    def settle(self, town: Town, run: Run, answers: list[Json]) -> list[str]:
        """Everything afterwards, and what is wrong then. `answers`: none where the victim died."""
        CLOCK.ahead = run.ahead
        queues = Queues(town, run.copies)
        if self.dns:
            town.world.dns()
        if self.keyless:
            town.world.publish(keys=True)
        if self.function == OWNERS and answers:
            run.acknowledged |= set(answers[0]["acknowledged"])
        sent = {letter.who: letter for letter in run.letters}
        judge = Judge(town, queues, sent, run.acknowledged, self._unanswered(run, answers))
        if run.batch and answers:
            queues.finish(self.queue, run.batch, answers[0])
        faults = []
        if self.dns and answers and not self._waits(queues, answers):
            faults.append("DNS was in trouble, and nothing had to wait for it")
        if self.redriven:
            queues.move(self.queue, "DeadLetterQueue")
            queues.move("DeadLetterQueue", self.queue)
        # Whoever was told that we have it does not send it again: what became of it hangs on us alone.
        replies = self._heard(town, run, answers)
        for letter in run.letters:
            if not replies[letter.who]:
                replies[letter.who] = self._send_again(town, letter)
        self._rest(town, queues)
        faults += [*judge.faults(), *judge.audited()]
        # Later than everything: whoever is not sure sends again, and copies of whatever was handed out come, when the
        # owners have what they were shown.
        judge.acknowledge_all()
        for letter in run.letters:
            replies[letter.who] += self._send_again(town, letter)
        faults += _faults_of_replies(run.letters, replies)
        queues.hand_out_copies()
        self._rest(town, queues)
        faults += [*judge.faults(), *judge.faults_of_queues()]
        if faults:
            town.purge()
        return list(dict.fromkeys(faults))

    def leave(self, town: Town) -> None:
        """What the flow needs and others have not, goes."""

    def _waits(self, queues: Queues, answers: list[Json]) -> bool:
        """Whether something is left to be done later, or its sender was asked to come again."""
        if self.function == "InboxFunction":
            return any(answer["statusCode"] == 503 for answer in answers)
        return queues.holds("CourierQueue" if self.function == "CourierFunction" else "RetryQueue") > 0

    def _heard(self, town: Town, run: Run, answers: list[Json]) -> dict[str, list[str]]:
        """What the victim told each sender whose message it took; no reply that it said it cannot remember."""
        heard: dict[str, list[str]] = {letter.who: [] for letter in run.letters}
        if self.function == "InboxFunction" and _FORGOTTEN not in town.log.read_bytes():
            for letter, answer in zip(run.letters, answers, strict=False):  # no answers, where it died
                heard[letter.who] += [answer["body"]] if _is_final(letter, answer) else []
        return heard

    def _unanswered(self, run: Run, answers: list[Json]) -> Counter[str]:
        """How often the sender of each message was told neither 200 nor no: the victim died, or said 503."""
        if self.function != "InboxFunction":
            return Counter()
        posts = zip_longest(run.letters, answers)
        return Counter(letter.who for letter, answer in posts if not (answer and _is_final(letter, answer)))

    def _send_again(self, town: Town, letter: Letter) -> list[str]:
        """A sender who heard nothing, or is not sure, sends the same again: what it is answered."""
        if self.function != "InboxFunction":
            return []
        CLOCK.ahead += _LEASE_SECONDS
        answer = town.call("InboxFunction", letter.posted())
        assert _is_final(letter, answer), answer
        return [answer["body"]]

    def _rest(self, town: Town, queues: Queues) -> None:
        """Let SQS hand out what is left, as time goes by, until nothing is left, or it takes too long."""
        for number in range(_ROUNDS):
            if number == _DARK_ROUNDS:
                town.world.dns()
                town.world.buffers({STRICT: 403})
            busy = queues.work_off()
            if self.function == "KeeperFunction" and queues.holds("DeadLetterQueue"):
                queues.release_received()
                town.call("KeeperFunction", {})
                busy = True
            if not busy:
                return
            CLOCK.ahead += _ROUND_SECONDS


def _is_final(letter: Letter, answer: Json) -> bool:
    """Whether a sender does not ask again: its message was taken, or refused as it must be."""
    return is_refused(answer) if letter.ends == (End.REFUSED,) else is_taken(answer)


def _faults_of_replies(sent: list[Letter], replies: dict[str, list[str]]) -> Iterator[str]:
    for letter in sent:
        if letter.ends == (End.ANSWERED,) and len(set(replies[letter.who])) != 1:
            yield f"{letter.who} was executed again: {replies[letter.who]}"
