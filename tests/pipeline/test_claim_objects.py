"""The object of a claim too large for the queue: deleted after the verdict, and not needed when SQS delivers again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.stack import (
    HORIZON,
    NOW,
    ORDER,
    OTHER_KEY,
    RETAIN,
    SENDER,
    SENDER_KEY_NAME,
    UNKNOWN,
    PipelineStack,
)

from postroom.core.errors import NotNowError
from postroom.core.reasons import NOT_QUEUED, TOO_LATE, UNDELIVERABLE
from postroom.outbound.discard_messages import DiscardNotification
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.worker import Source
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED, SIGNATURE_INVALID, UNEXPECTED_SUBJECT
from postroom.storage.mail.register import ACKED, DUPLICATE

LARGE = "x" * 1_040_000


def denied(operation: str) -> Clients:
    """Clients of a role that lacks a right on the bucket: S3 then says the same as of a missing object."""

    @contextmanager
    def gate(called: str) -> Iterator[None]:
        if called == operation:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "Access Denied"}}, called)
        yield

    clients = new_clients()
    gate_calls(clients, gate)
    return clients


def calls(stack: PipelineStack, *bodies: str) -> list[str]:
    """The AWS calls of a worker with these queue messages, in order."""
    made: list[str] = []

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        made.append(operation)
        yield

    clients = new_clients()
    gate_calls(clients, gate)
    report = stack.worker(clients).work([stack.record(body) for body in bodies])
    assert report.failed == ()
    return made


def test_a_forged_message_leaves_no_object(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope(body=LARGE, key=OTHER_KEY))
    assert len(stack.claim_objects()) == 1
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, SIGNATURE_INVALID)
    assert stack.deployed.objects() == {}


def test_an_accepted_message_leaves_its_segment_only(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(stack.envelope(body=LARGE))).fate is ClaimOutcome.ACCEPTED
    [name] = stack.deployed.objects()
    [filed] = stack.listed()
    assert filed.row.place is not None
    assert filed.row.place.object == name


def test_a_forwarded_message_leaves_no_object(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope(ORDER)))
    assert stack.settle(record).fate is ClaimOutcome.FORWARDED
    assert stack.deployed.objects() == {}
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert len(stack.forwarding.forwarded) == 1


def test_the_object_is_deleted_last_by_one_request(stack: PipelineStack) -> None:
    """After the row is written, and the courier was told."""
    # That a zone answered is recorded once.
    stack.settle(stack.queued(stack.envelope()))
    good, bad = (stack.queued(stack.envelope(subject)) for subject in ("Notify@Shop", UNKNOWN))
    assert calls(stack, stack.pointed(bad).body) == ["GetObject", "PutItem", "SendMessage", "DeleteObject"]
    filing = ["PutItem", "PutObject", "PutItem"]
    assert calls(stack, stack.pointed(good).body) == ["GetObject", *filing, "DeleteObject"]
    assert calls(stack, stack.queued(stack.envelope()).body) == filing


@pytest.mark.parametrize("filed_first", [True, False])
def test_a_copy_gets_a_row_of_its_own_before_its_object_is_deleted(stack: PipelineStack, filed_first: bool) -> None:
    """Else nothing would decide it when SQS delivers it again. The home of the message may be filed by its copy."""
    body = stack.envelope()
    first, copy = stack.pointed(stack.queued(body)), stack.pointed(stack.queued(body))
    claim = stack.claim(copy)
    if filed_first:
        stack.settle(first)
    else:
        clients = new_clients()
        with Stubber(clients.s3) as stub:
            stub.add_response("get_object", {"Body": _Body(stack.objects.get(stack.claim_objects()[0]))})
            stub.add_client_error("put_object", "SlowDown", http_status_code=503)
            stack.worker(clients).work([first])
    assert calls(stack, copy.body)[-2:] == ["PutItem", "DeleteObject"]
    row = stack.row(claim.row)
    assert row is not None
    assert row.why == DUPLICATE
    [item] = [each for each in stack.deployed.rows("PostTable") if each["sk"]["S"] == claim.row.sk]
    assert int(item["ttl"]["N"]) == int(NOW) + RETAIN
    assert stack.settle(copy).fate is ClaimOutcome.DUPLICATE
    assert len(stack.listed()) == 1
    if not filed_first:
        assert stack.settle(first).fate is ClaimOutcome.DUPLICATE
    assert stack.claim_objects() == []


class _Body:
    """A body of S3, for a stub."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        return self._data


