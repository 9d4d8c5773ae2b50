"""Killed at any of its calls, compaction loses nothing, shows nothing twice, and leaves nothing that stays for ever."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from unittest.mock import patch
from uuid import uuid4

import pytest
from tests.aws import Clients, gate_calls, new_clients
from tests.jobs.conftest import Turn
from tests.jobs.dying import Death, deaths_of
from tests.jobs.fates import WRITES, Fate, Fated
from tests.jobs.mail import NOW, RETAIN, Mail, Stored, a_store
from tests.jobs.played import Played
from tests.pipeline.stage import Actor, Died, Stage
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail import chunks
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS, MONTH_MS, LastRun
from postroom.storage.mail.segments import Line

OTHER = "other.com"
THEN = NOW - 3 * DAY_MS
ASKED_AGAIN = {"BatchGetItem", "UpdateItem"}
"""Calls about rows: who is not answered makes them once more."""


@pytest.fixture(autouse=True)
def small_chunks() -> Iterator[None]:
    """Of a few lines: while the rows of one move, the next is written."""
    with patch.multiple(chunks, FULL_BYTES=1500, ENOUGH_BYTES=1000):
        yield


@dataclass
class Scene:
    """Mail of all kinds. `late`: a claim still waits in the queue, and its line lies there. `damaged`: stays."""

    mail: Mail
    job: Played
    late: Line
    late_place: Place
    damaged: str
    live: list[RowKey]

    def settles(self, now: int) -> None:
        """A run that nothing befalls; the late worker comes; a month later everything was looked at once more."""
        self.check(now)
        self.job.compact(now)
        self.check(now)
        self.mail.file(self.late, self.late_place)
        self.mail.check(now)
        self.job.compact(now + MONTH_MS + HOUR_MS)
        self.check(now + MONTH_MS + HOUR_MS)
        assert set(self.mail.sizes()) == self.mail.needed() | {self.damaged}, "what is left is what is needed"

    def check(self, now: int) -> None:
        self.mail.check(now)
        assert self.mail.problems(now) == ()


def a_scene(mail: Mail) -> Scene:
    def a(at: int) -> Line:
        return mail.message(at, "a.com")

    def b(at: int, mailbox: str = "shop.com") -> Line:
        return mail.message(at, "b.com", mailbox)

    one, two, three, four = a(THEN), a(THEN), a(THEN + HOUR_MS), a(THEN + HOUR_MS)
    others, read, told, over = [b(THEN, OTHER), b(THEN + 9, OTHER)], b(THEN), b(THEN), b(THEN)
    mail.deliver(THEN, one, two, read, over, others[0])
    # A conversation goes on in other segments. A line that was discarded by another worker; one that was filed by it.
    mail.discard(told.row)
    mail.deliver(THEN + HOUR_MS, three, told, one, others[1])
    mail.acknowledge(two.row)
    mail.acknowledge(read.row)
    mail.expire(over.row)
    # Some of it cannot be read.
    damaged, _ = mail.segment(THEN + HOUR_MS, four, b'{"pk":"shop.com#0","sk"')
    mail.file(four, damaged)
    # Nobody ever filed it, and nobody can any more; and a claim that a worker died over, which is still in the queue.
    mail.segment(NOW - 40 * DAY_MS, a(NOW - 40 * DAY_MS))
    late = b(THEN)
    [late_place] = mail.segment(THEN + HOUR_MS, late)
    mail.deployed.clients.sqs.send_message(QueueUrl=mail.deployed.queues["ClaimsQueue"], MessageBody="a claim")
    # A chunk of earlier, more than half of it read; and what came in today.
    old = [a(NOW - 9 * DAY_MS + number) for number in range(3)]
    mail.chunk(NOW - 2 * DAY_MS, *old, src="seg/2026/11/12/09/long-gone.jsonl")
    mail.acknowledge(old[0].row)
    mail.acknowledge(old[2].row)
    mail.deliver(NOW - HOUR_MS, a(NOW - HOUR_MS))
    job = Played(mail.deployed, RETAIN, before=LastRun(NOW - DAY_MS, NOW - 2 * DAY_MS))
    return Scene(mail, job, late, late_place, damaged.object, list(mail.waits))


@cache
def scene_once() -> tuple[Stored, Scene]:
    with a_store(new_clients()) as mail:
        scene = a_scene(mail)
        return mail.store(), scene


@contextmanager
def scenes(ours: Clients, death: Death | None = None) -> Iterator[Scene]:
    """The scene as new, or as a run left it that died; then chunks get names that the dead run did not use."""
    stored, scene = scene_once()
    with stored.opened(ours, death.state if death else b"") as mail:
        job = Played(mail.deployed, RETAIN, before=scene.job.before)
        if death:
            job.new_id = lambda: uuid4().hex
        yield replace(scene, mail=mail, job=job)


def undisturbed_calls(ours: Clients, clients: Clients) -> list[str]:
    with scenes(ours) as scene:
        run = Fated(clients)
        scene.job.compact(NOW, clients)
        return run.calls


def test_an_owner_sees_the_same_sequence_throughout(ours: Clients, victims: list[Clients]) -> None:
    with scenes(ours) as scene:
        mail = scene.mail
        before = {mailbox: mail.shown(mailbox, NOW) for mailbox in ("shop.com", OTHER)}
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            assert {mailbox: mail.shown(mailbox, NOW) for mailbox in before} == before

        Fated(victims[0], after_writes=look)
        counts = scene.job.compact(NOW, victims[0])
        assert looks == counts["s3.put"] + counts["dynamodb.write"] + counts["s3.delete"]
        assert (counts["lines.repointed"], counts["chunks"], counts["quarantined.objects"]) == (6, 3, 1)
        look()
        scene.settles(NOW + HOUR_MS)


def test_later_runs_complete_what_a_dead_run_began(ours: Clients, victims: list[Clients], turn: Turn) -> None:
    with scenes(ours) as scene:
        deaths = deaths_of(victims[0], lambda: scene.job.compact(NOW, victims[0]))
    assert set(deaths.calls) >= WRITES
    assert [death.after for death in deaths.different] == ["", *(call for call in deaths.calls if call in WRITES)]
    for death in turn(deaths.different):
        with scenes(ours, death) as scene:
            scene.settles(NOW + HOUR_MS)


def test_later_runs_complete_the_work_whatever_call_has_no_answer(
    ours: Clients, victims: list[Clients], turn: Turn
) -> None:
    calls = undisturbed_calls(ours, victims[0])
    settled: list[object] = []
    for number in turn(range(1, len(calls) + 1)):
        with scenes(ours) as scene:
            before, ended = scene.mail.stored(), False
            run = Fated(victims[0], number, Fate.ANSWER_LOST)
            try:
                scene.job.compact(NOW, victims[0])
            except NotNowError:
                ended = True
            assert run.calls[:number] == calls[:number]
            assert not (ended and calls[number - 1] in ASKED_AGAIN), "who was not answered about rows asks again"
            after = scene.mail.stored(), scene.job.before
            # A run that only read changed nothing. Where several runs lead to the same state, one goes on from it.
            if not WRITES & set(run.calls):
                assert after[0] == before
            elif after not in settled:
                scene.settles(NOW + HOUR_MS)
                settled.append(after)


def test_a_run_that_sleeps_for_days_before_any_write_does_no_harm(
    ours: Clients, victims: list[Clients], turn: Turn
) -> None:
    writes = [number for number, call in enumerate(undisturbed_calls(ours, victims[0])) if call in WRITES]
    for number in turn(writes):
        with scenes(ours) as scene:
            mail = scene.mail
            sleeper = Actor("sleeper", lambda scene=scene: scene.job.compact(NOW, victims[0]))  # type: ignore[misc]
            gate_calls(victims[0], sleeper.gate)
            sleeper.start()
            for _ in range(number):
                sleeper.step("go")
            mail.acknowledge(scene.live[0])
            # The first moves what the sleeper had in its hands; the second collects what the sleeper wrote of it.
            for later in (NOW + DAY_MS + HOUR_MS, NOW + 2 * DAY_MS + 2 * HOUR_MS):
                scene.job.compact(later)
                mail.check(later)
            mail.acknowledge(scene.live[1])
            while not sleeper.ended:
                sleeper.step("go")
                if sleeper.called[-1] in WRITES:
                    mail.check(NOW + 3 * DAY_MS)
            assert sleeper.error is None
            assert scene.job.before.began == NOW, "the last to end says since when: more is looked at than must be"
            scene.settles(NOW + 3 * DAY_MS)


@pytest.mark.parametrize("schedule", range(amount(quick=1, all=4, proof=100)))
def test_runs_at_once_an_owner_and_a_late_worker_end_well_in_any_order(
    ours: Clients, victims: list[Clients], pytestconfig: pytest.Config, schedule: int
) -> None:
    random = Random(f"at once {schedule} {pytestconfig.option.rotation}")
    with scenes(ours) as scene:
        stage = Stage(random.randrange, deaths=1)
        for name, clients in zip(("one run", "another"), victims, strict=False):
            runs = stage.enter(name, lambda clients=clients: scene.job.compact(NOW, clients))  # type: ignore[misc]
            gate_calls(clients, runs.gate)
        written = 0

        def meanwhile() -> None:
            nonlocal written
            before, written = written, sum(call in WRITES for actor in stage.actors for call in actor.called)
            changed = written != before
            if random.random() < 1 / 25:
                scene.mail.acknowledge(random.choice(scene.live))
                changed = True
            if random.random() < 1 / 25:
                scene.mail.file(scene.late, scene.late_place)
                changed = True
            if changed:
                scene.mail.check(NOW)

        stage.play(meanwhile)
        scene.settles(NOW + HOUR_MS)


def test_runs_killed_every_night_leave_only_objects_that_they_have_not_found_to_be_garbage(
    ours: Clients, victims: list[Clients]
) -> None:
    """A run deletes what it finds to be past before it moves anything: whatever it dies of later, so much is done.

    So what nobody needs goes with the first run that gets through its look; beside that there are the chunks of dead
    runs, to which rows may still be moved, until they were moved elsewhere.
    """
    random, days = Random("fifty runs"), amount(quick=10, all=25, proof=50)
    with a_store(ours) as mail:
        job = Played(mail.deployed, RETAIN)
        past_since: dict[str, int] = {}
        looked, most = [0], 0
        for day in range(days):
            now = NOW + day * DAY_MS
            for _ in range(random.randrange(3)):
                mail.deliver(now, *(mail.message(now, random.choice("ab") + ".com") for _ in range(3)))
            for row in random.sample(sorted(mail.waits), len(mail.waits) // 3):
                mail.acknowledge(row)
            run = Doomed(victims[0], random)
            with suppress(Died):
                job.compact(now + HOUR_MS, victims[0])
                run.looked = True
            # Whether it came to an end or not, nobody was told.
            job.before = LastRun()
            mail.check(now + HOUR_MS)
            looked += [day] if run.looked else []
            for name in mail.past(now):
                # A segment is not due before a day has passed, nor is a chunk; and what a run makes past after its
                # look is seen by the next.
                assert past_since.setdefault(name, day) >= looked[-2] - 2, f"{name} is needed by nobody on day {day}"
            most = max(most, len(mail.sizes()) - len(mail.needed()))
        assert len(looked) > days * 2 / 5
        assert amount(quick=0, all=2, proof=5) < most < 20, (
            "there was something to leave behind, and it did not pile up"
        )
        for later in (days, days + 1, days + 32):
            job.compact(NOW + later * DAY_MS)
        assert set(mail.sizes()) == mail.needed()
        assert sum(mail.sizes().values()) == mail.live_bytes()
        mail.check(NOW + (days + 32) * DAY_MS)


class Doomed:
    """A run that may die of any of its calls, before it or after it took effect. `looked`: it got through its look."""

    def __init__(self, clients: Clients, random: Random) -> None:
        self.looked = False
        self._random, self._dead = random, False
        gate_calls(clients, self._gate)

    @contextmanager
    def _gate(self, operation: str) -> Iterator[None]:
        if self._dead or self._random.random() < (1 / 10 if operation in WRITES else 1 / 100):
            self._die()
        yield
        self.looked |= operation in WRITES
        if self._random.random() < (1 / 10 if operation in WRITES else 0):
            self._die()

    def _die(self) -> None:
        self._dead = True
        raise Died
