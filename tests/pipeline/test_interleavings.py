"""Workers, the sender's retry and the owner, interleaved between any two AWS calls, with deaths in between.

After each step: nothing is listed twice, nothing acknowledged is listed, what is listed has its bytes, and no claim
left the queue before its message's home was live, or gone and (if discarded) the courier told. At the end SQS hands
out again what is still in the queue: then each message was filed once or discarded once, never both.
"""

import json
from collections.abc import Callable, Sequence
from random import Random

import pytest
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.stack import NOW, RETAIN, SENDER, SENDER_KEY, SENDER_KEY_NAME, SHOP, UNKNOWN, PipelineStack
from tests.pipeline.stage import Actor, Choose, Stage, all_schedules, gate_of
from tests.tiers import amount

from postroom.outbound.discard_messages import DiscardNotification
from postroom.pipeline.claims import Claim
from postroom.pipeline.verdicts import Discarded, Judge, Retry, Verdict
from postroom.pipeline.worker import Record
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND
from postroom.storage.layout import RowKey, seen_key_nlweb
from postroom.storage.mail.reader import Filed
from postroom.storage.mail.register import DUPLICATE, Row


class Refusing:
    """A judge to whom the same message looks bad: the key was not published yet, or is revoked by now."""

    def __init__(self, real: Judge) -> None:
        self._real = real

    def judge(self, claim: Claim) -> Verdict:
        verdict = self._real.judge(claim)
        if isinstance(verdict, Retry):
            return verdict
        return Discarded(KEY_NOT_FOUND, "", verdict.correlation, verdict.feedback_request)


