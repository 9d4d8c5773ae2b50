import json
from random import Random
from typing import Any

import pytest
from botocore.stub import Stubber
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.stack import (
    BUFFER,
    DAY,
    MAX_BYTES,
    NOW,
    OTHER_KEY,
    OUR_KEY,
    RETAIN,
    SENDER,
    SENDER_KEY,
    SENDER_KEY_NAME,
    SHOP,
    UNKNOWN,
    PipelineStack,
)
from tests.pipeline.stage import Choose, Stage, all_schedules, gate_of
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.core.ijson import parse
from postroom.core.reasons import OUTBOUND_FAILED, UNDELIVERABLE
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.feedback_sender import DOMAINS_OF_A_BUFFER, FeedbackSender
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED, SIGNATURE_INVALID, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.layout import RowKey, seen_key_nlweb


def discard(stack: PipelineStack, body: bytes | None = None) -> DiscardNotification:
    """A message that was discarded, and what the courier was asked to tell of it."""
    stack.settle(stack.queued(body or stack.envelope(UNKNOWN)))
    notice = stack.discard_notifications()[-1]
    assert isinstance(notice, DiscardNotification)
    return notice


def bodies(stack: PipelineStack) -> list[dict[str, Any]]:
    return [json.loads(envelope)["Body"] for _, envelope in stack.outbound.posts]


def test_feedback_goes_to_the_buffer_that_the_senders_manifest_names(stack: PipelineStack) -> None:
    notice = discard(stack)
    assert stack.feedback_sender().deliver(notice) is Delivery.DELIVERED
    [(url, data)] = stack.outbound.posts
    assert url == "https://nlweb.buffer.sender.com/inbox"
    envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
    assert (envelope.sender, envelope.receiver, envelope.subject) == (SHOP, BUFFER, "Feedback@Buffer")
    assert envelope.body == {
        "Sender": SENDER,
        "Correlation": notice.correlation,
        "Status": "Discarded",
        "Reason": UNEXPECTED_SUBJECT.sentence,
        "Code": "UnexpectedSubject",
    }
    assert envelope.correlation != notice.correlation
    check_hash(envelope.claimed_hash, envelope.digest)
    check_signature(envelope, OUR_KEY.public)
    assert envelope.selector == "pk1"


def test_feedback_that_was_sent_is_not_sent_again(stack: PipelineStack) -> None:
    notice = discard(stack)
    stack.feedback_sender().deliver(notice)
    for again in (notice, notice.again()):
        assert stack.feedback_sender().deliver(again) is Delivery.SILENT
    assert len(stack.outbound.posts) == 1


def test_a_message_that_lives_in_another_home_was_not_discarded(stack: PipelineStack) -> None:
    body = stack.envelope()
    stack.keys.published[SENDER_KEY_NAME] = OTHER_KEY.public
    notice = discard(stack, body)
    stack.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    stack.keys.cached.clear()
    retry = stack.queued(body)
    stack.settle(retry)
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    stack.register.acknowledge(stack.claim(retry).row, int(NOW) + RETAIN)
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    assert stack.outbound.posts == []


def test_a_home_that_is_named_and_not_yet_filed_counts_as_another_home(stack: PipelineStack) -> None:
    notice = discard(stack)
    key = seen_key_nlweb(SHOP, SENDER, notice.correlation)
    stack.seen.claim_home(key, notice.digest, RowKey("shop.com#0", "m#0#x"), now=int(NOW), forget_at=int(NOW) + 9)
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT


def test_a_home_that_was_discarded_does_not_prevent_feedback(stack: PipelineStack) -> None:
    notice = discard(stack)
    home = RowKey("shop.com#0", "m#0000000000000#x")
    key = seen_key_nlweb(SHOP, SENDER, notice.correlation)
    stack.seen.claim_home(key, notice.digest, home, now=int(NOW), forget_at=int(NOW) + 9)
    stack.register.discard(home, UNDELIVERABLE, int(NOW) + RETAIN)
    assert stack.feedback_sender().deliver(notice) is Delivery.DELIVERED


def test_feedback_is_sent_about_another_message_under_the_same_correlation(stack: PipelineStack) -> None:
    correlation = stack.new_uuid()
    stack.settle(stack.queued(stack.envelope(body=1, correlation=correlation)))
    notice = discard(stack, stack.envelope(body=2, correlation=correlation))
    assert stack.feedback_sender().deliver(notice) is Delivery.DELIVERED
    assert [body["Code"] for body in bodies(stack)] == ["CorrelationReused"]


