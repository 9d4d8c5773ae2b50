"""Replays at the same time: however many senders post one message at once, it is executed once.

The store is MiniStack, over HTTP: what several threads ask of it meets in any order, as on AWS. The ground it stands
on, that its conditional writes are atomic, has tests of its own (tests/storage/test_atomic.py).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier, Event

import pytest
from tests.aws import Deployed, deploy_on
from tests.pipeline.stack import ASK, PipelineStack
from tests.pipeline.stage import Died
from tests.tiers import amount

from postroom.http.response import HttpResponse
from postroom.local.emulator import Emulator
from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.worker import Record
from postroom.protocols.nlweb.reasons import STILL_WORKING

SENDERS = 50
ROUNDS = amount(quick=4, all=16, proof=300)
WORKERS = 4

# In the smallest tier, too: nothing else meets with this many at once.
pytestmark = [pytest.mark.xdist_group("replay"), pytest.mark.stack(tier="quick")]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture(scope="module")
def accounts() -> Iterator[int]:
    return count(700_000_000_001)


@pytest.fixture
def deployed(emulator: Emulator, accounts: Iterator[int]) -> Deployed:
    # An account for each test: they see nothing of each other.
    return deploy_on(emulator.clients(str(next(accounts))))


@pytest.fixture
def senders() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(SENDERS) as pool:
        yield pool


def restarted(stack: PipelineStack) -> PipelineStack:
    """The same deployment with nothing in memory: every cache, every client and every thread is new."""
    return PipelineStack(stack.deployed, clock=stack.clock, handlers=stack.handlers, pool=ThreadPoolExecutor(WORKERS))


def post_at_once(stack: PipelineStack, body: bytes, pool: ThreadPoolExecutor) -> list[HttpResponse]:
    """Each sender has an inbox of its own, and all of them post at the same moment."""
    together = Barrier(SENDERS)

    def post(_: int) -> HttpResponse:
        inbox = stack.inbox()
        together.wait()
        return inbox.post(Posted(body, "application/json", "", "192.0.2.1"))

    return list(pool.map(post, range(SENDERS)))


class Workers:
    """Some workers, each a thread that takes batches from the queue until it is stopped and the queue is empty."""

    def __init__(self, stack: PipelineStack) -> None:
        self._over = Event()
        self._pool = ThreadPoolExecutor(WORKERS)
        self._ended = [self._pool.submit(self._work, restarted(stack)) for _ in range(WORKERS)]

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for ended in self._ended:
            ended.result()
        self._pool.shutdown()

    def _work(self, stack: PipelineStack) -> None:
        sqs, url, worker = stack.deployed.clients.sqs, stack.deployed.queues["ClaimsQueue"], stack.worker()
        while True:
            over = self._over.is_set()
            received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            messages = received.get("Messages", [])
            if messages:
                report = worker.work([Record(each["MessageId"], each["Body"], 1) for each in messages])
                assert report.failed == ()
                sqs.delete_message_batch(
                    QueueUrl=url,
                    Entries=[{"Id": each["MessageId"], "ReceiptHandle": each["ReceiptHandle"]} for each in messages],
                )
            elif over:
                return


def test_a_message_posted_by_many_at_once_is_filed_once(stack: PipelineStack, senders: ThreadPoolExecutor) -> None:
    bodies = [stack.envelope() for _ in range(ROUNDS)]
    with Workers(stack):
        for body in bodies:
            assert {answer.status for answer in post_at_once(stack, body, senders)} == {200}
    with Workers(restarted(stack)):
        assert {answer.status for answer in post_at_once(restarted(stack), bodies[0], senders)} == {200}
    listed = stack.listed()
    assert sorted(filed.line.envelope for filed in listed) == sorted(body.decode() for body in bodies)
    assert len(stack.deployed.rows("PostTable")) == ROUNDS


def test_a_synchronous_request_posted_by_many_at_once_is_executed_once(
    stack: PipelineStack, senders: ThreadPoolExecutor
) -> None:
    stack.handlers.handlers["ask"] = lambda request: request
    for number in range(ROUNDS):
        body = stack.envelope(ASK, {"round": number})
        answers = post_at_once(stack, body, senders)
        # Who comes while the first is at work is asked to come again; who comes later is told what the first was.
        assert {(answer.status, answer.reason) for answer in answers} <= {(200, None), (503, STILL_WORKING)}
        assert {answer.body for answer in answers if answer.status == 200} == {b'{"round":%d}' % number}
        again = restarted(stack).post(body)
        assert (again.status, again.body) == (200, b'{"round":%d}' % number)
    assert [request for _, request in stack.handlers.calls] == [{"round": number} for number in range(ROUNDS)]


def test_a_request_whose_inbox_died_is_taken_over_by_one_of_many(
    stack: PipelineStack, senders: ThreadPoolExecutor
) -> None:
    stack.handlers.handlers["ask"] = died
    body = stack.envelope(ASK)
    with pytest.raises(Died):
        stack.post(body)
    stack.handlers.handlers["ask"] = lambda request: "done"
    assert {answer.reason for answer in post_at_once(stack, body, senders)} == {STILL_WORKING}
    stack.clock.now += 31  # the lease has ended
    assert "done" in {answer.body.decode().strip('"') for answer in post_at_once(restarted(stack), body, senders)}
    assert len(stack.handlers.calls) == 2


def died(_: object) -> str:
    raise Died