class Play:
    """One schedule: claims, who works on them, and what must be true all the time."""

    def __init__(self, stack: PipelineStack, clients: Sequence[Clients], choose: Choose, deaths: int) -> None:
        self.stack, self.clients = stack, iter(clients)
        # Requests about the sender's zone come before all others, and change nothing that is played here.
        self.stack.keys.cached[SENDER_KEY_NAME] = SENDER_KEY.public
        self.stage = Stage(choose, deaths=deaths)
        self.queue: dict[str, Record] = {}
        self.claims: dict[str, Claim] = {}
        self.bytes: dict[str, str] = {}
        self.acknowledged: set[str] = set()
        self.has_large = False

    def post(self, body: bytes, *, large: bool = False) -> Record:
        """A message in the queue. `large`: as one too large for it, under a pointer."""
        record = self.stack.queued(body)
        claim = self.stack.claim(record)
        if large:
            record, self.has_large = self.stack.pointed(record), True
        self.queue[claim.id], self.claims[claim.id] = record, claim
        self.bytes[claim.id] = body.decode()
        return record

    def works(self, name: str, *records: Record, judge: Judge | None = None) -> None:
        """A worker gets a batch."""
        clients = next(self.clients)

        def run() -> None:
            report = self.stack.worker(clients, judge).work(records)
            for record in records:
                if record.message_id not in report.failed:
                    self.leaves(record)

        self.enters(name, clients, run)

    def owns(self, name: str) -> None:
        """The owner picks up what is listed, and acknowledges it."""
        clients = next(self.clients)
        register = self.stack.deployed.parts(clients).storage.register

        def run() -> None:
            for claim in list(self.claims.values()):
                row = register.find(claim.row)
                if row is not None and row.live and register.acknowledge(claim.row, int(NOW) + RETAIN) is not None:
                    self.acknowledged.add(self.identity(claim))

        self.enters(name, clients, run)

    def enters(self, name: str, clients: Clients, run: Callable[[], None]) -> None:
        actor: Actor = self.stage.enter(name, run)
        gate_calls(clients, gate_of(lambda: None if actor.ended else actor))

    def identity(self, claim: Claim) -> str:
        return str(json.loads(claim.envelope)["Header"]["Correlation"])

    def leaves(self, record: Record) -> None:
        """Q: only when the home is live, or gone and (if discarded) the courier was told."""
        claim = self.claims[self.stack.claim(record).id]
        assert claim.id not in self.stored(), "LEFT"
        known = self.stack.home(seen_key_nlweb(SHOP, SENDER, self.identity(claim)))
        row = self.stack.row(known.home if known and known.home else claim.row)
        own = self.stack.row(claim.row)
        assert row is not None or own is not None, "LOST"
        for each in (row, own):
            if each is not None and each.discarded is not None and (row is None or not row.live):
                assert each.key in self.told(), "NOT TOLD"
        self.queue.pop(claim.id, None)

    def stored(self) -> set[str]:
        """The claims whose objects are there."""
        if not self.has_large:
            return set()
        return {name.rpartition("/")[2] for name in self.stack.claim_objects()}

    def told(self) -> set[RowKey]:
        return {notice.row for notice in self.stack.discard_notifications() if isinstance(notice, DiscardNotification)}

    def listed(self) -> list[Filed]:
        filed = self.stack.listed()
        shown = [self.identity_of(each) for each in filed]
        assert len(set(shown)) == len(shown), "DOUBLED"
        assert not self.acknowledged.intersection(shown), "RESURRECTED"
        assert all(each.row.key == each.line.row for each in filed), "DANGLING"
        return filed

    def identity_of(self, filed: Filed) -> str:
        return str(json.loads(filed.line.envelope)["Header"]["Correlation"])

    def run(self) -> None:
        self.stage.play(self.listed)
        # SQS hands out again what is still there; a zombie's copy of everything else comes late as well.
        for record in (*self.queue.values(), *self.queue.values()):
            assert self.stack.work(record).failed == ()
        self.queue.clear()
        assert self.stored() == set(), "LEFT"
        shown = [self.identity_of(each) for each in self.listed()]
        for claim in self.claims.values():
            who = self.identity(claim)
            ends = [each for each in self.claims.values() if self.identity(each) == who]
            discarded = [each for each in ends if (row := self.stack.row(each.row)) is not None and row.discarded]
            assert (who in shown) + (who in self.acknowledged) + bool(discarded) == 1, "LOST or BOTH"
            live = [each for each in ends if (row := self.stack.row(each.row)) is not None and is_home(row)]
            assert len(live) == (not discarded), "one row for each message"
            assert not {each.row for each in live}.intersection(self.told()), "BOTH"
        self.clear()

    def clear(self) -> None:
        """The next schedule starts with an empty mailbox and empty queues: moto slows down with what it holds."""
        deployed = self.stack.deployed
        for claim in self.claims.values():
            key = {"pk": {"S": claim.row.pk}, "sk": {"S": claim.row.sk}}
            deployed.clients.dynamodb.delete_item(TableName=deployed.tables["PostTable"], Key=key)
        for queue in ("ClaimsQueue", "CourierQueue", "FeedbackQueue"):
            deployed.empty(queue)


def is_home(row: Row) -> bool:
    return row.discarded is None and row.why != DUPLICATE


Scene = Callable[[Play], None]


def one_claim_delivered_twice(play: Play) -> None:
    record = play.post(play.stack.envelope())
    play.works("A", record)
    play.works("B", record)


def a_message_and_the_senders_retry(play: Play) -> None:
    body = play.stack.envelope()
    play.works("A", play.post(body))
    play.works("B", play.post(body))


def a_message_and_its_retry_in_both_batches(play: Play) -> None:
    body = play.stack.envelope()
    first, second = play.post(body), play.post(body)
    play.works("A", first, second)
    play.works("B", second)


def two_messages_in_changing_batches(play: Play) -> None:
    one, two = play.post(play.stack.envelope(body=1)), play.post(play.stack.envelope(body=2))
    play.works("A", one, two)
    play.works("B", two)


def judgements_that_differ(play: Play) -> None:
    record = play.post(play.stack.envelope())
    play.works("A", record)
    play.works("B", record, judge=Refusing(play.stack.judge()))


