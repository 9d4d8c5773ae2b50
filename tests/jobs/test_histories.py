"""Random histories: mail comes in, is read and has its time, while runs of both jobs die, sleep, wake and meet.

After every step the owner sees exactly the unacknowledged messages, each with its own bytes. In the end, runs that
nothing befalls leave the lines of live rows, and nothing else.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, invariant, multiple, precondition, rule
from tests.aws import Clients, gate_calls, new_clients
from tests.jobs.fates import WRITES, Fate, Fated
from tests.jobs.mail import NOW, RETAIN, SHOP, a_store
from tests.jobs.played import Played
from tests.pipeline.stage import Actor, Died
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.jobs.tally import Counts
from postroom.storage.aws.object_store import Place
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.layout import RowKey
from postroom.storage.mail import chunks
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS, MONTH_MS
from postroom.storage.mail.segments import Line

HORIZON_MS = 7 * DAY_MS
OURS, VICTIM, SLEEPER = new_clients(), new_clients(), new_clients()
WRITES_MADE = st.integers(0, 5)
NIGHTS = st.integers(0, 2)
TTL_MS = 30 * DAY_MS
Job = Callable[[Played, int, Clients], Counts]
JOBS = st.sampled_from([Played.compact, Played.expire])
SENDERS = st.sampled_from(["a.com", "b.com"])


class Histories(RuleBasedStateMachine):
    rows = Bundle("rows")
    unfiled = Bundle("unfiled")

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        self.mail = self._open.enter_context(a_store(OURS))
        # Chunks of a few lines: while the rows of one move, the next is written.
        self._open.enter_context(patch.multiple(chunks, FULL_BYTES=1500, ENOUGH_BYTES=1000))
        self.job = Played(self.mail.deployed, RETAIN)
        Mailboxes(OURS.dynamodb, self.mail.deployed.tables["DirectoryTable"]).set_ttl(SHOP, TTL_MS // DAY_MS)
        self.now = NOW
        self.lines: dict[RowKey, Line] = {}
        self.sleeper: Actor | None = None

    # --- mail --------------------------------------------------------------------------------------------------------
    @rule(target=rows, many=st.integers(1, 3), sender=SENDERS, late=st.sampled_from([0, HOUR_MS, 2 * DAY_MS]))
    def deliver(self, many: int, sender: str, late: int) -> MultipleResults[RowKey]:
        """A batch, whose messages may have come in at the inbox a while before."""
        lines = [self.mail.message(self.now - late, sender) for _ in range(many)]
        self.mail.deliver(self.now, *lines)
        self.lines |= {line.row: line for line in lines}
        return multiple(*(line.row for line in lines))

    @rule(row=rows)
    def deliver_again(self, row: RowKey) -> None:
        """Another worker has the same claim, too late for its row."""
        if self.now - row.received_at_ms < HORIZON_MS:
            self.mail.deliver(self.now, self.lines[row])

    @rule(target=unfiled, sender=SENDERS)
    def deliver_in_part(self, sender: str) -> tuple[Line, Place]:
        """A worker writes its segment, and is not heard of for a while."""
        line = self.mail.message(self.now, sender)
        [place] = self.mail.segment(self.now, line)
        return line, place

    @rule(target=rows, what=unfiled)
    def deliver_the_rest(self, what: tuple[Line, Place]) -> MultipleResults[RowKey]:
        line, place = what
        if self.now - line.row.received_at_ms >= HORIZON_MS:
            return multiple()
        self.lines[line.row] = line
        self.mail.file(line, place)
        return multiple(line.row)

    @rule(row=rows)
    def acknowledge(self, row: RowKey) -> None:
        self.mail.acknowledge(row)

    @rule(row=rows)
    def expire(self, row: RowKey) -> None:
        self.mail.expire(row)

    @rule(days=st.sampled_from([1, 9, 31]))
    def time_passes(self, days: int) -> None:
        """DynamoDB sweeps tombstones that have stood as long as they must."""
        self.now += days * DAY_MS
        for row, line in list(self.lines.items()):
            if row not in self.mail.waits and line.row.received_at_ms // 1000 + RETAIN < self.now // 1000:
                self.mail.sweep(row)
                del self.lines[row]

    # --- the job -----------------------------------------------------------------------------------------------------
    @rule(nights=NIGHTS)
    def compact(self, nights: int) -> None:
        """At once, and then every night."""
        self.job.compact(self.now)
        for _ in range(nights):
            self.now += DAY_MS + HOUR_MS
            self.job.compact(self.now)

    @rule()
    def let_go(self) -> None:
        """All that has had its time, and nothing else."""
        self.job.expire(self.now)
        self._note_what_went(self.now)
        assert all(row.received_at_ms >= self.now - TTL_MS for row in self.mail.waits)

    @rule(nights=NIGHTS, writes=WRITES_MADE, fate=st.sampled_from(Fate), job=JOBS)
    def run_and_meet(self, nights: int, writes: int, fate: Fate, job: Job) -> None:
        """A run dies; what it reads before its first write, or between writes, leaves nothing that could differ."""
        self.now += nights * DAY_MS
        Fated(VICTIM, writes + 1, fate, only_writes=True)
        with suppress(Died, NotNowError):
            job(self.job, self.now, VICTIM)
        self._note_what_went(self.now)

    @precondition(lambda self: self.sleeper is None)
    @rule(nights=NIGHTS, writes=WRITES_MADE, job=JOBS)
    def fall_asleep(self, nights: int, writes: int, job: Job) -> None:
        """A run makes so many writes, and stops before the next call; others may begin meanwhile."""
        self.now += nights * DAY_MS
        now = self.now
        self.sleeper = Actor("sleeper", lambda: job(self.job, now, SLEEPER))
        gate_calls(SLEEPER, self.sleeper.gate)
        self.sleeper.start()
        while not self.sleeper.ended and sum(call in WRITES for call in self.sleeper.called) < writes:
            self.sleeper.step("go")
        self._note_what_went(now)

    @precondition(lambda self: self.sleeper is not None)
    @rule(steps=st.sampled_from([1, 1000]))
    def wake(self, steps: int) -> None:
        self._steps(steps)

    def _steps(self, most: int) -> None:
        assert self.sleeper is not None
        for _ in range(most):
            if self.sleeper.ended:
                assert self.sleeper.error is None
                self.sleeper = None
                break
            self.sleeper.step("go")
        self._note_what_went(self.now)

    def _note_what_went(self, now: int) -> None:
        """Of what has had its time by then, a run may have come to some."""
        for row in [row for row in self.mail.waits if row.received_at_ms < now - TTL_MS]:
            found = self.mail.register.find(row)
            if not (found and found.live):
                del self.mail.waits[row]

    # --- what must be ------------------------------------------------------------------------------------------------
    @invariant()
    def the_owner_sees_what_waits(self) -> None:
        self.mail.check(self.now)

    def teardown(self) -> None:
        with self._open:
            if self.sleeper:
                self._steps(1000)
            # Nobody files any more what was never filed; then each chunk has been looked at when it was 30 days old.
            for later in (RETAIN * 1000 + 2 * DAY_MS, MONTH_MS + DAY_MS, MONTH_MS + DAY_MS):
                self.now += later
                self.job.compact(self.now)
                self.mail.check(self.now)
            assert set(self.mail.sizes()) == self.mail.needed()
            assert sum(self.mail.sizes().values()) == self.mail.live_bytes()


Histories.TestCase.settings = settings(
    max_examples=amount(quick=2, all=7, proof=200), stateful_step_count=25, deadline=None
)
TestHistories = Histories.TestCase
