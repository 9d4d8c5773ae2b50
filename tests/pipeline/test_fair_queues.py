"""Loud senders: a claim is put down to its sender and where it came from, a notice to whom it is about."""

from dataclasses import replace

import pytest
from tests.pipeline.delivery_service import ALICE, DeliveryService
from tests.pipeline.stack import HORIZON, OTHER_KEY, SENDER, SENDER_KEY_NAME, UNKNOWN, PipelineStack

from postroom.core.errors import NotNowError
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.worker import SUSPECT_AFTER, Record
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.storage.layout import feedback_group, sender_group

SOURCE = "192.0.2.1"


def queued(stack: PipelineStack) -> Record:
    """A claim, as SQS hands it out."""
    return replace(stack.queued(stack.envelope()), group=stack.deployed.groups("ClaimsQueue")[-1])


def test_the_inbox_groups_claims_by_sender_and_source(stack: PipelineStack) -> None:
    for source in (SOURCE, "192.0.2.200", "198.51.100.1"):
        stack.inbox().post(Posted(stack.envelope(), "application/json", "", source))
    mine, neighbour, elsewhere = stack.deployed.groups("ClaimsQueue")
    assert mine == neighbour == sender_group(SENDER, SOURCE)
    assert elsewhere != mine


def test_a_dm3_claim_is_grouped_by_the_name_sealed_in_it(stack: PipelineStack) -> None:
    service = DeliveryService(stack)
    service.submit(service.envelope())
    assert stack.deployed.groups("ClaimsQueue") == [sender_group(ALICE, SOURCE)]


def test_a_retry_stays_in_its_group(stack: PipelineStack) -> None:
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    stack.settle(queued(stack))
    assert stack.deployed.groups("RetryQueue") == [sender_group(SENDER, SOURCE)]


def test_a_suspect_stays_in_its_group(stack: PipelineStack) -> None:
    stack.work(replace(queued(stack), received=SUSPECT_AFTER))
    assert stack.deployed.groups("SuspectsQueue") == [sender_group(SENDER, SOURCE)]


def test_feedback_requests_are_grouped_by_the_sender_that_they_are_about(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    stack.settle(stack.queued(stack.envelope(UNKNOWN, sender="other.com", key=OTHER_KEY)))
    letter = DeadLetter("handle", stack.queued(stack.envelope()).body)
    stack.clock.now += HORIZON
    stack.dead_letter_handler().keep([letter])
    assert stack.deployed.groups("FeedbackQueue") == list(map(feedback_group, (SENDER, "other.com", SENDER)))
    assert feedback_group(SENDER) != feedback_group("other.com")


@pytest.mark.parametrize(
    ("share", "form", "then", "sent"),
    [(60, DiscardNotification, Delivery.DELIVERED, 2), (0, DiscardSummaryDue, Delivery.WAITING, 3)],
)
def test_a_message_that_the_courier_puts_back_stays_in_its_group(
    stack: PipelineStack, share: int, form: type, then: Delivery, sent: int
) -> None:
    stack.feedback_an_hour = share
    stack.outbound.answers = [503]
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    stack.feedback_sender().deliver(stack.discard_notifications()[0])
    assert isinstance(waiting := stack.discard_notifications()[1], form)
    assert stack.feedback_sender().deliver(waiting) is then
    assert stack.deployed.groups("FeedbackQueue") == [feedback_group(SENDER)] * sent


@pytest.mark.parametrize("body", ["", "no claim"])
def test_an_unreadable_message_stays_in_its_group(stack: PipelineStack, body: str) -> None:
    stack.work(replace(stack.record(body, SUSPECT_AFTER), group="loud"))
    assert stack.deployed.groups("SuspectsQueue") == ["loud"]