def two_discards(play: Play) -> None:
    record = play.post(play.stack.envelope(UNKNOWN))
    play.works("A", record)
    play.works("B", record)


def delivered_twice_and_the_owner_is_there(play: Play) -> None:
    one_claim_delivered_twice(play)
    play.owns("owner")


def a_retry_and_the_owner_is_there(play: Play) -> None:
    a_message_and_the_senders_retry(play)
    play.owns("owner")


def a_large_claim_delivered_twice(play: Play) -> None:
    record = play.post(play.stack.envelope(), large=True)
    play.works("A", record)
    play.works("B", record)


def a_large_message_and_the_senders_retry(play: Play) -> None:
    body = play.stack.envelope()
    first, second = play.post(body, large=True), play.post(body, large=True)
    play.works("A", first)
    play.works("B", second, first)


def two_large_discards(play: Play) -> None:
    record = play.post(play.stack.envelope(UNKNOWN), large=True)
    play.works("A", record)
    play.works("B", record)


def judgements_of_a_large_claim_that_differ(play: Play) -> None:
    record = play.post(play.stack.envelope(), large=True)
    play.works("A", record)
    play.works("B", record, judge=Refusing(play.stack.judge()))


SMALL = [one_claim_delivered_twice, a_message_and_the_senders_retry, judgements_that_differ, two_discards]
LARGE = [
    a_message_and_its_retry_in_both_batches,
    two_messages_in_changing_batches,
    delivered_twice_and_the_owner_is_there,
    a_retry_and_the_owner_is_there,
    a_large_claim_delivered_twice,
    a_large_message_and_the_senders_retry,
    two_large_discards,
    judgements_of_a_large_claim_that_differ,
]
SCHEDULES = amount(quick=3, all=8, proof=250)
"""Drawn by the number of the rotation: other days play others."""


@pytest.fixture(scope="module")
def casts() -> list[Clients]:
    """Clients of three actors; made once, because making them is slow."""
    return [new_clients() for _ in range(3)]


def play(stack: PipelineStack, casts: list[Clients], scene: Scene, choose: Choose, deaths: int = 0) -> None:
    staged = Play(stack, casts, choose, deaths)
    scene(staged)
    try:
        staged.run()
    except AssertionError as error:
        error.add_note("\n".join(staged.stage.story))
        raise


@pytest.mark.parametrize("scene", SMALL, ids=lambda scene: scene.__name__)
def test_every_schedule_of_two_workers_ends_well(stack: PipelineStack, casts: list[Clients], scene: Scene) -> None:
    played = all_schedules(lambda choose: play(stack, casts, scene, choose))
    assert played >= 6


@pytest.mark.parametrize("scene", [*SMALL, *LARGE], ids=lambda scene: scene.__name__)
def test_schedules_with_a_death_in_them_end_well(
    stack: PipelineStack, casts: list[Clients], scene: Scene, pytestconfig: pytest.Config
) -> None:
    random = Random(f"{scene.__name__} {pytestconfig.option.rotation}")
    for _ in range(SCHEDULES):
        play(stack, casts, scene, random.randrange, deaths=1)


@pytest.mark.parametrize("scene", LARGE, ids=lambda scene: scene.__name__)
def test_larger_schedules_end_well(
    stack: PipelineStack, casts: list[Clients], scene: Scene, pytestconfig: pytest.Config
) -> None:
    random = Random(f"{scene.__name__} {pytestconfig.option.rotation}")
    for _ in range(SCHEDULES):
        play(stack, casts, scene, random.randrange)


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("subject", ["Notify@Shop", UNKNOWN])
def test_a_death_before_or_after_any_call_loses_nothing_and_doubles_nothing(
    stack: PipelineStack, casts: list[Clients], subject: str, large: bool
) -> None:
    def scene(play: Play) -> None:
        play.works("A", play.post(stack.envelope(subject), large=large))

    assert all_schedules(lambda choose: play(stack, casts, scene, choose, deaths=1)) >= 5