def test_the_object_of_a_retry_stays_until_it_is_decided(stack: PipelineStack) -> None:
    key = stack.keys.published[SENDER_KEY_NAME]
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    record = stack.pointed(stack.queued(stack.envelope()))
    assert stack.settle(record).fate is ClaimOutcome.RETRIED
    assert len(stack.claim_objects()) == 1
    stack.keys.published[SENDER_KEY_NAME] = key
    [retry] = stack.deployed.bodies("RetryQueue")
    assert stack.settle(stack.record(retry)).fate is ClaimOutcome.ACCEPTED
    assert stack.claim_objects() == []
    # The first copy of the queue message comes again.
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE


def test_the_object_of_a_claim_that_waits_for_a_silent_zone_stays(stack: PipelineStack) -> None:
    stack.silent_zone, stack.keys.published[SENDER_KEY_NAME] = lambda _: SENDER, NotNowError(KEY_LOOKUP_FAILED)
    record = stack.pointed(stack.queued(stack.envelope()))
    stack.settle(record)
    assert len(stack.claim_objects()) == 1
    stack.clock.now += HORIZON + 1
    [waits] = stack.deployed.bodies("WaitingQueue")
    assert stack.settle(stack.record(waits)).reason is TOO_LATE
    assert stack.claim_objects() == []


def test_the_object_of_a_suspect_stays_until_it_is_decided(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope()))
    stack.work(replace(record, received=3))
    assert len(stack.claim_objects()) == 1
    [suspect] = stack.deployed.bodies("SuspectsQueue")
    assert stack.worker().work([stack.record(suspect)], Source.SUSPECTS).failed == ()
    assert stack.claim_objects() == []


def test_a_redelivered_claim_without_its_object_is_decided_by_its_row(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope()))
    stack.settle(record)
    before = stack.deployed.dump()
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert stack.deployed.dump() == before
    row = stack.claim(record).row
    stack.register.acknowledge(row, int(NOW) + RETAIN)
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    found = stack.row(row)
    assert found is not None
    assert found.why == ACKED


def test_a_redelivered_discard_without_its_object_tells_the_courier_the_same_again(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope(UNKNOWN)))
    stack.settle(record)
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, UNEXPECTED_SUBJECT)
    first, again = stack.discard_notifications()
    assert first == again
    assert stack.deployed.objects() == {}


def test_a_claim_that_lost_its_object_is_not_done_without_a_row(stack: PipelineStack) -> None:
    """Somebody else deleted it: SQS delivers it again, and near the horizon its sender is told."""
    record = stack.pointed(stack.queued(stack.envelope()))
    for name in stack.claim_objects():
        stack.objects.delete(name)
    report = stack.work(record)
    assert (report.failed, [outcome.fate for outcome in report.outcomes]) == (
        (record.message_id,), [ClaimOutcome.STUCK],
    )  # fmt: skip
    assert (stack.deployed.rows("PostTable"), stack.discard_notifications()) == ([], [])
    young = stack.dead_letter_handler().keep([DeadLetter("handle", record.body)])
    assert (young.decided, len(young.waiting), young.unreadable) == ((), 1, 0)
    stack.clock.now += HORIZON
    old = stack.dead_letter_handler().keep([DeadLetter("handle", record.body)])
    assert (old.decided, [outcome.reason for outcome in old.outcomes]) == (("handle",), [UNDELIVERABLE])
    [notice] = stack.discard_notifications()
    assert isinstance(notice, DiscardNotification)
    assert (notice.row, notice.reason) == (stack.claim(record).row, UNDELIVERABLE)


def test_a_claim_whose_object_is_denied_is_not_done_and_is_filed_when_it_is_not_denied(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope()))
    report = stack.worker(denied("GetObject")).work([record])
    assert (report.failed, [outcome.fate for outcome in report.outcomes]) == (
        (record.message_id,), [ClaimOutcome.STUCK],
    )  # fmt: skip
    assert (stack.deployed.rows("PostTable"), stack.discard_notifications()) == ([], [])
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED


def test_the_dead_letter_handler_decides_by_the_queue_message_whatever_s3_says_of_the_object(
    stack: PipelineStack,
) -> None:
    record = stack.pointed(stack.queued(stack.envelope()))
    letters, handler = [DeadLetter("handle", record.body)], stack.dead_letter_handler(denied("GetObject"))
    young = handler.keep(letters)
    assert (young.decided, len(young.waiting), young.unreadable) == ((), 1, 0)
    stack.clock.now += HORIZON
    assert handler.keep(letters).decided == ("handle",)
    [notice] = stack.discard_notifications()
    assert isinstance(notice, DiscardNotification)
    assert (notice.row, notice.reason, notice.sender) == (stack.claim(record).row, UNDELIVERABLE, SENDER)
    assert stack.claim_objects() == []


def test_a_dead_letter_of_the_release_before_stays_while_its_object_is_denied(stack: PipelineStack) -> None:
    """Only the object says which row is its own: denied is not gone."""
    stack.pointed(stack.queued(stack.envelope()))
    [name] = stack.claim_objects()
    letters = [DeadLetter("handle", f'{{"at":"{name}","tries":0}}')]
    stack.clock.now += HORIZON
    kept = stack.dead_letter_handler(denied("GetObject")).keep(letters)
    assert (kept.decided, kept.unreadable) == ((), 0)
    assert stack.dead_letter_handler().keep(letters).decided == ("handle",)
    assert [notice.reason for notice in stack.discard_notifications() if isinstance(notice, DiscardNotification)] == [
        UNDELIVERABLE
    ]


def test_the_dead_letter_handler_deletes_the_object_of_what_it_decides(stack: PipelineStack) -> None:
    record = stack.pointed(stack.queued(stack.envelope()))
    letters = [DeadLetter("handle", record.body)]
    assert stack.dead_letter_handler().keep(letters).decided == ()
    assert len(stack.claim_objects()) == 1
    stack.clock.now += HORIZON
    assert stack.dead_letter_handler().keep(letters).decided == ("handle",)
    assert stack.claim_objects() == []
    # The dead letter could not be deleted, and comes again.
    assert stack.dead_letter_handler().keep(letters).decided == ("handle",)
    assert len({each.row for each in stack.discard_notifications() if isinstance(each, DiscardNotification)}) == 1


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("AccessDenied", 403)])
def test_an_object_that_cannot_be_deleted_stays_and_its_claim_is_done(
    stack: PipelineStack, code: str, status: int
) -> None:
    """The expire job deletes it when it is old."""
    record = stack.pointed(stack.queued(stack.envelope(UNKNOWN)))
    [name] = stack.claim_objects()
    clients = new_clients()
    with Stubber(clients.s3) as stub:
        stub.add_response("get_object", {"Body": _Body(stack.objects.get(name))})
        stub.add_client_error("delete_object", code, http_status_code=status)
        report = stack.worker(clients).work([record])
    assert (report.failed, [outcome.fate for outcome in report.outcomes]) == ((), [ClaimOutcome.DISCARDED])
    assert stack.claim_objects() == [name]


def test_the_object_of_a_message_that_could_not_be_queued_stays(stack: PipelineStack) -> None:
    """No 200 was given. The inbox may not delete, and the queue may have the claim in spite of the error."""
    clients = new_clients()
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("get_queue_attributes", "ServiceUnavailable", http_status_code=503)
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        answer = stack.inbox(clients).post(Posted(stack.envelope(body=LARGE), "application/json", "", "192.0.2.1"))
    assert (answer.status, answer.reason) == (503, NOT_QUEUED)
    assert len(stack.claim_objects()) == 1


def test_the_object_under_a_pointer_of_the_release_before_stays(stack: PipelineStack) -> None:
    """Its queue message does not say enough to be decided without it."""
    record = stack.pointed(stack.queued(stack.envelope()))
    [name] = stack.claim_objects()
    bare = replace(record, body=f'{{"at":"{name}","tries":0}}')
    assert stack.settle(bare).fate is ClaimOutcome.ACCEPTED
    assert stack.claim_objects() == [name]
    assert stack.settle(bare).fate is ClaimOutcome.DUPLICATE