def test_a_request_that_was_answered_at_once_was_not_discarded(stack: PipelineStack) -> None:
    stack.handlers.handlers["ask"] = lambda _: 1
    body = stack.envelope("Ask@Shop")
    stack.post(body)
    stack.operators.remove_subject(SHOP, "Ask@Shop")
    stack.clock.now += 31
    assert stack.feedback_sender().deliver(discard(stack, body)) is Delivery.SILENT


def test_a_domain_without_a_buffer_gets_no_feedback(stack: PipelineStack) -> None:
    stack.manifests.buffers.clear()
    assert stack.feedback_sender().deliver(discard(stack)) is Delivery.NOBODY
    assert stack.outbound.posts == []
    assert [row for row in stack.deployed.rows("LimitsTable") if row["pk"]["S"].startswith("feedback#")] == []


def test_feedback_in_the_pollyweb_dialect_goes_to_its_own_host(stack: PipelineStack) -> None:
    stack.keys.published["pw1._domainkey.pw.sender.com"] = SENDER_KEY.public
    notice = discard(stack, stack.envelope(UNKNOWN, dialect=POLLYWEB, selector="pw1"))
    stack.feedback_sender().deliver(notice)
    [(url, data)] = stack.outbound.posts
    assert url == "https://pw.buffer.sender.com/inbox"
    header = json.loads(data)["Header"]
    assert (header["Schema"], header["Selector"]) == ("pollyweb.org/MSG:1.0", "pk1")


# ---- tries ---------------------------------------------------------------------------------------------------


def waiting(stack: PipelineStack) -> DiscardNotification | DiscardSummaryDue:
    return stack.discard_notifications()[-1]


def next_due(stack: PipelineStack) -> DiscardNotification | DiscardSummaryDue:
    """What waits, after it has passed through the queue until it is due."""
    while not (notice := waiting(stack)).is_due:
        assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    return notice


@pytest.mark.parametrize("trouble", [None, 500, 503, 429, 408, 302])
def test_every_attempt_repeats_the_same_header_and_body(stack: PipelineStack, trouble: int | None) -> None:
    stack.outbound.answers = [trouble, trouble]
    notice: DiscardNotification | DiscardSummaryDue = discard(stack)
    for expected in (Delivery.WAITING, Delivery.WAITING, Delivery.DELIVERED):
        assert stack.feedback_sender().deliver(notice) is expected
        stack.clock.now += 60
        if expected is Delivery.WAITING:
            notice = next_due(stack)
    sent = [json.loads(envelope) for _, envelope in stack.outbound.posts]
    assert len(sent) == 3
    assert sent[0] == sent[1] == sent[2]


def test_the_delay_grows_up_to_the_longest_of_sqs(stack: PipelineStack) -> None:
    stack.outbound.answers = [None] * 10
    notice: DiscardNotification | DiscardSummaryDue = discard(stack)
    for _ in range(10):
        stack.feedback_sender().deliver(notice)
        notice = waiting(stack)
    # Jitter stands still at one half: three quarters of 10 · 2ⁿ.
    assert stack.deployed.delays("FeedbackQueue")[1:] == [7, 15, 30, 60, 120, 240, 480, 675, 675, 675]


@pytest.mark.parametrize("status", [400, 401, 404, 413, 421, 422])
def test_a_refusal_is_final(stack: PipelineStack, status: int) -> None:
    stack.outbound.answers = [status]
    notice = discard(stack)
    assert stack.feedback_sender().deliver(notice) is Delivery.REFUSED
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    assert len(stack.outbound.posts) == 1


@pytest.mark.parametrize("status", [200, 202, 204])
def test_any_success_status_means_delivered(stack: PipelineStack, status: int) -> None:
    stack.outbound.answers = [status]
    assert stack.feedback_sender().deliver(discard(stack)) is Delivery.DELIVERED


def test_feedback_is_given_up_after_24_hours_for_good(stack: PipelineStack) -> None:
    stack.outbound.answers = [None, None]
    notice = discard(stack)
    stack.clock.now += DAY
    assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    stack.clock.now += 0.001
    assert stack.feedback_sender().deliver(notice) is Delivery.GIVEN_UP
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    assert len(stack.outbound.posts) == 2


def test_feedback_waits_for_a_manifest_that_cannot_be_read_and_is_given_up_too(stack: PipelineStack) -> None:
    stack.manifests.buffers[SENDER] = NotNowError(OUTBOUND_FAILED)
    notice = discard(stack)
    assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    stack.clock.now += DAY + 1
    assert stack.feedback_sender().deliver(notice) is Delivery.GIVEN_UP
    stack.manifests.buffers[SENDER] = BUFFER
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT


def test_feedback_waits_without_a_signing_key(stack: PipelineStack) -> None:
    key = stack.our_keys.keys.pop(SHOP)
    notice = discard(stack)
    assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    assert stack.outbound.posts == []
    stack.our_keys.keys[SHOP] = key
    assert stack.feedback_sender().deliver(waiting(stack)) is Delivery.DELIVERED


def test_a_notification_that_cannot_be_put_back_is_redelivered(stack: PipelineStack) -> None:
    stack.outbound.answers = [None]
    notice = discard(stack)
    clients = new_clients()
    courier = stack.feedback_sender(clients)
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        with pytest.raises(NotNowError):
            courier.deliver(notice)


def test_there_is_no_feedback_about_a_discard_whose_row_was_swept(stack: PipelineStack) -> None:
    notice = discard(stack)
    key = {"pk": {"S": notice.row.pk}, "sk": {"S": notice.row.sk}}
    stack.deployed.clients.dynamodb.delete_item(TableName=stack.deployed.tables["PostTable"], Key=key)
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    assert stack.deployed.rows("PostTable") == []


# ---- the share of a domain -----------------------------------------------------------------------------------


def test_a_domain_over_its_hourly_limit_gets_one_summary_after_the_hour(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 2
    notices = [discard(stack) for _ in range(4)] + [discard(stack, stack.envelope(key=OTHER_KEY))]
    done = [stack.feedback_sender().deliver(notice) for notice in notices]
    assert done == [Delivery.DELIVERED] * 2 + [Delivery.SUMMARY] * 3
    [due] = [each for each in stack.discard_notifications() if isinstance(each, DiscardSummaryDue)]
    assert stack.feedback_sender().deliver(due) is Delivery.WAITING

    stack.clock.now = (due.hour + 1) * 3600 + 119
    assert stack.feedback_sender().deliver(due) is Delivery.WAITING
    stack.clock.now += 1
    assert stack.feedback_sender().deliver(due) is Delivery.DELIVERED
    assert bodies(stack)[-1] == {
        "Sender": SENDER,
        "Status": "Discarded",
        "Count": 3,
        "Since": "2026-11-21T09:00:00.000Z",
        "Until": "2026-11-21T10:00:00.000Z",
        "Codes": {"SignatureInvalid": 1, "UnexpectedSubject": 2},
    }
    assert stack.feedback_sender().deliver(due) is Delivery.SILENT
    assert [stack.feedback_sender().deliver(notice) for notice in notices] == [Delivery.SILENT] * 5
    assert len(stack.outbound.posts) == 3


def test_a_summary_waits_in_the_queue_no_longer_than_to_the_end_of_its_hour(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 0
    stack.feedback_sender().deliver(discard(stack))
    due = waiting(stack)
    stack.feedback_sender().deliver(due)
    stack.clock.now = NOW // 3600 * 3600 + 3600 + 60
    stack.feedback_sender().deliver(due)
    assert stack.deployed.delays("FeedbackQueue")[1:] == [900, 900, 61]


def test_a_summary_repeats_itself_until_it_arrives(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 0
    stack.feedback_sender().deliver(discard(stack))
    due = waiting(stack)
    stack.clock.now += 2 * 3600
    stack.outbound.answers = [500, 200]
    assert stack.feedback_sender().deliver(due) is Delivery.WAITING
    stack.clock.now += 60
    assert stack.feedback_sender().deliver(waiting(stack)) is Delivery.DELIVERED
    first, second = (json.loads(envelope) for _, envelope in stack.outbound.posts)
    assert first == second


def test_the_next_hour_has_its_own_limit(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 1
    assert stack.feedback_sender().deliver(discard(stack)) is Delivery.DELIVERED
    assert stack.feedback_sender().deliver(discard(stack)) is Delivery.SUMMARY
    stack.clock.now += 3600
    assert stack.feedback_sender().deliver(discard(stack)) is Delivery.DELIVERED


def test_a_buffers_limit_holds_however_many_domains_name_it(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 1
    many = [f"n{number}.sender.com" for number in range(DOMAINS_OF_A_BUFFER + 2)]
    stack.manifests.buffers |= dict.fromkeys(many, BUFFER) | {"other.com": "buffer.other.com"}
    notices = [discard(stack, stack.envelope(sender=domain)) for domain in many]
    told = [Delivery.DELIVERED] * DOMAINS_OF_A_BUFFER + [Delivery.WITHHELD] * 2
    assert [stack.feedback_sender().deliver(notice) for notice in notices] == told
    assert stack.feedback_sender().deliver(notices[-1]) is Delivery.SILENT
    assert stack.feedback_sender().deliver(discard(stack, stack.envelope(sender="other.com"))) is Delivery.DELIVERED


def test_summaries_count_towards_a_buffers_limit(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 0
    many = [f"n{number}.sender.com" for number in range(DOMAINS_OF_A_BUFFER + 2)]
    stack.manifests.buffers |= dict.fromkeys(many, BUFFER)
    for domain in many:
        stack.feedback_sender().deliver(discard(stack, stack.envelope(sender=domain)))
    due = [each for each in stack.discard_notifications() if isinstance(each, DiscardSummaryDue)]
    stack.clock.now += 2 * 3600
    told = [Delivery.DELIVERED] * DOMAINS_OF_A_BUFFER + [Delivery.WITHHELD] * 2
    assert [stack.feedback_sender().deliver(each) for each in due] == told
    assert [stack.feedback_sender().deliver(each) for each in due] == [Delivery.SILENT] * len(due)


def test_a_retried_summary_counts_once_towards_its_buffers_limit(stack: PipelineStack) -> None:
    stack.feedback_an_hour = 0
    stack.feedback_sender().deliver(discard(stack))
    due = waiting(stack)
    stack.clock.now += 2 * 3600
    stack.outbound.answers = [500] * (DOMAINS_OF_A_BUFFER + 2) + [200]
    tries = [stack.feedback_sender().deliver(due) for _ in stack.outbound.answers[:]]
    assert tries == [Delivery.WAITING] * (DOMAINS_OF_A_BUFFER + 2) + [Delivery.DELIVERED]


# ---- at most once, whatever dies -----------------------------------------------------------------------------


def identities(stack: PipelineStack) -> set[str]:
    """The different Feedback that went out: a buffer tells them apart by Header and Body."""
    sent = [json.loads(envelope) for _, envelope in stack.outbound.posts]
    return {json.dumps([each["Header"], each["Body"]], sort_keys=True) for each in sent}


@pytest.mark.parametrize("share", [60, 0])
def test_a_death_at_any_call_sends_at_most_one_feedback(stack: PipelineStack, share: int) -> None:
    stack.feedback_an_hour = share
    clients = new_clients()

    def play(choose: Choose) -> None:
        stack.outbound.posts.clear()
        stack.clock.now += 3600
        stage = Stage(choose, deaths=1)
        notice = discard(stack)
        enter(stage, stack.feedback_sender(clients), clients, notice)
        stage.play(lambda: None)
        for _ in range(2):
            stack.clock.now += 1
            last = stack.feedback_sender().deliver(notice)
        assert last is Delivery.SILENT
        assert len(identities(stack)) == (1 if share else 0)
        assert all(json.loads(envelope)["Header"]["Correlation"] for _, envelope in stack.outbound.posts)

    assert all_schedules(play) >= 9


def test_two_couriers_with_one_notification_send_one_feedback(
    stack: PipelineStack, pytestconfig: pytest.Config
) -> None:
    both, random = (new_clients(), new_clients()), Random(pytestconfig.option.rotation)
    for _ in range(amount(quick=4, all=8, proof=250)):
        stack.outbound.posts.clear()
        stack.clock.now += 3600
        stage, notice = Stage(random.randrange), discard(stack)
        for clients in both:
            enter(stage, stack.feedback_sender(clients), clients, notice)
        stage.play(lambda: None)
        assert len(identities(stack)) == 1


def enter(stage: Stage, courier: FeedbackSender, clients: Clients, notice: DiscardNotification) -> None:
    actor = stage.enter("courier", lambda: courier.deliver(notice))
    gate_calls(clients, gate_of(lambda: None if actor.ended else actor))


def test_a_strangers_message_under_the_correlation_of_an_accepted_one_causes_no_feedback(
    stack: PipelineStack,
) -> None:
    accepted = stack.envelope()
    stack.settle(stack.queued(accepted))
    correlation = read_envelope(parse(accepted, max_bytes=MAX_BYTES)).correlation
    notice = discard(stack, stack.envelope(body="another text", correlation=correlation, key=OTHER_KEY))
    assert notice.reason is SIGNATURE_INVALID
    assert stack.feedback_sender().deliver(notice) is Delivery.SILENT
    reused = discard(stack, stack.envelope(body="a third text", correlation=correlation))
    assert reused.reason is CORRELATION_REUSED
    assert stack.feedback_sender().deliver(reused) is Delivery.DELIVERED
